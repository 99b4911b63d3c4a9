// Package adapter observes, creates and deletes the Jobs of any owner with client-go.
// Packages scaling, history and rollout decide.
//
//	Target   everything about one owner: identity, prototype of its Jobs, policies
//	Tracker  counts the Jobs from watch events; plans a poll; carries the plan out
//	Handler  tracks the owners of an informer
//	List     a tracker for a program that polls once
//
// A controller makes a [Tracker], calls [Tracker.Track] for each owner and again after
// each edit, and for each poll [Tracker.Plan] and [Tracker.Apply]. Package
// adapter/scaledjob makes a [Target] of KEDA's ScaledJob, adapter/client makes the
// clients, and adapter/member does the same on several clusters.
//
// # Ownership
//
// A Job belongs to the owner with the UID of its controller reference. Apply sets that
// reference in every Job, also if the prototype has another. Labels only select the Jobs to
// watch: a Job with the label and another controller is neither counted nor deleted.
//
// A Target is probably wrong if its owner has no Jobs, but its UID has Jobs in another
// namespace, or its name (of the same API group and kind) has Jobs with another UID. Its
// Jobs are then not known.
//
// With [Options].Home the owners are in another cluster. The labels [LabelHome] and
// [LabelOwner] then take the place of the reference.
//
// # Pending Jobs
//
// An unfinished Job is pending until its status counts a pod that is ready or has
// succeeded. With Options.Pods the phases of the pods decide as well: until one is
// Running or has Succeeded, as in KEDA. With Target.PendingPodConditions a pod must have
// all of the conditions. A pending Job is stuck when it has been pending without
// interruption for Target.StuckAfter. If it ran before, the time starts when the tracker
// first observes it without a Running pod.
//
// # Creating
//
// A Job's name depends on its owner's name and UID and on a number from 1, and on nothing
// else. These rules keep the maximum:
//
//  1. A number is taken if the cache shows a Job with it, if a create of it is in
//     flight, or if the API server has answered that its Job has finished or has another
//     controller. Every other number is free.
//  2. Jobs are created on the lowest free numbers, which are chosen when the request is
//     sent. A finished Job keeps its number until it is deleted. Then the number recurs;
//     the UID is the identity.
//  3. An answered create is in flight until the cache shows its UID. If it does not within
//     4 L, Apply reads the Job: it may have been deleted while the watch was interrupted.
//  4. A create that was not answered is never sent again. At L after the call has returned,
//     Apply reads the Job. L is twice Options.Timeout: a create cannot arrive later.
//  5. Finished Jobs are deleted last in a poll. None is deleted while a create is
//     unanswered, nor within L of the first Track of its owner. Nothing is created while
//     the cache shows a Job that was pruned.
//  6. The cache begins with a consistent read.
//  7. Before each batch of requests a plan checks whether the process may act, whether its
//     Target is the current one, and its age.
//
// Two writers, or a writer before and after a restart, therefore choose the same names. The
// API server keeps one Job of each. The rules compare no clocks with the API server's, and
// need no bound on the lag of a cache. Grace periods may compare clocks.
//
// # Limits of the promise
//
// A deletion frees a number that another writer may still count as taken, or the reverse.
// While a create is under way or the cache is behind, each of these deletions may cost a
// Job above the maximum:
//
//   - a finished Job, deleted by a time to live, a user or a second active writer. A time
//     to live above 2 L makes this unlikely.
//   - a finished Job that a finalizer holds, when the finalizer is removed.
//   - a finished Job, when the prune of a process that has ended arrives late. This needs
//     two restarts within 2 L.
//   - a finished Job, while another process is stopped just before it sends a create. No
//     timeout covers the stop.
//   - a Job of another controller with a name of the owner's Jobs.
//
// The cache is also behind while the tracker lists anew, until it has the whole list. After
// an edit, the maximum that counts is the largest under which the create of an unfinished
// Job was decided.
//
// # Tests
//
//	claim                                                         test
//	the maximum holds over every interleaving of a small model    TestModel, TestBrokenRules
//	two writers with partial views, edits, restarts, wrong clocks TestTwoWriters, TestEditOfOneWriter
//	a cache that is late by any time                              TestLateCache, TestSlowCreates
//	each answer of a create and a delete                          TestCreateFaults, TestDeleteFaults, TestUnanswered
//	gates of pruning                                              TestPruningGates, TestUnansweredPrune
//	a running plan stops                                          TestOutdated, TestPausedProcess
//	counts are those of a recount                                 TestRecount
//	a wrong UID or namespace is not an empty set                  TestMistaken, TestNamesakeOfAnotherGroup
//	pending and stuck                                             TestPhase, TestPendingSince
//	a drained Job that changes is kept                            TestDrainIsConditional
//	owners that are edited, recreated or deleted                  TestHandler
//	a poll without work makes no request and allocates nothing    TestNoRequest, TestPlanAllocations
package adapter
