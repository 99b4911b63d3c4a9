// Package schedule decides when the runs of a job start: on a schedule, on demand, and
// after runs of other jobs. It also decides which Jobs of old runs to delete.
//
// [Decide] takes a [Spec], a [State], an observation of the cluster and the time. It
// returns the next state, the runs to start, the Jobs to delete, events, and the time of
// the next decision.
//
// # Schedules
//
// [ISO8601] returns the [Schedule] of a repeating interval of package interval. [FromNext] returns
// the Schedule of any function that computes the next occurrence, such as a cron expression.
// Occurrences before the creation of a job are never due. [Until] ends a Schedule, and [Jitter]
// delays its occurrences. A [Backfill] requests the runs of a span of time.
//
// # Rules
//
// A run waits until its create is decided. Then it is active until it completes. The state lists it
// as pending until its Job is observed. A decision applies these rules in order:
//
//  1. A schedule other than the state's starts anew: it holds from now on, and of the
//     counters only the waiting runs are left.
//
//  2. A run with a rejected create waits again, unless an earlier create may still arrive:
//     then it stays active. Every occurrence after the last handled occurrence is due, up to now
//     or to the occurrence of the latest Job. With SkipOutdated, Forbid or Replace only the latest
//     waits, and older runs are missed. Otherwise all wait, up to MaxWaiting, also those that rule 3
//     adopts; the oldest above that are dropped. A run that waits for longer than the StartingDeadline is
//     missed. A run that may have a Job is neither missed nor dropped.
//
//  3. A Job without a started run belongs to a waiting run, which has started now, or is
//     adopted: it was created, and the state with its run was lost. Its occurrence counts
//     as started. A finished Job completes its run. A Job that is gone with its pods
//     completes its run as lost. A run completes no earlier than it started, nor than the
//     last completed run.
//
//  4. Each new request asks for a run, which waits. So does each completion of a
//     dependency. While 20 requests wait, or 100 are not answered, other requests wait where
//     they are. While 40 requested runs wait, or MaxWaiting, further completions stay in the
//     count of the other job.
//
//  5. A cancelled run without a decided create completes without a Job. If its Job may
//     exist, the create is repeated until the Job is observed. A cancelled active run is
//     stopped. With Replace, so is an active scheduled run while another scheduled run
//     waits. A stopped run stays active until its Job is gone or has finished. An unfinished
//     Job that is being deleted in another way than the foreground is stopped, too, because
//     Kubernetes no longer looks after its pods. So is the Job of a run that has completed before.
//
//  6. Waiting runs start by due time, then tag. A scheduled run does not start while the
//     schedule is blocked or suspended. Unless Concurrency is Allow, no run starts while
//     another run is active. With Forbid, scheduled runs that would have to wait for an
//     active run are missed. With Allow, at most MaxCatchUp runs are unfinished that started
//     while a later run was due. Runs that are due now start beside them.
//
//  7. The create of a Job that is not observed is repeated after 1 s, 2 s, 4 s, up to
//     5 minutes. After a rejected create, or three decisions without an observed Job, one
//     Job is created at a time, until a Job is observed.
//
//  8. History drops completed runs, and their Jobs are deleted. The completed run of a
//     request stays until the request is answered. The Jobs of other completed runs expire:
//     their time to live begins.
//
// If the Jobs are not known, rules 3 and 5 to 7 are left out and no Job is deleted. They are not
// known either if their list is older than a list that changed the state, or if the state has
// another UID than the job: it may have been restored. Then a consistent read is needed.
//
// A stopped run has failed. A lost run has neither failed nor succeeded. Both neither block the
// schedule nor end a block.
//
// # Storing the state
//
// The caller must store the state before it carries out the actions, and only in place
// of the state that it read. It must not delete a Job, let it expire or report its create as
// rejected for good while a create of the Job that was not answered may still arrive. Jobs must
// have no time to live before Decision.Expire names them. No other client may delete a Job before
// a stored state has observed it. Then no run starts twice: not after a crash between any two
// steps, not from stale lists, and not when the clock goes back.
//
// A state that was replaced before a Job was deleted must not be restored, for example
// from a backup: the run of that Job would start again.
//
// An occurrence is due once. After a clock was set ahead by mistake and corrected, the
// schedule starts nothing until the clock has caught up.
//
// # Size of the state
//
// The state is below 60 KiB as JSON. History drops the oldest completed runs until the others
// fit. Scheduled runs that wait behind 20 others take a due time each. No further run starts, and
// no request is taken up, while all but the completed runs takes more than 50 KiB: about 90 active
// runs, or 1,000 waiting and 25 active. A job without a requested run, a Job or a create takes up
// one request, which can end a block. If the state is still too large, the oldest scheduled runs
// that wait behind others are dropped, and at last completed runs whose requests are not answered.
// The tags of the last 200 requested runs that history has dropped are remembered, and those of
// requests that are listed and not answered.
//
// # The proposal
//
// The proposal for ScheduledJobs leaves some sentences open, or cannot be met as written:
//
//   - "restart of failing containers": pods are replaced, and containers are not restarted,
//     because only replaced pods are counted for each index (MaxRestart of the adapter).
//   - "execution time" and "execution count" as resources of containers: a pod has a deadline
//     (ExecTimeout of the adapter), and the Job controller counts the restarts.
//   - "the count of run for this job": scheduleCount counts the occurrences that became due.
//     startedCount counts the scheduled runs that started, and succeededCount, failedCount and
//     lostCount count all runs.
//   - "a detailed status of active job runs": each has its active, succeeded, failed and
//     restarted pods.
//   - "triggered through server API": a request is an object of its own.
//
// # Tests
//
//	claim                                                      test
//	deciding again at one time changes nothing                 TestEdges
//	the order of all lists makes no difference                 TestEdges
//	no run starts twice: with stale lists, lost answers,
//	late and rejected creates, deletions, restarts, expiry     TestEdges
//	a dependent job runs once after each run                   TestEdges
//	at most one active run, unless Allow; bounded waiting      TestEdges
//	each occurrence is due once, and
//	due = started + pending + missed + dropped                 TestEdges
//	a block ends with the first requested run that succeeds    TestEdges, TestFullBacklogOfABlock
//	rejected creates: bounded state, one attempt at a time     TestSizeInAnOutage, TestEdges, TestBackOff
//	the same runs start as with a decision every second        TestSecondBySecond
//	suspended, late, forbidden, replaced and cancelled runs    TestDecide, TestStopped
//	an unreadable spec does not freeze the state               TestRefresh
//	adopted runs are not missed, however late                  TestAdoptedAndLate
//	each completion of a dependency is named once              TestMeet, TestNamesTheCompletedRun
//	each waiting run has a reason, each event a message        TestWhy, TestEvent
//	the size of the state                                      TestStateSizeOfMixes, TestSizeInAnOutage
//	an end and a jitter; schedules that cannot count           TestShifts, TestNextAlone
//	a backfill runs each occurrence once                       TestBackfill, and that of controllers/scheduled
package schedule
