// Package slots decides which objects a controller creates, reads and deletes, so that no
// object is created twice and no more than a maximum are unfinished. It works for objects of
// any kind: Jobs, pods, custom objects, machines of a cloud.
//
// A [Set] holds the state of one owner. Observations, answers and the wanted objects go in;
// requests come out. The package makes no request and reads no clock.
//
//	s := slots.New(slots.Options{Late: 2 * timeout, Start: now}) // for each term, see below
//	s.Replace(listed, now)                            // then Show and Gone, in one order
//	s.Want(slots.Want{Create: 3, Max: 10}, now)       // for each poll
//	for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
//		for _, q := range batch {                     // also at the same time
//			s.Answer(q, send(q), now)
//		}
//	}
//
// A program that lists instead of watching calls [Set.Replace] before each poll.
//
// There are two identities. A numbered object is named from its owner and the lowest free
// number. A keyed object is named from its owner and the key of an item of a source, such
// as a CI job: each item is worked on by a single object in its life.
//
// # Promise
//
// While no request has an effect later than L after its call returned, at most Max objects
// are unfinished, and no item gets a second object. Whatever creates and deletes fail for
// ever, the creates that the server would accept are sent within a bounded number of polls,
// up to Max less the creates in doubt. Reads that fail for ever stop their owner only.
//
// # Rules of numbered objects
//
//  1. A number is taken if the observation shows an object with it, if a create of it is in
//     flight, or if the server has answered that its object has finished or is not ours.
//     Objects are created on the lowest free numbers.
//  2. An answered create is in flight until the observation shows its UID. If it does not
//     within 4 L, the object is read.
//  3. A create that was not answered is never sent again. At L after its call returned, the
//     object is read. Until then the create takes capacity.
//  4. Finished objects are deleted last in a poll, not within L of the start of the term, and
//     not while a create is in doubt. If creates in doubt prevent deletes for longer than L,
//     no create is sent until the deletes are.
//  5. While the observation shows an object that was deleted so, nothing is created. After a
//     delete that was not answered, no other is sent for 20 L, doubling. A delete that is
//     refused is tried again later, alone.
//  6. A number whose create is refused blocks the higher numbers, until the term is older than
//     L, has read its objects since, and has written a mark to the lease ([Mark]). Then the
//     number is set aside. A term that finds the mark ([Options].Aside) creates nothing until
//     L has passed and it has read again.
//
// # Rules of keyed objects
//
//  1. The name depends on the owner's UID, the key and the attempt: [Slot.Name]. The object
//     stores the whole key. A name with another owner or key is [Taken]: its item is skipped.
//  2. A term waits L, then reads its objects, then asks the source. It need not wait if the
//     lease says that the term before ended in order: [Options].Clean and [Set.Settled]. That
//     mark is removed by the write that takes the lease.
//  3. Unfinished objects that are shown take capacity, and each create until its UID is shown.
//  4. A finished object is deleted only when a list that began after its end was shown lacks
//     its key.
//  5. Objects are created from the newest list only, and only if no object or create of the
//     key has been known since that list began.
//  6. Keys whose creates were refused or not answered come last.
//
// A source must return lists that are no older than their request, and complete. A list that
// failed or that is partial is no list: call [Set.Want] without it. A source with stale
// lists must never delete: leave Want.Delete empty. An object that has finished while its
// item stays listed is not created again, and a [Hold] names it, unless the source raises the
// attempt, in Slot.Number, or the object failed and Want.Retries allows it. With retries, the
// source raises the attempt by more than their number.
//
// # Limits
//
//   - A finished numbered object that somebody else deletes while a create is under way, or
//     that a finalizer held, may cost an object above Max. So does a delete of a process
//     that has ended, if two restarts follow within 2 L. With [Options].Wait neither happens
//     (TestEveryTermWaits), and a program whose terms all wait may answer [Mark] with Done without
//     a lease. But after a kill, numbered objects are then created L later: with Kubernetes'
//     lease and the default timeout of adapter, 45 s after it instead of 15 s.
//   - A process that is stopped for longer than L between its check of the lease and a
//     request may cost a batch above Max, or create an object of an item again.
//   - An object that is deleted by hand, or by a time to live, while its item is listed is
//     created again.
//   - The observation must show the owner's objects in one order. A shared informer keeps the
//     order of each object only: 2 objects at a maximum of 1 are then possible.
//
// # Tests
//
//	every order of the events of a small cluster, with faults that stay   TestModel
//	each rule is needed                                                    TestBrokenRules
//	what a term that always waits saves                                    TestEveryTermWaits
//
// Package slotstest explores the loop of any controller in the same way.
package slots
