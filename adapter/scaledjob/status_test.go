package scaledjob_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func metrics(failed ...bool) (all []scaling.Metric) {
	for _, f := range failed {
		all = append(all, scaling.Metric{Name: "orders", Value: 3, Target: 1, Failed: f})
	}
	return all
}

func decision(paused bool, metrics ...scaling.Metric) scaling.Decision {
	p := scaling.DefaultPolicy()
	p.Paused = paused
	return scaling.Decide(p, scaling.Observation{Metrics: metrics, Jobs: &scaling.JobCounts{}})
}

// Each fact has a condition of its own, and Ready is their conjunction: a trigger's error hides no create
// that backs off, and half of the creates or a single delete that hang are told.
func TestConditions(t *testing.T) {
	read, unread := decision(false, metrics(false)...), decision(false, metrics(true)...)
	refused := &adapter.CreateError{Created: 1, Wanted: 3, Err: errors.New("exceeded quota")}
	hold := func(d scaling.Decision, reason slots.Reason) scaledjob.PollResult {
		return scaledjob.PollResult{Decision: d, Holds: []slots.Hold{{Reason: reason, Text: "text of " + string(reason), Count: 3}}}
	}
	const (
		valid   = "True ScaledJobReady: The ScaledJob is valid, and its triggers can be read"
		unknown = "Unknown JobsUnknown: The Jobs are not known; no Job is created or deleted"
	)
	good := map[string]string{
		"Active": "True ScalerActive", "Paused": "False ScaledJobUnpaused",
		"JobsCreated": "True Succeeding", "JobsDeleted": "True Succeeding", "TriggersRead": "True Succeeding",
	}
	for name, tt := range map[string]struct {
		result scaledjob.PollResult
		ready  string
		others map[string]string // which are not good
	}{
		"all is well": {scaledjob.PollResult{Decision: read}, valid, nil},
		"nothing to do": {scaledjob.PollResult{Decision: decision(false, scaling.Metric{Name: "orders", Target: 1})}, valid,
			map[string]string{"Active": "False ScalerNotActive"}},
		"paused": {scaledjob.PollResult{Decision: decision(true, metrics(false)...)}, valid,
			map[string]string{"Paused": "True ScaledJobPaused"}},
		"some unread": {scaledjob.PollResult{Decision: decision(false, metrics(false, true)...), Unread: errors.New("no route")},
			"Unknown PartialTriggerError: 1 of 2 triggers could not be read: no route", map[string]string{"TriggersRead": "Unknown PartialTriggerError"}},
		"none read": {scaledjob.PollResult{Decision: unread}, "False TriggerError: 1 of 1 triggers could not be read",
			map[string]string{"Active": "Unknown UnknownState", "TriggersRead": "False TriggerError"}},
		"Jobs unknown": {scaledjob.PollResult{Decision: scaling.Decide(scaling.DefaultPolicy(), scaling.Observation{Metrics: metrics(false)})},
			unknown, nil},
		"refused, and a delete hangs": {scaledjob.PollResult{Decision: read, Applied: errors.Join(errors.New("delete Job a: no answer"), refused)},
			"False JobCreateFailed: created 1 of 3 Jobs: exceeded quota\ndelete Job a: no answer",
			map[string]string{"JobsCreated": "False JobCreateFailed", "JobsDeleted": "False JobDeleteFailed"}},
		"a delete hangs": {scaledjob.PollResult{Decision: read, Applied: errors.New("delete Job a: no answer")},
			"False JobDeleteFailed: delete Job a: no answer", map[string]string{"JobsDeleted": "False JobDeleteFailed"}},
		"a trigger and creates": {scaledjob.PollResult{Decision: unread, Applied: refused},
			"False JobCreateFailed: created 1 of 3 Jobs: exceeded quota\n1 of 1 triggers could not be read",
			map[string]string{"Active": "Unknown UnknownState", "JobsCreated": "False JobCreateFailed", "TriggersRead": "False TriggerError"}},
		"Jobs that fail": {hold(decision(true), adapter.FailingJobs), "False FailingJobs: text of FailingJobs",
			map[string]string{"Active": "False ScalerNotActive", "Paused": "True ScaledJobPaused", "JobsCreated": "False FailingJobs"}},
		"creates that wait": {hold(unread, slots.BackingOff), "False BackingOff: text of BackingOff\n1 of 1 triggers could not be read",
			map[string]string{"Active": "Unknown UnknownState", "JobsCreated": "False BackingOff", "TriggersRead": "False TriggerError"}},
		"half of the creates hang": {hold(read, slots.CreatesUnanswered), "False CreatesUnanswered: text of CreatesUnanswered",
			map[string]string{"JobsCreated": "False CreatesUnanswered"}},
		"a delete hung":                      {hold(read, slots.DeletesPaused), "False DeletesPaused: text of DeletesPaused", map[string]string{"JobsDeleted": "False DeletesPaused"}},
		"a moment's hold":                    {hold(read, slots.DeletePending), valid, nil},
		"Jobs that an edit does not replace": {hold(read, adapter.TemplatesUnknown), valid + "; text of TemplatesUnknown", nil},
		"invalid": {scaledjob.PollResult{Invalid: errors.New("spec.triggers: none")}, "False ScaledJobCheckFailed: spec.triggers: none", map[string]string{
			"Active": "Unknown UnknownState", "Paused": "Unknown UnknownState",
			"JobsCreated": "Unknown UnknownState", "JobsDeleted": "Unknown UnknownState", "TriggersRead": "Unknown UnknownState"}},
		"zero value": {scaledjob.PollResult{}, unknown, map[string]string{"Active": "False ScalerNotActive"}},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := maps.Clone(good), map[string]string{}
			maps.Copy(want, tt.others)
			want["Ready"] = tt.ready
			for _, c := range tt.result.Conditions(nil, 7, noon) {
				got[c.Type] = string(c.Status) + " " + c.Reason
				if c.Type == scaledjob.ConditionReady {
					got[c.Type] += ": " + c.Message
				}
				require.Equal(t, int64(7), c.ObservedGeneration)
				require.True(t, c.LastTransitionTime.Time.Equal(noon))
			}
			require.Equal(t, want, got)
		})
	}
}

