// Package schedule decides when the runs of a job start: on a schedule, on demand, and
// after runs of other jobs. It also decides which Jobs of old runs to delete.
//
// [Decide] takes a [Policy], an [Observation] with the time, and a [Checkpoint]. It returns a [Decision]: the
// next checkpoint, the runs to start, the Jobs to delete, events, and the time of the next decision.
//
//	d := schedule.Decide(policy, observation, checkpoint)
//	store(d.Checkpoint)
//	create(d.Start) // and delete d.Delete
//
// # Schedules
//
// [ISO8601] returns the [Schedule] of a repeating interval of package interval. [FromNext] returns
// the Schedule of any function that computes the next occurrence, such as a cron expression. An
// occurrence is a time of the schedule; its run is due then, or later by [Policy].Jitter.
// Occurrences before the creation of a job are never due. A [Backfill] requests the runs of a span of time.
//
// # Rules
//
// A run waits until its create is decided. Then it is active until it completes. The checkpoint lists it
// as pending until its Job is observed. A decision applies these rules in order:
//
//  1. The identity of a schedule is its start, recurrence and zone; in R[n]/duration/end, the number
//     and the end are part of it. A schedule with another identity than the checkpoint's starts anew:
//     it holds from now on, and of the counters only the waiting runs are left. An edit of anything else keeps
//     counts and what was handled: a number of repetitions is a bound, so that R3 edited to R5 runs two more.
//
//  2. A run with a rejected create waits again, unless an earlier create may still arrive:
//     then it stays active. Every occurrence after the last handled occurrence is due, up to now.
//     With SkipOutdated, Forbid or Replace only the latest
//     waits, and older runs are missed. Otherwise all wait, up to MaxWaiting; the oldest above that are
//     missed. A run that waits for longer than the StartingDeadline is missed. So are the waiting runs of a schedule
//     that was removed, or that ended before them. A run that may have a Job is not missed.
//
//  3. A Job without a started run belongs to a waiting run, which has started now, or is
//     adopted: it was created, and the checkpoint with its run was lost. Its occurrence counts
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
//     another run is active. With Allow, at most MaxCatchUp runs are unfinished that started
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
// known either if their list is older than a list that changed the checkpoint, or if the checkpoint has
// another UID than the job: it may have been restored. Then a consistent read is needed.
//
// A run fails if its Job fails. A run that was cancelled or replaced, and a lost run, has neither failed nor
// succeeded: it neither blocks the schedule nor ends a block.
//
// # Missed runs
//
// A missed run has one reason: the first that applies of [Blocked], [Suspended], [OtherRunIsActive] and
// [CreateRejected], and else what removed it: [DeadlineExceeded], [Outdated], [TooManyWaiting], [Ended], [ClockAhead].
// Runs with the reason TooManyWaiting are counted as dropped.
//
// # The clock
//
// No scheduled run that is due later than now starts, also if a clock that was ahead has put it into the checkpoint. After
// such a clock was corrected, the schedule starts nothing until it has caught up, and [Decision.Waits] says
// so. A new value of Policy.Rewind, or another identity, lets it begin again at once: occurrences after
// now become due again, except for those whose runs the checkpoint has recorded.
//
// # Storing the checkpoint
//
// The caller must store the checkpoint before it carries out the actions, and only in place
// of the checkpoint that it read. It must not delete a Job, let it expire or report its create as
// rejected for good while a create of the Job that was not answered may still arrive. Jobs must
// have no time to live before Decision.Expire names them. No other client may delete a Job before
// a stored checkpoint has observed it. Then no run starts twice: not after a crash between any two
// steps, not from stale lists, and not when the clock goes back.
//
// A checkpoint that was replaced before a Job was deleted must not be restored, for example
// from a backup: the run of that Job would start again.
//
// # Size of the checkpoint
//
// The checkpoint is below 60 KiB as JSON. History drops the oldest completed runs until the others
// fit. Scheduled runs that wait behind 20 others take a time each. No further run starts, and
// no request is taken up, while all but the completed runs takes more than 50 KiB: about 90 active
// runs, or 1,000 waiting and 25 active. A job without a requested run, a Job or a create takes up
// one request, which can end a block. If the checkpoint is still too large, the oldest scheduled runs
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
//     startedCount counts the scheduled runs that started, and succeededCount, failedCount,
//     lostCount and stoppedCount count all runs.
//   - "a detailed status of active job runs": each has its active, succeeded, failed and
//     restarted pods.
//   - "triggered through server API": a request is an object of its own.
package schedule
