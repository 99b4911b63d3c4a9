package history_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/history"
)

// One Job of each outcome is kept. The failed one has a limit of its own.
func ExampleToDelete() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	jobs := []history.Job{
		{Name: "c", Outcome: history.Succeeded, Finished: noon.Add(2 * time.Minute)},
		{Name: "a", Outcome: history.Succeeded, Finished: noon},
		{Name: "b", Outcome: history.Failed, Finished: noon.Add(time.Minute)},
		{Name: "d", Outcome: history.Succeeded, Finished: noon.Add(3 * time.Minute)},
		{Name: "e"}, // runs
	}
	limits := history.Limits{Succeeded: history.Keep(1), Failed: history.Keep(1)}
	for _, i := range history.ToDelete(limits, jobs) {
		fmt.Println("delete", jobs[i].Name)
	}
	// Output:
	// delete a
	// delete c
}

func ExampleTimes_Finished() {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	failed := history.Times{Creation: created, Failure: created.Add(time.Hour)}
	fmt.Println(failed.Finished().Format(time.TimeOnly))
	// Output: 13:00:00
}

func ExampleLimit() {
	var unset history.Limit
	fmt.Println(unset, history.Keep(0), history.Keep(100))
	// Output: all 0 100
}