func TestConditionsKeepTheirTimeAndOthers(t *testing.T) {
	good := scaledjob.PollResult{Decision: decision(false, metrics(false)...)}
	first := append(good.Conditions(nil, 1, noon), metav1.Condition{Type: "Other", Status: metav1.ConditionTrue})
	second := good.Conditions(first, 2, noon.Add(time.Hour))
	require.Len(t, second, 7)
	require.True(t, second[0].LastTransitionTime.Time.Equal(noon), "the status is the same")
	require.Equal(t, int64(2), second[0].ObservedGeneration)
	require.Equal(t, int64(1), first[0].ObservedGeneration, "the argument was changed")
	long := scaledjob.PollResult{Invalid: errors.New(strings.Repeat("ä", 50_000))}
	c := long.Conditions(nil, 1, noon)
	require.LessOrEqual(t, len(c[0].Message), 32<<10)
	require.Greater(t, len(c[0].Message), 32<<10-3)
	whole := scaledjob.PollResult{Invalid: errors.New(strings.Repeat("a", 32<<10))}.Conditions(nil, 1, noon)
	require.Equal(t, strings.Repeat("a", 32<<10), whole[0].Message)
	require.True(t, strings.HasSuffix(c[0].Message, "ä…"))
	require.LessOrEqual(t, len(long.Events(nil, c)[0].Message), 1024)
}

func TestEvents(t *testing.T) {
	good := scaledjob.PollResult{Decision: decision(false, metrics(false)...), Result: adapter.Result{Created: 1, Outdated: 1}}
	idle := scaledjob.PollResult{Decision: decision(false, scaling.Metric{Name: "orders", Target: 1})}
	broken := scaledjob.PollResult{Decision: decision(false, metrics(true)...)}
	paused := scaledjob.PollResult{Decision: decision(true, metrics(false)...)}
	before := []metav1.Condition{{Type: scaledjob.ConditionPaused, Status: metav1.ConditionFalse}} // as KEDA's operator creates it
	var told []string
	for _, o := range []scaledjob.PollResult{idle, good, broken, broken, paused, idle} {
		after := o.Conditions(before, 1, noon)
		recorder := events.NewFakeRecorder(10)
		scaledjob.Record(recorder, &manifest.ScaledJob{}, o.Events(before, after))
		close(recorder.Events)
		var all []string
		for e := range recorder.Events {
			all = append(all, e)
		}
		told, before = append(told, strings.Join(all, "; ")), after
	}
	require.Equal(t, []string{
		"Normal ScaledJobReady The ScaledJob is valid, and its triggers can be read",
		"Normal ScaledJobActive Active triggers: 1 of 1; Normal JobsCreated Created 1 Job; Normal ScaledJobRolloutCleanupCompleted Deleted 1 outdated Job",
		"Warning ScalerFailed 1 of 1 triggers could not be read",
		"",
		"Normal ScaledJobReady The ScaledJob is valid, and its triggers can be read; Normal ScaledJobActive Active triggers: 1 of 1; Normal ScaledJobPaused No Job is created or rolled out; finished Jobs are pruned",
		"Normal ScaledJobInactive No trigger is active; Normal ScaledJobUnpaused The ScaledJob is not paused",
	}, told)
}

