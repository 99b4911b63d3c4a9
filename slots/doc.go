// Package slots decides which numbered objects a controller creates, reads and deletes, so that no
// more than a maximum are unfinished. It works for objects of any kind: Jobs, pods, custom
// objects, machines of a cloud.
//
// A [Set] holds the state of one owner. Observations, results and the demand go in; requests come
// out. The package makes no request and reads no clock.
//
// # The loop
//
// Let one process lead, such as by a lease. When it has taken the lease, a term begins. For each
// owner in each term:
//
//	s := slots.New(slots.Options{RequestLifetime: 2 * timeout, Start: now(), Marked: marked})
//	began := now()
//	s.Replace(list(), began)                 // the owner's objects
//
// For each poll, if the term has not ended:
//
//	s.Begin(slots.Demand{Create: 10, Max: 10, Delete: finished}, now())
//	for batch := s.Next(now()); len(batch) > 0; batch = s.Next(now()) {
//		for _, q := range batch {        // also at the same time, with a lock around the methods of s
//			result, uid := send(q)   // checks the lease first; see Verb and Result
//			s.Answer(q, result, uid, now())
//		}
//	}
//	log(s.Holds(now()))                      // why fewer objects are created
//	poll(s.NextCheck(now()))                 // no later than this
//
// Between the polls call [Set.Observe] for each event of a watch. A program without a watch calls
// [Set.Replace] before each poll instead. If a watch was cut, or a request has the verb List,
// pass a list to Replace and watch from there: another watch may be behind the list. After an
// edit of the owner call [Set.Stop].
//
// # Promise
//
// While the premise below holds, at most Max objects are unfinished. The law: with k numbers whose
// creates fail in one way for ever (refused, without effect, not answered, admitted late), k up to
// 64 and below Max, the other objects exist, up to Max less the creates without an answer, after
// 2 k + 8 polls and L (TestLaw; polls at least 10 s apart, L 30 s). An outage of all creates skips
// no number. Reads that fail for ever stop their owner only. A delete that fails for ever costs its
// owner a twentieth of the time.
//
// # Premise
//
// A request has no effect later than L after it was sent. L is twice the timeout t of requests:
// within t the request reaches the server, or the client closes its stream and it never does; within
// t of its arrival the server ends it, if the server knows t. In Kubernetes it does by the URL's
// parameter timeout, which client-go sets from rest.Config.Timeout: the API server's deadline
// includes the time in its queues (priority and fairness), webhooks and etcd. The timeoutSeconds of a
// watch or a webhook is something else.
//
// A call may return before L, and a call of an earlier term after this one began: so L does not count
// from the return. (If it did, two objects could exist where one may: TestBrokenRules.) A proxy that
// sends a request again breaks the premise, and so does a process that is stopped between its check
// of the lease and a request for longer than L: it may cost a batch above Max.
//
// # Duties of the caller
//
//   - The clock is read for each call.
//   - The lease is checked right before each request. After its end no request is sent: call
//     [Set.Stop], and pass [NoEffect] to Answer, but [Unanswered] for a Read.
//   - Without an answer the result is [Unanswered]: a timeout, a broken connection, and each
//     answer after which the request may still have had its effect (500, 502, 504, 408).
//     Refused connections, 401 and 429 are [NoEffect]; other answers of 400 to 499 are [Refused], unless
//     a duty below has another result.
//   - The server refuses a second object with a name, which depends on the owner and the number only. If the
//     name exists, the caller reads its object. It is [Done] if that is the owner's and unfinished, even if it is
//     being deleted, and else [Occupied]; both have its UID. It is [NoEffect] if there is no object any more, and
//     [Unanswered] if the read failed.
//   - A Read without an answer is [Unanswered], also if it was refused.
//   - A Delete names the UID. If the object had not finished, it also names the version that was observed. It
//     is [Done] if the object is gone or being deleted, and [NoEffect] if it has another version.
//   - A List and a Mark are [Done] or [NoEffect]; without a lease a Mark is NoEffect. A list that failed is
//     asked for again. While the objects cannot be listed, a program without a watch does not poll.
//   - Lists are consistent: no older than their request. For Kubernetes leave the resourceVersion
//     empty. If a list may be older by D, pass its start less D to Replace, keep an object that was
//     shown until a list lacks it that began D after the last list with it, and keep it finished if it was.
//   - All objects of an owner are shown in one order, such as that of one watch. A shared informer
//     keeps the order of each object only: 2 objects at a maximum of 1 are then possible.
//   - Nobody else deletes finished objects, such as by a time to live. Each such deletion while a create is
//     under way may cost an object above Max, and so may a delete of a process that has ended, if two restarts follow within
//     2 L. With [Options].Marked always set neither happens; then creates begin L after a term (TestEveryTermWaits).
//
// # Rules
//
// TestBrokenRules removes each rule that keeps the maximum, and finds the shortest history that then breaks
// it: package slotstest lists their lengths. In the histories A is the process, A' the next one, the maximum 1 (rule 1: 2).
//
//  1. Use the lowest free number. One is taken if an object with it is shown, a create of it is in flight,
//     or the server answered that it is occupied; after L that is asked again (TestReadsOfHiddenObjects).
//     Reason: two processes choose the same names, and the server refuses one. Without: A's create 1 is delayed, its
//     create 2 works; A' creates 3; create 1 arrives.
//  2. An answered create is in flight until its UID is shown, or it is read after 4 L. Reason:
//     observations are late. Without: create 1 is answered and not shown; 1 again is refused, so 2.
//  3. A create without an answer takes capacity until a read at L after its call. Reason: it may
//     arrive. Without: A's create 2 is not answered and delayed; A deletes the finished 1; A' creates 1; create 2 arrives.
//  4. Delete finished objects last, only shown ones (TestDeletesWhatIsShown), not within L of the term's start,
//     nor while a create has no answer. Reason: a free number lets a delayed create in. Without: A's create 2 is
//     delayed; A' deletes the finished 1; A” creates 1; create 2 arrives.
//     Such creates wait in turn, if they keep the history up for L (TestHistoryIsPruned).
//  5. While a deleted object is shown or its delete has no answer, create nothing. Reason: its number seems taken
//     and is free. Without: 1 is deleted and shown, so create 2, delayed; A' creates 1; create 2 arrives. After a delete without an answer
//     none is sent for 20 L, doubling (TestDeletePause); one that is refused waits alone (TestRefusedDelete).
//  6. A term lists the objects when it begins. Reason: a standby's cache is old. Without: A
//     deletes the finished 1; A', which still shows it, sends create 2, delayed; A” creates 1; create 2 arrives.
//  7. A number that failed holds up the higher ones, unless the term is older than L, has listed since, and has
//     marked the lease. A term with the mark does the same before it creates; an orderly end
//     removes the mark once all is settled. Reason: else A' takes the number that A skipped. Without:
//     A skips 1; create 2 is delayed; A' creates 1.
//  8. A failed number is skipped if the next one then works: after one refusal, or three failed polls. Until then the
//     lowest is tried first in each poll. A skipped one is tried again as the last of a poll, and another number before the next
//     skipped one. Reason: one object must not stop the others, and an outage is no object's fault (TestLaw, TestOutage, TestAlive).
//
// Package slots/slotstest explores the loop of any controller in every order of events.
package slots
