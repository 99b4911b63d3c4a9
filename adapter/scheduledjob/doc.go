// Package scheduledjob turns runs of package schedule into batch/v1 Jobs, and Jobs
// into observations.
//
//	Read                  a manifest           -> ScheduledJob
//	ScheduledJob.Config   a ScheduledJob       -> schedule.Spec, and the pods of a run
//	Config.NewJob         a schedule.Run       -> a Job
//	Observe               Jobs and their pods  -> schedule.Jobs
//
//	Tracker               stores states, creates and deletes Jobs, and knows late creates
//
// A [Tracker] sends requests. The other functions do no I/O. The program in controllers/scheduled
// does the rest.
//
// # Fields
//
// Read converts the spelling in parentheses, with a warning. A cluster does not know it.
//
//	schedule.timeSpec (scheduleSpec.)      times at which runs are due, R[n]/[start]/duration; unset: on demand only
//	schedule.skipOutdated                  of the due runs that have not started, only the latest waits
//	schedule.blockOnFailure (suspend…)     no scheduled run starts while the last completed run failed
//	allowConcurrentRun (allowConcurrent)   runs may overlap
//	maxRestart                             number of times that a failing pod is replaced
//	execTimeout                            seconds that each pod may be active
//	podCount (PodCount)                    pods that a run starts together
//	template, or templateRef               the pods; a PodTemplate of the namespace
//	selector                               ignored, with a warning
//	historyLimit                           completed runs that are kept, of each outcome
//
// The proposal has none of these fields. Fields that a CronJob has too have its
// names.
//
//	schedule.timeZone                      zone that governs the schedule
//	schedule.cron                          a cron expression instead of timeSpec
//	schedule.endTime                       no run is due later
//	schedule.jitterSeconds                 each run is due later by less than this
//	schedule.maxCatchUp                    unfinished runs that started while a later run was due
//	after                                  other ScheduledJobs whose completed runs request a run of this one; at most 100
//	suspend                                no scheduled run starts; the latest waits, or all with skipOutdated false
//	startingDeadlineSeconds                a scheduled run that waits longer is missed
//	concurrencyPolicy                      Allow and Wait are allowConcurrentRun true and false; Forbid and Replace
//	successfulJobsHistoryLimit, failedJobsHistoryLimit   instead of historyLimit
//	activeDeadlineSeconds, podFailurePolicy   copied to each Job
//	ttlSecondsAfterFinished                set on each Job when the outcome of its run is stored
//	cancel                                 tags of runs to cancel
//
// # Jobs
//
// A run is an Indexed Job of podCount pods, which start together. A pod that fails is
// replaced by one with the same index, up to maxRestart times (backoffLimitPerIndex, or backoffLimit
// of a run of one pod). Kubernetes counts these restarts only if restartPolicy is Never. OnFailure
// becomes Never, with a warning. With a limit for each index, Kubernetes keeps the last failed pod
// until it is replaced. A namespace that ends replaces none, so a [Tracker] deletes the Job.
//
// Every container has JOB_POD_COUNT and JOB_POD_INDEX in its environment, and JOB_DUE_AT if the run
// stands for an occurrence, unless the template sets them. Jobs and pods have the labels jobName and jobTag. The name of a
// Job is made of the ScheduledJob's name and the tag, so that each run has one Job,
// whoever creates it.
//
// Config reports the common reasons why the API server would reject a Job:
// numbers, names, labels, images, volume mounts. The API server decides on the others.
package scheduledjob
