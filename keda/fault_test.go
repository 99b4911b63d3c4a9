package keda_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func at(minute int) *time.Time {
	t := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	return &t
}

// A float is a number, or a string where it is not finite.
type float float64

func (f *float) UnmarshalJSON(data []byte) error {
	s := string(data)
	if unquoted, err := strconv.Unquote(s); err == nil {
		s = unquoted
	}
	n, err := strconv.ParseFloat(s, 64)
	*f = float(n)
	return err
}

// A poll is a case of testdata/faults.json.
type poll struct {
	Name, As        string
	MinReplicaCount *int32
	MaxReplicaCount *int32
	Calculation     string `json:"multipleScalersCalculation"`
	Strategy        string
	Deduction       *int32 `json:"customScalingQueueLengthDeduction"`
	Percentage      string `json:"customScalingRunningJobPercentage"`
	Running         int64
	Scalers         []struct {
		QueueLength, Target float
		MaxValue            *float
		IsActive, Error     bool
		Metrics             []keda.Metric // active as the scaler is
	}
	Expect struct {
		Create int64
		Panic  bool
		Fault  string
	}
}

// activity says that a scaler is active, or that it is not.
func activity(active bool) scaling.Activity {
	if active {
		return scaling.Active
	}
	return scaling.Inactive
}

func (p *poll) decide(t *testing.T) keda.Decision {
	j := keda.ScaledJob{Spec: keda.Spec{
		MinReplicaCount: p.MinReplicaCount, MaxReplicaCount: p.MaxReplicaCount,
		ScalingStrategy: keda.ScalingStrategy{
			Strategy: p.Strategy, MultipleScalersCalculation: p.Calculation,
			Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: p.Deduction, CustomScalingRunningJobPercentage: p.Percentage},
		},
	}}
	state := keda.State{Running: p.Running}
	for _, s := range p.Scalers {
		scaler := keda.Scaler{QueueLength: float64(s.QueueLength), Target: float64(s.Target), Activity: activity(s.IsActive), Failed: s.Error, Metrics: s.Metrics}
		if s.MaxValue != nil {
			scaler.MaxValue = new(float64(*s.MaxValue))
		}
		state.Scalers = append(state.Scalers, scaler)
	}
	return release(t, p.As).Decide(&j, state)
}

func TestFaults(t *testing.T) {
	data, err := os.ReadFile("testdata/faults.json")
	require.NoError(t, err)
	var file struct{ Cases []json.RawMessage }
	require.NoError(t, json.Unmarshal(data, &file))
	require.Equal(t, 34, len(file.Cases))
	for _, data := range file.Cases {
		p := poll{MaxReplicaCount: new(int32(10))}
		require.NoError(t, json.Unmarshal(data, &p))
		t.Run(p.Name+"@"+p.As, func(t *testing.T) {
			d := p.decide(t)
			fault := ""
			if d.Fault != keda.NoFault {
				fault = d.Fault.String()
			}
			require.Equal(t, p.Expect.Create, d.Create, "%s", d)
			require.Equal(t, p.Expect.Fault, fault, "%s", d)
			require.Equal(t, p.Expect.Panic, d.Fault.Panics(), "%s", d)
			require.Equal(t, p.Expect.Panic, d.Reason == keda.ReasonPanic)
		})
	}
}

func TestNegativeLimit(t *testing.T) {
	complete := []keda.Condition{{Type: "Complete", Status: "True"}}
	jobs := []keda.Job{{Name: "a", Conditions: complete, CompletionTime: at(1)}}
	j := keda.ScaledJob{Spec: keda.Spec{SuccessfulJobsHistoryLimit: new(int32(0)), FailedJobsHistoryLimit: new(int32(-1))}}
	h := keda.Newest().History(&j, jobs)
	require.Equal(t, []int{0}, h.Deleted)
	require.Equal(t, "KEDA panics: a negative history limit", h.Fault.String())
	require.True(t, h.Fault.Panics())
	j.Spec.SuccessfulJobsHistoryLimit = new(int32(-1))
	require.Equal(t, keda.Pruning{Fault: h.Fault}, keda.Newest().History(&j, jobs))
}
