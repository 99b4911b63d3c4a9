// Package scalingtest checks the properties of a whole decision, for anybody's implementation of
// [scaling.Decide] or of an autoscaler like it.
//
//	func TestMine(t *testing.T) { scalingtest.Run(t, mine) }
//
// An [Implementation] returns the Jobs to create in a [Poll]. [Run] checks each [Property] of [All]
// with random polls in a subtest, and rapid shrinks what breaks it. [Find] returns a poll that
// breaks a property, without a test.
package scalingtest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// An Implementation returns the number of Jobs to create.
type Implementation func(scaling.Policy, scaling.Observation) int64

// A Poll is what an implementation decides on.
type Poll struct {
	Policy      scaling.Policy
	Observation scaling.Observation
}

// A Property is a rule that an implementation obeys or breaks in a poll. Callers may write their own.
type Property struct {
	Name    string // names the subtest
	Meaning string // the rule, as a sentence
	// Check returns an error with what the implementation answered if it breaks the rule. A rule that
	// has nothing to say about a poll is kept.
	Check func(Implementation, Poll) error
}

// All returns every property of this package.
func All() []Property {
	return []Property{
		{"Pure", "equal polls get equal answers", pure},
		{"WithinBounds", "at least 0 Jobs are created, and with the running and terminating ones at most the maximum", withinBounds},
		{"KnownJobs", "unknown Jobs and a paused policy create nothing", knownJobs},
		{"AnyOrder", "the order of the metrics does not matter", anyOrder},
		{"MonotoneInValue", "a longer queue of the only metric never creates fewer Jobs", monotoneInValue},
		{"NothingWithoutDemand", "without an active metric only the Jobs below the minimum are created", nothingWithoutDemand},
		{"ServedInTheEnd", "a queue that gets no more items is empty after some polls", servedInTheEnd},
	}
}

// Run checks every property of [All] in a subtest, except the given ones.
func Run(t *testing.T, decide Implementation, except ...Property) {
	t.Helper()
	for _, p := range All() {
		if slices.ContainsFunc(except, func(other Property) bool { return other.Name == p.Name }) {
			t.Logf("not checked: %s", p.Name)
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if err := p.Check(decide, polls().Draw(t, "poll")); err != nil {
					t.Fatalf("%s: %v", p.Meaning, err)
				}
			})
		})
	}
}

// Find returns an error about the first of 2000 polls that breaks the property, or nil.
func Find(decide Implementation, p Property) error {
	for seed := range 2000 {
		if err := p.Check(decide, polls().Example(seed)); err != nil {
			return fmt.Errorf("%s: %w", p.Meaning, err)
		}
	}
	return nil
}

// polls generates polls with small numbers, of which each kind is common: paused, with unknown Jobs,
// and with metrics that are unreadable, inactive or of equal length.
func polls() *rapid.Generator[Poll] {
	return rapid.Custom(func(t *rapid.T) Poll {
		n := func(label string, limit int64) int64 { return rapid.Int64Range(0, limit).Draw(t, label) }
		p := Poll{Policy: scaling.Policy{
			Bounds:      scaling.Bounds{Min: n("min", 4), Max: n("max", 30), Mode: scaling.MinMode(n("mode", 1))},
			Aggregation: scaling.Aggregation(n("aggregation", int64(len(scaling.Aggregations())-1))),
			Strategy: rapid.SampledFrom([]strategy.Strategy{strategy.Default{}, strategy.PendingAware{},
				strategy.Accurate{SubtractPending: true}, strategy.Eager{}}).Draw(t, "strategy"),
			HoldOnFailure: n("hold", 3) == 0,
			Paused:        n("paused", 9) == 0,
		}}
		p.Observation.Metrics = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scaling.Metric {
			return scaling.Metric{
				Name:     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"),
				Value:    float64(rapid.IntRange(0, 40).Draw(t, "value")),
				Target:   rapid.SampledFrom([]float64{1, 2, 0.3, 5}).Draw(t, "target"),
				Activity: rapid.SampledFrom([]scaling.Activity{scaling.ByThreshold, scaling.ByThreshold, scaling.Active, scaling.Inactive}).Draw(t, "activity"),
				Failed:   rapid.IntRange(0, 5).Draw(t, "failed") == 0,
			}
		}), 0, 3).Draw(t, "metrics")
		if n("unknown", 9) > 0 {
			jobs := scaling.JobCounts{Running: n("running", 30), Terminating: n("terminating", 5), InFlight: n("in flight", 3)}
			jobs.Pending = n("pending", jobs.Running)
			jobs.Stuck = n("stuck", jobs.Pending)
			p.Observation.Jobs = &jobs
		}
		return p
	})
}
