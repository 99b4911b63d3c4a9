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
	spec := schedule.DefaultSpec()
	spec.UID = "0b1c4c5e"
	spec.Created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hourly, _ := interval.Parse("R/2026-01-01T01:00:00Z/PT1H")
	spec.Schedule = schedule.ISO8601(hourly, nil)
	spec.Concurrency, spec.BlockOnFailure = schedule.Wait, true
	at := func(hour int) time.Time { return spec.Created.Add(time.Duration(hour) * time.Hour) }

	seen := schedule.Observed{JobsKnown: true}
	d := schedule.Decide(spec, schedule.State{}, seen, at(1))
	fmt.Println(d)

	seen.Jobs = []schedule.Job{{Tag: d.Start[0].Tag, Outcome: schedule.Failed, Created: at(1), Finished: at(2)}}
	d = schedule.Decide(spec, d.State, seen, at(3))
	fmt.Println()
	fmt.Println(d)
	for _, e := range d.Events {
		fmt.Println("event   ", e)
	}

	seen.Requests = []schedule.Request{{ID: "from Ann", RequestedAt: at(3)}}
	d = schedule.Decide(spec, d.State, seen, at(3))
	seen.Jobs = append(seen.Jobs, schedule.Job{Tag: d.Start[0].Tag, Outcome: schedule.Succeeded, Created: at(3), Finished: at(3)})
	d = schedule.Decide(spec, d.State, seen, at(3))
	fmt.Println()
	fmt.Println(d)
	// Output:
	// due      1: 0 started, 1 pending, 0 missed, 0 dropped
	// start    20260101t010000-ec8f89cd
	// next     2026-01-01T01:00:01Z
	//
	// due      3: 1 started, 1 pending, 1 missed, 0 dropped
	// waiting  20260101t030000-ad843406: run 20260101t010000-ec8f89cd failed; a requested run that succeeds ends the block
	// next     2026-01-01T04:00:00Z
	// event    Run 20260101t010000-ec8f89cd started
	// event    Run 20260101t010000-ec8f89cd failed after 1h0m0s
	// event    Scheduled runs no longer start, because run 20260101t010000-ec8f89cd failed; a requested run that succeeds ends the block
	// event    Scheduled runs are missed, because later runs were due: 1 so far
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
