package scheduledjob_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// A run from the manifest to its Job, and from what became of that to the status.
func Example() {
	found, err := scheduledjob.Read([]byte(`
apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: report, namespace: shop, uid: 0f8fad5b-d9cb-469f-a165-70867728950e, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  schedule: {timeSpec: R/T01:00:00Z/P1D}
  podCount: 3
  template: {spec: {containers: [{name: main, image: example.com/report:1}]}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := found[0]
	config, err := s.Config(scheduledjob.Inputs{})
	if err != nil {
		fmt.Println(err)
		return
	}

	one := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	d := schedule.Decide(config.Policy, schedule.Observation{Now: one, JobsKnown: true}, s.Status.Checkpoint)
	job := config.NewJob(s.Owner(), d.Start[0]) // to be created, when d.Checkpoint is stored
	fmt.Println(job.Name, *job.Spec.CompletionMode, *job.Spec.Completions)
	fmt.Println(job.Spec.Template.Spec.Containers[0].Env[0])

	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	seen := schedule.Observation{Now: one.Add(time.Minute), JobsKnown: true, Jobs: s.Observe([]batchv1.Job{*job}, nil)}
	d = schedule.Decide(config.Policy, seen, d.Checkpoint)
	fmt.Println(d.Events[1], "- next", d.NextCheck)
	// Output:
	// report-20260101t010000-bb97431b Indexed 3
	// {JOB_POD_COUNT 3 nil}
	// Run 20260101t010000-bb97431b succeeded after 1m0s - next 2026-01-02 01:00:00 +0000 UTC
}

// All that is wrong is told at once.
func ExampleScheduledJob_Config() {
	s := &scheduledjob.ScheduledJob{}
	s.Name = "report"
	s.Spec.Schedule = &scheduledjob.Schedule{TimeSpec: "R5/T01:00:00/PT01"}
	s.Spec.MaxRestart = new(int32(-1))
	_, err := s.Config(scheduledjob.Inputs{})
	fmt.Println(err)
	// Output:
	// spec.schedule.timeSpec: found "R5/T01:00:00/PT01", whose byte 15 is "01"; use a unit behind the number: H, M or S
	// spec.maxRestart: found -1; use 0 to 2147483647
	// spec.template: found nothing; use a pod template, or a templateRef
}
