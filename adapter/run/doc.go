// Package run makes batch/v1 Jobs of the runs that package schedule decides on, and
// reads what has become of them.
//
//	ReadScheduledJobs     a manifest           -> ScheduledJob
//	ScheduledJob.Config   a ScheduledJob       -> schedule.Spec, and what its pods are
//	Config.NewJob         a schedule.Run       -> a Job
//	Observe               Jobs and their pods  -> schedule.Jobs
//
// All of it is pure. The program in examples/scheduled does the rest.
//
// # Fields
//
// A field with another spelling may have either, or both if they say the same
// (TestSpellings). What a field has where nothing is said is in TestDefaults.
//
//	schedule.timeSpec (scheduleSpec.)      when runs are due, R[n]/[start]/duration; none is on demand only
//	schedule.timeZone                      whose wall clock days, weeks, months and years keep
//	schedule.skipOutdated                  of runs that are due and have not started, the latest alone waits
//	schedule.blockOnFailure (suspend…)     while the last completed run failed, no scheduled one starts
//	allowConcurrentRun (allowConcurrent)   runs may overlap
//	maxRestart                             how often a failing pod is started again
//	execTimeout                            seconds that a pod may be active, and then each that replaces it
//	podCount (PodCount)                    pods that a run starts together
//	template, or templateRef               of the pods; a PodTemplate of the namespace
//	selector                               ignored, with a warning
//	historyLimit                           completed runs that are kept, of each outcome
//	after                                  other ScheduledJobs whose completed runs ask for one of this
//
// timeZone and after are not in the proposal that the others are from.
//
// # Jobs
//
// A run is an Indexed Job of podCount pods, all at once. A pod that fails is replaced
// by another with the same index, up to maxRestart times; execTimeout is the deadline
// of each of them. Restarts are counted by index only in pods that are never restarted
// in place, so restartPolicy is Never: OnFailure is taken so, with a warning.
//
// Every container has JOB_POD_COUNT and JOB_POD_INDEX in its environment, unless the
// template says otherwise; Jobs and pods have the labels jobName and jobTag. The name
// of a Job is made of the ScheduledJob's and the tag, so that there can be one only of
// a run, whoever creates it (FuzzNames).
//
// What the API server would refuse in a Job is told before, with the field's path, as
// far as it is commonly wrong: numbers, names, labels, images, volume mounts. It has
// the last word on what is not.
package run
