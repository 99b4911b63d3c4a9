package interval_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

func ExampleParse() {
	i, err := interval.Parse("R5/2026-01-01T02:00:00Z/P1D")
	fmt.Println(i, err)
	_, err = interval.Parse("R5/T01:00:00/PT01")
	fmt.Println(err)
	// Output:
	// R5/2026-01-01T02:00:00Z/P1D <nil>
	// byte 15 is "01"; use a unit behind the number: H, M or S
}

// The last day of each month, counted from the start.
func ExampleInterval_Occurrences() {
	i, _ := interval.Parse("R4/2026-01-31T09:00:00+01:00/P1M")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	all, err := i.Occurrences(time.Time{}, berlin)
	if err != nil {
		panic(err)
	}
	for t, ok := all.Next(time.Time{}); ok; t, ok = all.Next(t) {
		fmt.Println(t.In(berlin))
	}
	// Output:
	// 2026-01-31 09:00:00 +0100 CET
	// 2026-02-28 09:00:00 +0100 CET
	// 2026-03-31 09:00:00 +0200 CEST
	// 2026-04-30 09:00:00 +0200 CEST
}

// An interval without a start begins at the creation. Without a creation, it is an
// error.
func ExampleInterval_Occurrences_creation() {
	i, _ := interval.Parse("R5//PT1H")
	_, err := i.Occurrences(time.Time{}, nil)
	fmt.Println(err)
	// Output: interval R5//PT1H: its start depends on the creation time, which is zero; pass a creation time, or use a date and time as the start
}

// At half past two in Berlin every day, also when clocks go forward or back.
func ExampleOccurrences_Notes() {
	i, _ := interval.Parse("R/T02:30:00/P1D")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	for _, created := range []time.Time{time.Date(2026, 3, 28, 0, 0, 0, 0, berlin), time.Date(2026, 10, 24, 0, 0, 0, 0, berlin)} {
		daily, err := i.Occurrences(created, berlin)
		if err != nil {
			panic(err)
		}
		t := created.Add(-1)
		for range 3 {
			t, _ = daily.Next(t)
			fmt.Println(t.In(berlin), daily.Notes(t))
		}
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET []
	// 2026-03-29 03:30:00 +0200 CEST [{gap 2026-03-29 02:30:00 does not exist in Europe/Berlin; the clock shows 2026-03-29 03:30:00 instead}]
	// 2026-03-30 02:30:00 +0200 CEST []
	// 2026-10-24 02:30:00 +0200 CEST []
	// 2026-10-25 02:30:00 +0200 CEST [{overlap 2026-10-25 02:30:00 occurs twice in Europe/Berlin; this is the first}]
	// 2026-10-26 02:30:00 +0100 CET []
}

// Next excludes the time that it is given, and so the first occurrence at the
// creation.
func ExampleOccurrences_Next() {
	i, _ := interval.Parse("R//PT1H")
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	hourly, err := i.Occurrences(created, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(hourly.Next(created))
	fmt.Println(hourly.Next(created.Add(-1)))
	// Output:
	// 2026-01-01 13:00:00 +0000 UTC true
	// 2026-01-01 12:00:00 +0000 UTC true
}

// Every second from the year 2000 to the year 2026.
func ExampleOccurrences_Count() {
	i, _ := interval.Parse("R/2000-01-01T00:00:01Z/PT1S")
	seconds, err := i.Occurrences(time.Time{}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(seconds.Count(interval.Span{Until: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}))
	// Output: 820540800
}
