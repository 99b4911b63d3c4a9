package schedule_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// Of a job that runs every hour, one run at a time, a run fails. The schedule goes
// on when a run that was asked for has succeeded.
func ExampleDecide() {
	policy := schedule.DefaultPolicy()
	policy.UID = "0b1c4c5e"
	policy.Created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hourly, _ := interval.Parse("R/2026-01-01T01:00:00Z/PT1H")
	policy.Schedule = schedule.ISO8601(hourly, nil)
	policy.Concurrency, policy.BlockOnFailure = schedule.Wait, true
	at := func(hour int) time.Time { return policy.Created.Add(time.Duration(hour) * time.Hour) }

	seen := schedule.Observation{Now: at(1), JobsKnown: true}
	d := schedule.Decide(policy, seen, schedule.Checkpoint{})
	fmt.Println(d)

	seen.Now, seen.Jobs = at(3), []schedule.Job{{Tag: d.Start[0].Tag, Outcome: schedule.Failed, Created: at(1), Finished: at(2)}}
	d = schedule.Decide(policy, seen, d.Checkpoint)
	fmt.Println()
	fmt.Println(d)
	for _, e := range d.Events {
		fmt.Println("event   ", e)
	}

	seen.Requests = []schedule.Request{{ID: "from Ann", RequestedAt: at(3)}}
	d = schedule.Decide(policy, seen, d.Checkpoint)
	seen.Jobs = append(seen.Jobs, schedule.Job{Tag: d.Start[0].Tag, Outcome: schedule.Succeeded, Created: at(3), Finished: at(3)})
	d = schedule.Decide(policy, seen, d.Checkpoint)
	fmt.Println()
	fmt.Println(d)
	// Output:
	// due      1: 0 started, 1 pending, 0 missed, 0 dropped
	// start    20260101t010000-ec8f89cd
	// next     2026-01-01T01:00:01Z
	//
	// due      3: 1 started, 1 pending, 1 missed, 0 dropped
	// waiting  20260101t030000-ad843406: run 20260101t010000-ec8f89cd failed; a requested run that succeeds ends the block, as does an earlier scheduled one, or a new value of the annotation scaledjob.github.io/unblock
	// next     2026-01-01T04:00:00Z
	// event    Run 20260101t010000-ec8f89cd started
	// event    Run 20260101t010000-ec8f89cd failed after 1h0m0s
	// event    Scheduled runs no longer start: run 20260101t010000-ec8f89cd failed; a requested run that succeeds ends the block, as does an earlier scheduled one, or a new value of the annotation scaledjob.github.io/unblock
	// event    Scheduled runs are missed, because a failed run blocks the schedule: 1 so far
	//
	// due      3: 1 started, 1 pending, 1 missed, 0 dropped
	// start    20260101t030000-ad843406
	// next     2026-01-01T03:00:01Z
}

func ExampleCycle() {
	after := map[string][]string{"load": {"extract"}, "extract": {"report"}, "report": {"load"}}
	fmt.Println(schedule.Cycle("load", func(job string) []string { return after[job] }))
	// Output: [load extract report]
}
