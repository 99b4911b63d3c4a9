package adapter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"
)

func metrics(failed ...bool) (all []scaling.Metric) {
	for _, f := range failed {
		all = append(all, scaling.Metric{Name: "orders", Value: 3, Target: 1, Failed: f})
	}
	return all
}

func decision(paused bool, metrics ...scaling.Metric) scaling.Decision {
	p := scaling.DefaultPolicy()
	p.Paused = paused
	return scaling.Decide(p, scaling.State{Metrics: metrics, Jobs: &scaling.Jobs{}})
}

func TestConditions(t *testing.T) {
	empty := scaling.Metric{Name: "orders", Target: 1}
	created := &adapter.CreateError{Created: 1, Wanted: 3, Err: errors.New("exceeded quota")}
	for _, tt := range []struct {
		name                  string
		outcome               adapter.Outcome
		ready, active, paused string
		message               string
	}{
		{"all is well", adapter.Outcome{Decision: decision(false, metrics(false)...)},
			"True ScaledJobReady", "True ScalerActive", "False ScaledJobUnpaused", "valid"},
		{"nothing to do", adapter.Outcome{Decision: decision(false, empty)},
			"True ScaledJobReady", "False ScalerNotActive", "False ScaledJobUnpaused", "valid"},
		{"paused", adapter.Outcome{Decision: decision(true, metrics(false)...)},
			"True ScaledJobReady", "True ScalerActive", "True ScaledJobPaused", "valid"},
		{"some unread", adapter.Outcome{Decision: decision(false, metrics(false, true)...), Unread: errors.New("no route")},
			"Unknown PartialTriggerError", "True ScalerActive", "False ScaledJobUnpaused", "Some triggers could not be read: no route"},
		{"none read", adapter.Outcome{Decision: decision(false, metrics(true)...)},
			"False TriggerError", "Unknown UnknownState", "False ScaledJobUnpaused", "No trigger could be read"},
		{"Jobs unknown", adapter.Outcome{Decision: scaling.Decide(scaling.DefaultPolicy(), scaling.State{Metrics: metrics(false)})},
			"Unknown JobsUnknown", "True ScalerActive", "False ScaledJobUnpaused", "not known"},
		{"refused", adapter.Outcome{Decision: decision(false, metrics(false)...), Applied: errors.Join(errors.New("delete Job a"), created)},
			"False KEDAJobCreateFailed", "True ScalerActive", "False ScaledJobUnpaused", "created 1 of 3 Jobs: exceeded quota"},
		{"not deleted", adapter.Outcome{Decision: decision(false, metrics(false)...), Applied: errors.New("delete Job a")},
			"False JobDeleteFailed", "True ScalerActive", "False ScaledJobUnpaused", "delete Job a"},
		{"invalid", adapter.Outcome{Invalid: errors.New("spec.triggers: none")},
			"False ScaledJobCheckFailed", "Unknown UnknownState", "Unknown UnknownState", "spec.triggers: none"},
		{"zero value", adapter.Outcome{}, "Unknown JobsUnknown", "False ScalerNotActive", "False ScaledJobUnpaused", "not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.outcome.Conditions(nil, 7, noon)
			require.Len(t, c, 3)
			for kind, want := range map[string]string{"Ready": tt.ready, "Active": tt.active, "Paused": tt.paused} {
				got := meta.FindStatusCondition(c, kind)
				require.Equal(t, want, string(got.Status)+" "+got.Reason)
				require.Equal(t, int64(7), got.ObservedGeneration)
				require.True(t, got.LastTransitionTime.Time.Equal(noon))
			}
			require.Contains(t, c[0].Message, tt.message)
		})
	}
}

func TestConditionsKeepTheirTimeAndOthers(t *testing.T) {
	good := adapter.Outcome{Decision: decision(false, metrics(false)...)}
	first := append(good.Conditions(nil, 1, noon), metav1.Condition{Type: "Other", Status: metav1.ConditionTrue})
	second := good.Conditions(first, 2, noon.Add(time.Hour))
	require.Len(t, second, 4)
	require.True(t, second[0].LastTransitionTime.Time.Equal(noon), "the status is the same")
	require.Equal(t, int64(2), second[0].ObservedGeneration)
	require.Equal(t, int64(1), first[0].ObservedGeneration, "the argument was changed")
	long := adapter.Outcome{Invalid: errors.New(strings.Repeat("ä", 50_000))}
	c := long.Conditions(nil, 1, noon)
	require.LessOrEqual(t, len(c[0].Message), 32<<10)
	require.True(t, strings.HasSuffix(c[0].Message, "ä…"))
	require.LessOrEqual(t, len(long.Events(nil, c)[0].Message), 1024)
}

