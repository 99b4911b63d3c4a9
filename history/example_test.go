package history_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/history"
)

// One Job of each outcome is kept, for a day at most.
func Example() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	jobs := []history.Job{
		{Name: "c", Outcome: history.Succeeded, Finished: noon.Add(2 * time.Minute)},
		{Name: "a", Outcome: history.Succeeded, Finished: noon},
		{Name: "b", Outcome: history.Failed, Finished: noon.Add(-23 * time.Hour)},
		{Name: "d", Outcome: history.Succeeded, Finished: noon.Add(3 * time.Minute)},
		{Name: "e"}, // runs
	}
	policy := history.Policy{Succeeded: history.Keep(1), Failed: history.Keep(1), Age: history.After(24 * time.Hour)}
	for _, hour := range []int{0, 1} {
		d := history.Decide(policy, history.Observation{Now: noon.Add(time.Duration(hour) * time.Hour), Jobs: jobs})
		for _, deletion := range d.Delete {
			fmt.Println("delete", jobs[deletion.Index].Name, deletion.Reason)
		}
		fmt.Println("look again at", d.NextCheck.Format(time.TimeOnly))
	}
	// Output:
	// delete a SucceededLimit
	// delete c SucceededLimit
	// look again at 13:00:00
	// delete a SucceededLimit
	// delete c SucceededLimit
	// delete b Age
	// look again at 12:03:00
}

func ExamplePolicy() {
	fmt.Println(history.Policy{}, "/", history.DefaultPolicy())
	fmt.Println(history.Policy{Succeeded: history.Keep(0), Age: history.After(time.Hour)})
	// Output:
	// all succeeded, all failed / 100 succeeded, 100 failed
	// 0 succeeded, all failed, for 1h0m0s
}