// Whatever came before, the same result a second time tells nothing but what was
// done, and changes no condition.
func TestEventsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var before []metav1.Condition
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			before = anyPollResult(t).Conditions(before, 1, noon)
		}
		o := anyPollResult(t)
		first := o.Conditions(before, 1, noon)
		second := o.Conditions(first, 1, noon.Add(time.Minute))
		require.Equal(t, first, second)
		for _, e := range o.Events(first, second) {
			require.Equal(t, corev1.EventTypeNormal, e.Type)
			require.Contains(t, []string{scaledjob.ReasonCreated, scaledjob.ReasonRolledOut}, e.Reason)
		}
	})
}

func anyPollResult(t *rapid.T) scaledjob.PollResult {
	o := scaledjob.PollResult{
		Decision: decision(rapid.Bool().Draw(t, "paused"), metrics(rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(t, "failed")...)...),
		Result:   adapter.Result{Created: rapid.Int64Range(0, 3).Draw(t, "created"), Outdated: rapid.IntRange(0, 2).Draw(t, "rolled out")},
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
	before := scaledjob.PollResult{Decision: decision(true, metrics(false)...)}.Conditions(nil, 1, noon)
	o := scaledjob.PollResult{Invalid: errors.New("spec.triggers: none")}
	after := o.Conditions(before, 2, noon)
	require.Equal(t, meta.FindStatusCondition(before, "Paused"), meta.FindStatusCondition(after, "Paused"))
	events := o.Events(before, after)
	require.Len(t, events, 1)
	require.Equal(t, "ScaledJobCheckFailed", events[0].Reason)
}

// A poll whose plan was outdated is decided anew. Until then its conditions stay.
func TestOutdatedPlan(t *testing.T) {
	outdated := fmt.Errorf("delete Jobs: %w", adapter.ErrOutdated)
	stopped := &adapter.CreateError{Created: 2, Wanted: 3, Err: fmt.Errorf("%w: its owner was edited", adapter.ErrOutdated)}
	refused := &adapter.CreateError{Wanted: 3, Err: errors.New("exceeded quota")}
	before := scaledjob.PollResult{Decision: decision(true, metrics(true)...), Applied: refused}.Conditions(nil, 1, noon)
	for _, err := range []error{adapter.ErrOutdated, outdated, stopped, errors.Join(outdated), errors.Join(outdated, stopped)} {
		p := scaledjob.PollResult{Decision: decision(false, metrics(false)...), Result: adapter.Result{Created: 2}, Applied: err}
		require.Equal(t, before, p.Conditions(before, 2, noon.Add(time.Minute)))
		require.Empty(t, p.Conditions(nil, 2, noon))
		require.Len(t, p.Events(nil, nil), 1)
		require.Equal(t, []scaledjob.Event{{Type: "Normal", Reason: scaledjob.ReasonCreated, Message: "Created 2 Jobs"}}, p.Events(before, before))
		p.Invalid = errors.New("spec.triggers: none")
		require.Equal(t, "ScaledJobCheckFailed", p.Conditions(before, 2, noon)[0].Reason)
	}
	for reason, err := range map[string]error{"JobCreateFailed": refused, "JobDeleteFailed": errors.New("delete Job a: forbidden")} {
		joined := errors.Join(outdated, err, stopped)
		c := scaledjob.PollResult{Decision: decision(false, metrics(false)...), Applied: joined}.Conditions(nil, 1, noon)
		require.Equal(t, reason, c[0].Reason)
		require.Equal(t, err.Error(), c[0].Message)
		require.ErrorIs(t, joined, adapter.ErrOutdated, "the argument was changed")
	}
}

// A poll that finds the Jobs of an earlier poll under their names does not report
// them as created.
func TestCreatedOnce(t *testing.T) {
	ctx, client, c := context.Background(), adaptertest.NewCluster(), config(t, read(t, orders))
	poll := func() (scaledjob.PollResult, []scaledjob.Event) {
		jobs, err := adapter.Observe(c.Target, options, nil, nil) // always of before the first poll
		require.NoError(t, err)
		plan := jobs.Plan(c.Target.Owner.UID, metrics(false), noon)
		require.EqualValues(t, 3, plan.Create)
		p := scaledjob.PollResult{Decision: plan.Decision}
		p.Result, p.Applied = jobs.Apply(ctx, client, plan)
		require.NoError(t, p.Applied)
		conditions := p.Conditions(nil, 1, noon)
		return p, p.Events(conditions, conditions)
	}
	first, events := poll()
	require.Equal(t, adapter.Result{Created: 3}, first.Result)
	require.Equal(t, []scaledjob.Event{{Type: "Normal", Reason: scaledjob.ReasonCreated, Message: "Created 3 Jobs"}}, events)
	second, events := poll()
	require.Equal(t, adapter.Result{Existing: 3}, second.Result)
	require.Empty(t, events)
}
