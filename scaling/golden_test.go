package scaling_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/testdata"
)

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := testdata.Files.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

// A text is a decimal that a case gives as a number or as a string.
type text string

func (s *text) UnmarshalJSON(data []byte) error {
	*s = text(bytes.Trim(data, `"`))
	return nil
}

func strategyOf(t *testing.T, name string, deduction int64, percentage text) strategy.Strategy {
	t.Helper()
	if name == "custom" {
		p, err := strategy.ParsePercentage(string(percentage))
		require.NoError(t, err)
		return strategy.NewCustom(deduction, p)
	}
	if name == "" {
		name = "default"
	}
	s, err := strategy.Parse(name)
	require.NoError(t, err)
	return s
}

func aggregationOf(t *testing.T, name string) scaling.Aggregation {
	t.Helper()
	if name == "" {
		return scaling.Max
	}
	a, err := scaling.ParseAggregation(name)
	require.NoError(t, err)
	return a
}

func activity(active bool) scaling.Activity {
	if active {
		return scaling.Active
	}
	return scaling.Inactive
}

func orElse(n *int64, unset int64) int64 {
	if n == nil {
		return unset
	}
	return *n
}

// The cases of kinds create and aggregate, with what the core gives for them.
func TestKEDACases(t *testing.T) {
	var file struct {
		Vectors []struct {
			ID, Kind string
			Input    struct {
				Scalers []struct {
					QueueLength, Target float64
					Active              bool
				}
				MultipleScalersCalculation        string
				MinReplicaCount, MaxReplicaCount  *int64
				Strategy                          string
				Running, Pending                  int64
				CustomScalingQueueLengthDeduction int64
				CustomScalingRunningJobPercentage text
			}
			Core *struct {
				Create      *int64
				Active      *bool
				QueueLength *float64
				MaxScale    *int64
			}
		}
	}
	readJSON(t, "keda.json", &file)
	run := 0
	for _, v := range file.Vectors {
		if v.Core == nil || v.Kind != "create" && v.Kind != "aggregate" {
			continue
		}
		run++
		in := v.Input
		p := scaling.Policy{
			Bounds:      scaling.Bounds{Min: orElse(in.MinReplicaCount, 0), Max: orElse(in.MaxReplicaCount, 100)},
			Aggregation: aggregationOf(t, in.MultipleScalersCalculation),
			Strategy:    strategyOf(t, in.Strategy, in.CustomScalingQueueLengthDeduction, in.CustomScalingRunningJobPercentage),
		}
		s := scaling.State{Jobs: &scaling.JobCounts{Running: in.Running, Pending: in.Pending}}
		for _, m := range in.Scalers {
			s.Metrics = append(s.Metrics, scaling.Metric{Value: m.QueueLength, Target: m.Target, Activity: activity(m.Active)})
		}
		d := scaling.Decide(p, s)
		if v.Core.Create != nil {
			require.Equal(t, *v.Core.Create, d.Create, "%s\n%s", v.ID, d)
		}
		if v.Core.Active != nil {
			require.Equal(t, *v.Core.Active, d.Trace.Demand.Active > 0, "%s\n%s", v.ID, d)
			require.Equal(t, *v.Core.QueueLength, math.Ceil(d.Trace.Demand.Queue), "%s\n%s", v.ID, d)
			require.Equal(t, *v.Core.MaxScale, d.Trace.Load.Target, "%s\n%s", v.ID, d)
		}
	}
	require.Equal(t, 50, run)
}

// The documents' tables and stories, and the rules that they leave open. The oracle's
// tests run the same cases.
func TestDocuments(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Source string
			Input        struct {
				Scalers []struct {
					QueueLength, Target, ActivationTarget float64
					IsActive                              *bool
					Failed                                bool
				}
				Calculation                       scaling.Aggregation
				MinReplicaCount                   int64
				MaxReplicaCount                   *int64
				Min                               scaling.MinMode
				Strategy                          string
				CustomScalingQueueLengthDeduction int64
				CustomScalingRunningJobPercentage text
				Hold, Paused, JobsUnknown         bool
				scaling.JobCounts
			}
			Create int64
			Rule   scaling.Rule
		}
	}
	readJSON(t, "decisions.json", &file)
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			in := c.Input
			p := scaling.Policy{
				Bounds:        scaling.Bounds{Min: in.MinReplicaCount, Max: orElse(in.MaxReplicaCount, 100), Mode: in.Min},
				Aggregation:   in.Calculation,
				Strategy:      strategyOf(t, in.Strategy, in.CustomScalingQueueLengthDeduction, in.CustomScalingRunningJobPercentage),
				HoldOnFailure: in.Hold, Paused: in.Paused,
			}
			s := scaling.State{Jobs: &in.JobCounts}
			if in.JobsUnknown {
				s.Jobs = nil
			}
			for _, m := range in.Scalers {
				metric := scaling.Metric{Value: m.QueueLength, Target: m.Target, ActivationThreshold: m.ActivationTarget, Failed: m.Failed}
				if m.IsActive != nil {
					metric.Activity = activity(*m.IsActive)
				}
				s.Metrics = append(s.Metrics, metric)
			}
			d := scaling.Decide(p, s)
			require.Equal(t, c.Create, d.Create, "%s", d)
			if c.Rule != scaling.RuleNone {
				require.Equal(t, c.Rule, d.Rule, "%s", d)
			}
		})
	}
}
