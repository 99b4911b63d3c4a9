package jsonform_test

import (
	"testing"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

var half, _ = strategy.ParsePercentage("0.5")

// Every configuration, observation, decision and checkpoint of the root module survives JSON.
func TestTypes(t *testing.T) {
	premise.JSON(t, "../..", []any{
		history.Policy{}, history.Observation{}, history.Job{}, history.Decision{}, history.Deletion{},
		horizontal.Checkpoint{}, horizontal.Recommendation{}, horizontal.ScaleEvent{}, horizontal.Observation{}, horizontal.Decision{},
		horizontal.Proposal{}, horizontal.Condition{}, horizontal.Policy{}, horizontal.Behavior{}, horizontal.ScalingPolicy{}, horizontal.ScalingRules{},
		horizontal.Metric{}, horizontal.Sample{}, horizontal.Pod{},
		scaledobject.Policy{}, scaledobject.Fallback{}, scaledobject.Modifiers{}, scaledobject.Trigger{}, scaledobject.Observation{},
		scaledobject.Checkpoint{}, scaledobject.Decision{},
		keda.State{}, keda.Decision{}, keda.Demand{}, keda.Pruning{}, keda.JobCounts{}, keda.ScaledJob{}, keda.Spec{},
		keda.RolloutSpec{}, keda.ScalingStrategy{}, keda.Job{}, keda.Pod{}, keda.Condition{}, keda.Change{}, keda.Metric{}, keda.Replicas{},
		jobs.Checkpoint{}, jobs.Starts{}, jobs.Decision{}, jobs.Placement{}, jobs.Replacement{}, jobs.JobRef{}, jobs.Deletion{}, jobs.MemberDecision{},
		jobs.Policy{Scaling: scaling.Policy{Strategy: strategy.NewCustom(-3, half)}}, jobs.Member{}, jobs.Failover{}, jobs.Observation{}, jobs.Cluster{}, jobs.Failures{}, jobs.Job{}, jobs.Source{},
		replicas.Decision{}, replicas.Share{}, replicas.Policy{}, replicas.Member{}, replicas.Observation{}, replicas.Cluster{}, replicas.Checkpoint{}, replicas.MemberCheckpoint{},
		apportion.Party{}, taint.Standing{}, taint.Taint{}, taint.Durations{}, taint.Workload{}, taint.Path{}, taint.Entry{},
		rollout.Revision{}, rollout.Observation{}, rollout.Job{}, rollout.Policy{}, rollout.Decision{},
		scaling.Metric{}, scaling.Demand{}, scaling.Policy{Strategy: strategy.Accurate{SubtractPending: true}}, scaling.Bounds{}, scaling.Observation{}, scaling.JobCounts{}, scaling.Decision{}, scaling.Count{},
		scaling.Cooldown{}, scaling.CooldownObservation{}, scaling.CooldownCheckpoint{}, scaling.CooldownDecision{}, scaling.Trace{},
		schedule.Backfill{}, schedule.Progress{}, schedule.BackfillPlan{}, schedule.Checkpoint{}, schedule.Run{}, schedule.Connection{}, schedule.Counts{},
		schedule.Decision{}, schedule.Observation{}, schedule.Rejection{}, schedule.Upstream{}, schedule.Job{}, schedule.Pods{}, schedule.Request{},
		schedule.Policy{}, schedule.Dependency{}, schedule.Event{}, schedule.Occurrence{}, interval.Note{}, interval.Interval{}, interval.Span{},
		slots.Hold{}, slots.Demand{}, slots.Request{}, slots.Object{},
		strategy.Load{}, strategy.Parameters{},
		simulation.Settings{}, simulation.Load{}, simulation.Summary{}, simulation.Times{}, simulation.RuleCount{}, simulation.Tick{},
		simulation.Event{}, simulation.Queue{}, simulation.JobBehavior{}, simulation.Cluster{}, simulation.Outage{}, simulation.Arrival{},
		study.Capacity{}, study.Interval{}, study.Probe{}, study.Trend{}, study.Estimate{}, study.Difference{}, study.Study{}, study.Sample{}, study.Band{},
	}, map[string]string{
		"field.Decoder":           "reads a document",
		"field.Error":             "an error",
		"field.Errors":            "gathers errors",
		"interval.Occurrences":    "walks an interval",
		"interval.ParseError":     "an error",
		"keda.GeneratedJob":       "has the caller's type of a Job",
		"keda.Profile":            "a release, with a test in package keda",
		"keda.Rollout":            "names what a release does",
		"keda.Rule":               "has functions",
		"keda.Scale":              "an argument of Scale",
		"keda.Scaler":             "holds readings and an error",
		"keda.Strategy":           "text, with a test in package keda",
		"keda.UnsupportedError":   "an error",
		"simulation.Arrivals":     "text, with a test in package simulation",
		"simulation.Curves":       "of a Result",
		"simulation.Decision":     "the answer of an Autoscaler, an interface",
		"simulation.Distribution": "text, with a test in package simulation",
		"simulation.KEDA":         "an Autoscaler",
		"simulation.Observation":  "the argument of an Autoscaler",
		"simulation.Options":      "has a function",
		"simulation.Placement":    "an Autoscaler",
		"simulation.Result":       "what an act returned",
		"simulation.Scaling":      "an Autoscaler",
		"simulation.Scenario":     "has an Autoscaler",
		"slots.Options":           "wiring",
		"slots.Set":               "a state machine",
		"strategy.Accurate":       "a strategy: see Parse",
		"strategy.Custom":         "a strategy: see Parse",
		"strategy.Default":        "a strategy: see Parse",
		"strategy.Eager":          "a strategy: see Parse",
		"strategy.PendingAware":   "a strategy: see Parse",
		"strategy.Percentage":     "text, with a test in package strategy",
		"strategy.Total":          "holds a strategy of the caller",
		"study.Condition":         "has a function",
		"study.Found":             "what an act returned",
		"study.Options":           "wiring",
		"taint.Fleet":             "remembers; Standing is its JSON",
	})
}
