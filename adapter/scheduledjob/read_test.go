package scheduledjob_test

import (
	"strings"
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
		{"empty", "", []string{"no ScheduledJob: the text is empty"}},
		{"not YAML", "a: b: c", []string{"not YAML: "}},
		{"a list", "- a", []string{"no ScheduledJob: found an object without a kind"}},
		{"another kind", "kind: CronJob\n---\nkind: Secret\n---\na: b\n", []string{"no ScheduledJob: found a CronJob, a Secret, an object without a kind", "kind: found CronJob; use ScheduledJob"}},
		{"another version", "apiVersion: v1beta3\nkind: ScheduledJob\n", []string{"apiVersion: found \"v1beta3\"; use scaledjob.github.io/v1alpha1"}},
		{"unknown fields, all at once", with("  timeSpec: R//PT1S\n  backoffLimit: 3\n  jobs: 1\n  schedule: {suspend: true}\n"), []string{
			"spec.timeSpec: found an unknown field; use spec.schedule.timeSpec",
			"spec.backoffLimit: found an unknown field; use spec.maxRestart",
			"spec.jobs: found an unknown field; use a field that a ScheduledJob has",
			"spec.schedule.suspend: found an unknown field; use spec.suspend",
		}},
		{"within the template", strings.Replace(minimal, "image:", "imagePullPolice: Always\n          image:", 1),
			[]string{"spec.template.spec.containers[0].imagePullPolice: found an unknown field"}},
		{"a field in capitals", with("  MaxRestart: 1\n"), []string{"spec.MaxRestart: found an unknown field"}},
		{"another type", with("  maxRestart: many\n"), []string{"spec.maxRestart: found \"many\"; use a whole number"}},
		{"a boolean without quotes", with("  selector: {a: y}\n"), []string{"spec.selector.a: found true, which YAML reads as a boolean; use a string in quotes: \"true\""}},
		{"twice the same key", with("  maxRestart: 1\n  maxRestart: 2\n"), []string{`key "maxRestart" already set`}},
		{"several documents", with("  jobs: 1\n") + "---\n" + with("  runs: 1\n"), []string{"spec.jobs: found", "spec.runs: found"}},
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

func TestSeveralDocuments(t *testing.T) {
	found, err := scheduledjob.Read([]byte("kind: Secret\n---\n" + minimal + "---\n---\n" + strings.Replace(minimal, "name: report", "name: second", 1)))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "second", found[1].Name)
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