func TestEvents(t *testing.T) {
	good := adapter.Outcome{Decision: decision(false, metrics(false)...), Result: adapter.Result{Created: 3, RolledOut: 2}}
	idle := adapter.Outcome{Decision: decision(false, scaling.Metric{Name: "orders", Target: 1})}
	broken := adapter.Outcome{Decision: decision(false, metrics(true)...)}
	paused := adapter.Outcome{Decision: decision(true, metrics(false)...)}
	var before []metav1.Condition
	var told []string
	for _, o := range []adapter.Outcome{idle, good, broken, broken, paused, idle} {
		after := o.Conditions(before, 1, noon)
		recorder := events.NewFakeRecorder(10)
		adapter.Record(recorder, &adapter.ScaledJob{}, o.Events(before, after))
		close(recorder.Events)
		var all []string
		for e := range recorder.Events {
			all = append(all, e)
		}
		told, before = append(told, strings.Join(all, "; ")), after
	}
	require.Equal(t, []string{
		"Normal ScaledJobReady The ScaledJob is valid, and its triggers can be read",
		"Normal ScaledJobActive Active triggers: 1 of 1; Normal KEDAJobsCreated Created 3 Jobs; Normal ScaledJobRolloutCleanupCompleted Deleted 2 Jobs of an older spec",
		"Warning KEDAScalerFailed No trigger could be read",
		"",
		"Normal ScaledJobReady The ScaledJob is valid, and its triggers can be read; Normal ScaledJobActive Active triggers: 1 of 1; Normal ScaledJobPaused No Job is created or rolled out; finished ones are pruned",
		"Normal ScaledJobInactive No trigger is active; Normal ScaledJobUnpaused The ScaledJob is not paused",
	}, told)
}

// Whatever came before, the same outcome a second time tells nothing but what was
// done, and changes no condition.
func TestEventsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var before []metav1.Condition
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			before = anyOutcome(t).Conditions(before, 1, noon)
		}
		o := anyOutcome(t)
		first := o.Conditions(before, 1, noon)
		second := o.Conditions(first, 1, noon.Add(time.Minute))
		require.Equal(t, first, second)
		for _, e := range o.Events(first, second) {
			require.Equal(t, corev1.EventTypeNormal, e.Type)
			require.Contains(t, []string{adapter.ReasonCreated, adapter.ReasonRolledOut}, e.Reason)
		}
	})
}

func anyOutcome(t *rapid.T) adapter.Outcome {
	o := adapter.Outcome{
		Decision: decision(rapid.Bool().Draw(t, "paused"), metrics(rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(t, "failed")...)...),
		Result:   adapter.Result{Created: rapid.Int64Range(0, 3).Draw(t, "created"), RolledOut: rapid.IntRange(0, 2).Draw(t, "rolled out")},
	}
	switch rapid.IntRange(0, 4).Draw(t, "error") {
	case 0:
		o.Invalid = errors.New("spec.triggers: none")
	case 1:
		o.Applied = &adapter.CreateError{Wanted: 1, Err: errors.New("exceeded quota")}
	case 2:
		o.Applied = errors.New("delete Job a")
	}
	return o
}

// A broken edit of a paused ScaledJob does not resume it, nor tell so.
func TestInvalidIsAsPausedAsBefore(t *testing.T) {
	before := adapter.Outcome{Decision: decision(true, metrics(false)...)}.Conditions(nil, 1, noon)
	o := adapter.Outcome{Invalid: errors.New("spec.triggers: none")}
	after := o.Conditions(before, 2, noon)
	require.Equal(t, meta.FindStatusCondition(before, "Paused"), meta.FindStatusCondition(after, "Paused"))
	events := o.Events(before, after)
	require.Len(t, events, 1)
	require.Equal(t, adapter.ReasonInvalid, events[0].Reason)
}
