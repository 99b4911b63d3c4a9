package schedule_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

func ExampleParse() {
	i, err := schedule.Parse("R5/2026-01-01T02:00:00Z/P1D")
	fmt.Println(i, err)
	_, err = schedule.Parse("R5/T01:00:00/PT01")
	fmt.Println(err)
	// Output:
	// R5/2026-01-01T02:00:00Z/P1D <nil>
	// byte 15 is "01": want a unit behind the number: H, M or S; was R5/T01:00:00/PT1H meant?
}

// On the last of each month, counted from the start.
func ExampleInterval_Instants() {
	i, _ := schedule.Parse("R4/2026-01-31T09:00:00+01:00/P1M")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	year := schedule.Span{After: created, Until: created.AddDate(1, 0, 0)}
	for t := range i.Instants(created, berlin).All(year) {
		fmt.Println(t.In(berlin))
	}
	// Output:
	// 2026-01-31 09:00:00 +0100 CET
	// 2026-02-28 09:00:00 +0100 CET
	// 2026-03-31 09:00:00 +0200 CEST
	// 2026-04-30 09:00:00 +0200 CEST
}

// Every second since the year 2000.
func ExampleInstants_Count() {
	i, _ := schedule.Parse("R/2000-01-01T00:00:00Z/PT1S")
	created := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(i.Instants(created, nil).Count(schedule.Span{After: created, Until: now}))
	// Output: 820540800
}

func ExampleInstants_Next() {
	i, _ := schedule.Parse("R/T01:00:00+02:00/P1W")
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	next, ok := i.Instants(created, nil).Next(created)
	fmt.Println(next, ok)
	// Output: 2026-01-01 23:00:00 +0000 UTC true
}

// Of a job that runs every hour, one run at a time, a run fails. The schedule goes
// on when a run that was asked for has succeeded.
func ExampleDecide() {
	spec := schedule.DefaultSpec()
	spec.UID = "0b1c4c5e"
	spec.Created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spec.Interval, _ = schedule.Parse("R/2026-01-01T01:00:00Z/PT1H")
	spec.AllowConcurrentRun, spec.BlockOnFailure = false, true
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

	seen.Requests = []schedule.Request{{ID: "from Ann", Asked: at(3)}}
	d = schedule.Decide(spec, d.State, seen, at(3))
	seen.Jobs = append(seen.Jobs, schedule.Job{Tag: d.Start[0].Tag, Outcome: schedule.Succeeded, Created: at(3), Finished: at(3)})
	d = schedule.Decide(spec, d.State, seen, at(3))
	fmt.Println()
	fmt.Println(d)
	// Output:
	// due      1: 1 started, 0 waiting, 0 missed, 0 dropped
	// start    20260101t010000-ec8f89cd
	// next     2026-01-01T02:00:00Z
	//
	// due      3: 1 started, 1 waiting, 1 missed, 0 dropped
	// waiting  20260101t030000-ad843406: blocked, as 20260101t010000-ec8f89cd failed
	// next     2026-01-01T04:00:00Z
	// event    Run 20260101t010000-ec8f89cd failed after 1h0m0s
	// event    Scheduled runs that were outdated before they started: 1
	// event    The schedule starts nothing, as run 20260101t010000-ec8f89cd failed; a run on demand that succeeds ends this
	//
	// due      3: 2 started, 0 waiting, 1 missed, 0 dropped
	// start    20260101t030000-ad843406
	// next     2026-01-01T04:00:00Z
}

func ExampleValidateDependencies() {
	fmt.Println(schedule.ValidateDependencies(map[string][]schedule.Dependency{
		"load":    {{Job: "extract", Outcome: schedule.Succeeded}},
		"extract": {{Job: "report", Outcome: schedule.Any}},
		"report":  {{Job: "load", Outcome: schedule.Succeeded}},
	}))
	// Output: jobs come after one another: extract after report after load after extract
}
