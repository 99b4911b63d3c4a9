// Package adapter observes, creates and deletes the Jobs of any owner with client-go.
// Packages scaling, history and rollout decide.
//
//	Target   everything about one owner: identity, prototype of its Jobs, policies
//	Tracker  counts the Jobs from watch events; plans a poll; carries the plan out
//	List     a tracker for a program that polls once
//
// A controller makes a [Tracker], calls [Tracker.Track] for each owner and again after
// each edit, and for each poll [Tracker.Plan] and [Tracker.Apply]. Package
// adapter/scaledjob makes a [Target] of KEDA's ScaledJob, adapter/loop makes the
// clients, and adapter/member does the same on several clusters.
//
// # Ownership
//
// A Job belongs to the owner with the UID of its controller reference. Apply sets that
// reference in every Job, also if the prototype has another. Labels only select the Jobs to
// watch: a Job with the label and another controller is neither counted nor deleted.
//
// A Target is probably wrong if its owner has no Jobs, but its name (of the same API group
// and kind) has unfinished Jobs with another UID in its namespace. Its Jobs are then not known.
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
// Package slots decides which Jobs are created, read and deleted; its page has the rules, the
// promise and the limits. A Job's name depends on its owner's name and UID and on a number
// from 1, or on the key of an item if Target.Keyed is set. L is twice Options.Timeout, which
// must be the timeout of the client that Apply gets.
//
// [Plan].Holds names each reason why fewer Jobs are created than the decision says.
//
// # Keyed work
//
// A source lists items with unique keys, such as CI jobs. Each item is worked on by one Job.
// For each poll call [Tracker.PlanItems], which asks the source, and [Tracker.Apply], or use Items
// of package adapter/loop. The Job's annotations hold the whole key. A Job of the owner that exists already, under any name, is
// adopted if it has [AnnotationKey]: its item gets no other Job.
//
// # Limits of the promise
//
// Beside those of package slots: Jobs are created without ttlSecondsAfterFinished, and the
// tracker deletes them at that age itself. Jobs of others that have the field are counted in
// Plan.Expiring: their deletion is one by others. After an edit, the maximum that counts is the largest under which the create of
// an unfinished Job was decided. The cache is behind while the tracker lists anew, until it
// has the whole list.
//
// Jobs and pods in another namespace than the owner's change no decision, whatever UID they
// name.
//
// # Tests
//
//	claim                                                         test
//	two writers with partial views, edits, restarts, wrong clocks TestTwoWriters, TestEditOfOneWriter
//	caches that are late, gates of pruning, the answers to reads  TestModel, TestBrokenRules of package slots
//	each answer of a create and a delete                          TestFailure, TestCreateFaults, TestDeleteFaults, TestUnclear
//	a request ends although its client has no timeout             TestDeadline
//	creates in doubt do not stop the history                      TestHistoryBesideDoubts
//	a running plan stops                                          TestOutdated
//	a standby that becomes leader reads the Jobs anew             TestStandbyLeads, TestTermEnds
//	finished Jobs are deleted by their age                        TestTimeToLive
//	counts are those of a recount                                 TestRecount
//	a wrong UID is not an empty set                               TestMistaken, TestNamesakeOfAnotherGroup
//	objects in other namespaces change no decision                TestForger
//	pending and stuck                                             TestPhase, TestPendingSince
//	a drained Job that changes is kept                            TestDrainIsConditional
//	a poll without work makes no request and allocates nothing    TestNoRequest, TestPlanAllocations
//	a changed pending Job costs a plan at most 1 ms               TestPlanAfterAChange
//	an owner that moves                                           TestMovedOwner
//	Changed after a prune in doubt                                TestChangedAfterPruneInDoubt
package adapter
