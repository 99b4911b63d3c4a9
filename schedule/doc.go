// Package schedule decides when the runs of a job start: on a schedule, on demand, and
// after runs of other jobs. It also decides which Jobs of old runs to delete.
//
// [Decide] takes a [Spec], a [State], an observation of the cluster and the time. It
// returns the next state, the runs to start, the Jobs to delete, events, and the time of
// the next decision.
//
// # Schedules
//
// A [Schedule] is an interface. [ISO8601] returns the Schedule of a repeating interval of
// package interval. [FromNext] returns the Schedule of any function that computes the next
// occurrence, such as a cron expression. Occurrences before the creation of a job are
// never due.
//
// # Rules
//
// A decision applies these rules in order:
//
//  1. A schedule other than the state's starts anew: it holds from now on, and of the
//     counters only the waiting runs are left.
//
//  2. Each new request asks for a run, which waits. So does each completion of a
//     dependency. While MaxWaiting requested runs wait, further completions stay in the
//     count of the other job.
//
//  3. A Job without a started run belongs to a waiting run, which has started now, or is
//     adopted: it was created, and the state with its run was lost. Its occurrence counts
//     as due and started. A finished Job completes its run. A deleted Job completes its
//     run as failed and lost. A run completes no earlier than it started, nor than the
//     last completed run.
//
//  4. A run whose create was rejected waits again. Every occurrence after the last handled
//     occurrence, up to now, is due. With SkipOutdated, Forbid or Replace only the latest
//     waits, and older runs are missed. Otherwise all wait, up to MaxWaiting; the oldest
//     above that are dropped. A run that waits for longer than the StartingDeadline is
//     missed. A run whose Job may have been created is neither missed nor dropped.
//
//  5. A cancelled run without a decided create completes without a Job. If its Job may
//     exist, the create is repeated until the Job is observed. A cancelled active run is
//     stopped. With Replace, so is an active scheduled run while another scheduled run
//     waits. A stopped run stays active until its Job is gone or has finished.
//
//  6. Waiting runs start by due time, then tag. A scheduled run does not start while the
//     schedule is blocked or suspended. Unless Concurrency is Allow, no run starts while
//     another run is active. With Forbid, scheduled runs that would have to wait for an
//     active run are missed.
//
//  7. The create of a Job that is not observed is repeated after 1 s, 2 s, 4 s, up to
//     5 minutes. After a rejected create, or three decisions without an observed Job, one
//     Job is created at a time, until a Job is observed.
//
//  8. History drops completed runs, and their Jobs are deleted. The completed run of a
//     request stays until the request is answered.
//
// If the Jobs are not known, or their list is older than a list that changed the state,
// rules 3 and 5 to 7 are left out and no Job is deleted.
//
// A stopped run has failed. It neither blocks the schedule nor ends a block.
//
// # Storing the state
//
// The caller must store the state before it carries out the actions, and only in place
// of the state that it read. It must not delete a Job while a create of the Job that was not
// answered may still arrive. No other client may delete a Job before a stored state has
// observed it. Then no run starts twice: not after a crash between any two steps, not
// from stale lists, and not when the clock goes back.
//
// A state that was replaced before a Job was deleted must not be restored, for example
// from a backup: the run of that Job would start again.
//
// An occurrence is due once. After a clock was set ahead by mistake and corrected, the
// schedule starts nothing until the clock has caught up.
//
// # Size of the state
//
// A run takes at most 450 bytes as JSON, with a UID as its request's ID. With the default
// limits, and at most one active and one waiting run, the state is below 120 KiB. It is
// below 310 KiB if a thousand scheduled runs wait. While all creates of a schedule with a
// run each minute are rejected, with a full history of scheduled runs, it is below 64 KiB,
// and below 256 KiB without SkipOutdated. It also grows with overlapping runs,
// waiting and listed requests, and Jobs that cannot be deleted. Requests are remembered
// by tag: all listed requests, and 1000 others.
//
// # Tests
//
//	claim                                                     test
//	deciding again at one time changes nothing                TestIdempotent
//	no run starts twice                                       TestNoRunTwice
//	the same with stale lists, lost answers, rejected creates TestWalk
//	rejected creates: bounded state, one attempt at a time    TestRejected
//	a dependent job runs once after each run                  TestWalk
//	at most one active run, unless Allow                      TestOneAtATime
//	a bounded number of waiting runs                          TestWaiting
//	a block ends with the first requested run that succeeds   TestBlocked, TestBlockEnds
//	due = started + waiting + missed + dropped                TestConservation
//	each occurrence is due once                               TestAllDue
//	the same runs start as with a decision every second       TestSecondBySecond
//	suspended, late, forbidden, replaced and cancelled runs   TestDecide, TestStopped
//	an unreadable spec does not freeze the state              TestRefresh
//	the size of the state                                     TestStateSize
package schedule
