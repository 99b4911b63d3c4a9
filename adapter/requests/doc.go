// Package requests decides when a request about Jobs may be sent: in the term of a leader, and in its owner's turn.
//
//	Terms     the terms of this process: from becoming the leader until its lease ends
//	WithTerm  a context whose requests change nothing after the end of a term
//	Timeout   a context for a request, which ends with ErrNoAnswer
//	NewQueue  a Queue with a number of slots for the requests of many owners
//	Do, Wait  run a function when a slot is free, or wait for one
//	WithOwner a context that names the owner of its requests
//	Guard     turns the panic of a function into an error
//
// # Terms
//
// A process takes the lease, calls [Terms.Begin], and asks before each request, such as with [Term.Request]. Waiting requests
// may be sent after the end of the term: the clients of package loop ask the context of each change right before they send it. The
// lease is an interface; package loop has that of Kubernetes.
//
// A lease stores a mark, which tells the next term that a term before may have skipped a number whose
// creates fail. It is written before that, and the write that releases the lease removes it if
// [Terms.End] says so. A term with the mark waits for twice the request timeout before its first
// create. Without a lease nothing stores the mark: [WithoutLease] behaves as if each term had found it, and with [OneShot]
// a number with refused creates blocks its owner.
//
// # Turns
//
//  1. A request in flight occupies a slot. The next slot goes to the namespace with the
//     fewest requests in flight, and there to the owner with the fewest. Among equals, the
//     one that has waited longest since its last turn is next.
//  2. An owner is congested if its last answer was a refusal, until a request succeeds. It
//     is congested too if a request has no answer for [Patience], until a request of the
//     same kind succeeds within Patience. An owner without requests for a quarter of an hour is none.
//  3. Congested owners have at most a quarter of the slots together. Other owners have
//     three quarters, and the whole if no owner is congested.
//  4. An owner that becomes congested leaves its slots to the others, although its requests
//     are still in flight. The requests in flight are then at most twice the slots.
//  5. Retry-After delays the next turn of the owner, and of no other.
//  6. If congested owners have requests in flight in at least three namespaces, and in at least
//     half of the namespaces with requests, the whole process has a third less of the slots.
//  7. A request that the API server refused because of its own load keeps its slot for one
//     to two seconds. The whole process is slower by that slot. The owner is not congested.
//     [Retry] waits that long, and the request may then be sent again in its slot. Retry-After
//     does not count here: an API server that refuses requests raises it to 32 s, and would be idle.
//
// A waiting request of [Queue.Do] has no goroutine.
//
// # Law
//
// Let any owners fail, in any way and in any number. The time until all Jobs of the others
// exist is then at most twice the time without these owners. A new fault may cost Patience
// in addition, because nobody can know of it earlier. More than twice as many owners as slots
// may begin to hang at once. Then the others wait until the first of these requests end.
package requests
