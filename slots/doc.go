// Package slots decides which objects a controller creates, reads and deletes, so that no
// object is created twice and no more than a maximum are unfinished. It works for objects of
// any kind: Jobs, pods, custom objects, machines of a cloud.
//
// A [Set] holds the state of one owner. Observations, results and the wanted objects go in;
// requests come out. The package makes no request and reads no clock. There are two identities:
//
//   - A numbered object is named from its owner and the lowest free number. Use it if all
//     objects of an owner do the same work.
//   - A keyed object is named from its owner and the key of an item of a source, such as a CI
//     job. Each item is worked on by a single object in its life.
//
// # Promise
//
// While no request has an effect later than L after its call returned, at most Max objects
// are unfinished, and no item gets a second object. Whatever creates and deletes fail for
// ever, the creates that the server would accept are sent within a bounded number of polls,
// up to Max less the creates in doubt. Reads that fail for ever stop their owner only.
//
// # The loop
//
// Let one process lead, such as by a lease. When it has taken the lease, a term begins. For each
// owner in each term:
//
//	s := slots.New(slots.Options{Late: 2 * timeout, Start: now(), Keyed: true, Clean: clean})
//	began := now()
//	s.Replace(list(), began)                 // the owner's objects
//
// For each poll, if the term has not ended (a numbered set needs neither Ask nor items):
//
//	w := s.Ask()                             // right before the source is asked
//	w.Items, w.Create, w.Max, w.Delete = ask(), 10, 10, finished
//	s.Want(w, now())
//	for batch := s.Next(now()); len(batch) > 0; batch = s.Next(now()) {
//		for _, q := range batch {        // also at the same time, with a lock around the methods of s
//			result, uid := send(q)   // checks the lease first; see the verbs, and Result
//			s.Answer(q, result, uid, now())
//		}
//	}
//	log(s.Holds(w, now()))                   // why fewer objects are created
//	again(s.NextCheck(now()))                // poll no later than this
//
// The clock is read for each call, because L begins when a request has returned. A Set does not
// return its objects: the caller keeps the UIDs of the finished ones for Want.Delete.
//
// Between the polls call [Set.Show] for each event of a watch. A program without a watch calls
// [Set.Replace] before each poll instead. If a watch was cut, or a request has the verb list,
// pass a list to Replace and watch from there: another watch may be behind the list. After an
// edit of the owner call [Set.Stop]. When the process gives up the lease in order,
// [Set.Settled] of all sets is what the next term gets as Options.Clean.
//
// # Verbs
//
// A [Request] has a Verb, which is one of:
//
//	create  create the object of Slot; if its name exists, read that object
//	delete  delete the object with UID, as a precondition; see Finished
//	read    read the object of Slot; with a UID: whether that object is still there and not being deleted
//	list    read all objects, and call Set.Replace, or Set.Listed when the observation shows them
//	mark    write to the lease, as its holder, that a number may be set aside
//
// # Duties of the caller
//
//   - A request has a timeout, which the server knows as well, such as from the parameter of
//     client-go's rest.Config.Timeout. [Options].Late is twice as long. A watch needs a client
//     without that timeout, which would cut it.
//   - A request arrives at most once: a proxy that repeats a create may cost an object above Max.
//   - The lease is checked right before each request. After its end no request is sent: call
//     [Set.Stop], and pass [None] to Answer, but [Unanswered] for a read.
//   - Without an answer the result is [Unanswered]: a timeout, a broken connection, and each
//     answer after which the request may still have had its effect (500, 502, 504, 408).
//     Refused connections, 401 and 429 are [None]; other answers of 400 to 499 are [Refused], unless
//     a duty below has another result.
//   - A create stores the owner and, if keyed, the whole key and the attempt in the object. Its
//     name is the owner's name and [Slot.Name]. The server refuses a second object with a name; a cloud
//     may have a token for that. If the name exists, the caller reads its object. It is [Done] if
//     that is the owner's, has the same key and attempt, and is unfinished, even if it is being
//     deleted, and else [Taken]; both have its UID. It is [None] if there is no object any more, and [Unanswered] if the read failed.
//   - A read without an answer is [Unanswered], also if it was refused. A read with a UID is [None] if
//     that object is gone or being deleted, and else [Done], also if it has finished.
//   - A delete names the UID, so that it cannot delete another object with the name. If the object
//     had not finished, the delete also names the version that was observed. It is [Done] if the object is
//     gone or being deleted, and [None] if it has another version.
//   - A list and a mark are [Done] or [None]. Without a lease a mark is [None]. A list that failed is
//     asked for again.
//   - While the objects cannot be listed, a program without a watch does not poll.
//   - The lists of objects are consistent: no older than their request. For Kubernetes leave the
//     resourceVersion of a list empty. If a list may be older by D, pass its start less D to
//     Replace. Keep an object that was shown until a list lacks it that began D after the last
//     list with it, and keep it finished if it was.
//   - All objects of an owner are shown in one order, such as that of one watch. A shared informer
//     keeps the order of each object only: 2 objects at a maximum of 1 are then possible.
//   - The source's lists are complete, and no older than their request. A list that failed or
//     that is partial is no list: pass a Want that is not from [Set.Ask]. A source whose lists are stale must
//     never delete: leave Want.Delete empty. A [Hold] names a list with a lower revision than a list before,
//     repeated keys, and attempts that go back; nothing is created or deleted because of them.
//   - Nobody else deletes finished objects, such as by a time to live.
//
// An item stays listed until its result is known. If its object has finished and the item stays
// listed, nothing happens, and a [Hold] names the item. It runs again if the source raises the
// attempt, in Slot.Number, or if the object failed and Want.Retries allows it. With retries, the
// source raises the attempt by more than their number.
//
// # Limits
//
//   - A process that is stopped for longer than L between its check of the lease and a
//     request may cost a batch above Max, or create an object of an item again.
//   - A finished numbered object that somebody else deletes while a create is under way, or
//     that a finalizer held, may cost an object above Max. So does a delete of a process
//     that has ended, if two restarts follow within 2 L. If [Options].Aside is always
//     set, neither happens (TestEveryTermWaits), and no mark is needed. But after a kill, numbered objects are then created L later: with Kubernetes'
//     lease and the default timeout of adapter, 45 s after it instead of 15 s.
//   - A keyed term creates nothing for L, unless the term before ended in order. If each term is killed
//     within L, nothing is created.
//   - At most 64 numbers are set aside. An owner with more refused numbers waits for one of them.
//   - An object that is deleted by hand, or by a time to live, while its item is listed is
//     created again.
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
//  4. Only objects that are shown are deleted. Finished ones are deleted last in a poll, not within L
//     of the start of the term, and not while a create is in doubt. If creates in doubt prevent
//     deletes for longer than L, no create is sent until the deletes are.
//  5. While the observation shows a finished object that was deleted, nothing is created. After a
//     delete that was not answered, no other is sent for 20 L, doubling. A delete that is
//     refused is tried again later, alone.
//  6. A number that is refused blocks the higher numbers, until the term is older than
//     L, has read its objects since, and has written a mark to the lease (the verb mark). Then the
//     number is set aside. A term that finds the mark ([Options].Aside) creates nothing until
//     L has passed and it has read again. A term that ends in order and settled ([Set.Settled]) removes
//     the mark. In each poll one number is tried again.
//
// # Rules of keyed objects
//
//  1. The name depends on the owner's UID, the key and the attempt. A name with another owner or
//     key is [Taken]: its item is skipped.
//  2. A term waits L, then reads its objects, then asks the source. It need not wait if the
//     lease says that the term before ended in order ([Options].Clean). The write that takes the
//     lease removes that mark.
//  3. Unfinished objects that are shown take capacity, and each create until its UID is shown.
//  4. A finished object is deleted only when a list that began after its end was shown lacks
//     its key. A delete that failed is tried again later, alone.
//  5. Objects are created from the newest list only, and only if no object or create of the
//     key has been known since that list began.
//  6. Keys with creates that were refused or not answered come last.
//
// # Tests
//
//	every order of the events of a small cluster, with faults that stay   TestModel
//	each rule is needed                                                    TestBrokenRules
//	two causes that stay cost nothing but their own objects                TestAlive
//	a refused item does not cost the next term its wait                    TestSettled, TestSettledAfterDelete
//	what a term that always waits saves                                    TestEveryTermWaits
//	lists that are older than their request                                TestStaleLists
//	lists that break the contract of a source                              TestSourceContract
//	only what is shown is deleted                                          TestDeletesWhatIsShown
//	what the answer to a read means                                        TestReads, TestReadsOfDeleted
//	requests and lists of another term                                     TestAnotherTerm
//
// Package slots/slotstest explores the loop of any controller in the same way.
package slots
