package scheduledjob_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
)

func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"another kind", "kind: CronJob\n---\nkind: Secret\n---\na: b\n", []string{"no ScheduledJob: found a CronJob, a Secret, an object without a kind", "kind: found CronJob; use ScheduledJob"}},
		{"another version", "apiVersion: v1beta3\nkind: ScheduledJob\n", []string{"apiVersion: found \"v1beta3\"; use scaledjob.github.io/v1alpha1"}},
		{"unknown fields, all at once", with("  timeSpec: R//PT1S\n  backoffLimit: 3\n  jobs: 1\n  schedule: {suspend: true}\n"), []string{
			"spec.timeSpec: found an unknown field; use spec.schedule.timeSpec",
			"spec.backoffLimit: found an unknown field; use spec.maxRestart",
			"spec.jobs: found an unknown field; use a field that a ScheduledJob has",
			"spec.schedule.suspend: found an unknown field; use spec.suspend",
		}},
		{"a boolean without quotes", with("  selector: {a: y}\n"), []string{"spec.selector.a: found true, which YAML reads as a boolean; use a string in quotes: \"true\""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := scheduledjob.Read([]byte(tt.text))
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestDeepCopyOfNoJSON(t *testing.T) {
	s := read(t, minimal)
	s.Status.Begin = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Panics(t, func() { s.DeepCopyObject() })
}

// No text makes reading panic, and what was read and written is read again as it was.
func FuzzRead(f *testing.F) {
	f.Add(minimal)
	f.Add(with("  schedule: {timeSpec: R2//PT1H}\n  after: [{job: a}]\n"))
	f.Add(`{"kind": "ScheduledJob", "apiVersion": "scaledjob.github.io/v1alpha1", "spec": null}`)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := scheduledjob.Read([]byte(text))
		if err != nil {
			return
		}
		for _, s := range found {
			_, _ = s.Config(scheduledjob.Inputs{})
			text := written(t, s)
			require.Equal(t, text, written(t, read(t, text)))
			require.Equal(t, text, written(t, s.DeepCopyObject()))
		}
	})
}
