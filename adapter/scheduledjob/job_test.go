package scheduledjob_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/test/premise"
)

// The Job of a run of testdata/report.yaml is the one in testdata/report-job.yaml.
func TestNewJob(t *testing.T) {
	data, err := os.ReadFile("testdata/report.yaml")
	require.NoError(t, err)
	s := read(t, string(data))
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	d := schedule.Decide(c.Policy, schedule.Observation{JobsKnown: true, Now: s.CreationTimestamp.Add(time.Hour)}, schedule.Checkpoint{})
	require.Len(t, d.Start, 1)
	data, err = os.ReadFile("testdata/report-job.yaml")
	require.NoError(t, err)
	want := &batchv1.Job{}
	require.NoError(t, yaml.UnmarshalStrict(data, want))
	got := c.NewJob(s.Owner(), d.Start[0])
	got.APIVersion, got.Kind = "batch/v1", "Job"
	require.Equal(t, want, got)
}

// The occurrence of a run is written in the zone of its schedule, with the delay beside it.
func TestDueAt(t *testing.T) {
	s := read(t, minimal+"  schedule: {timeSpec: R/T00:00/P1D, timeZone: Europe/Berlin, jitterSeconds: 1800}\n")
	s.UID = "u"
	s.CreationTimestamp = metav1.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	d := schedule.Decide(c.Policy, schedule.Observation{JobsKnown: true, Now: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}, schedule.Checkpoint{})
	j := c.NewJob(s.Owner(), d.Start[0])
	require.Equal(t, "2026-07-01T00:00:00+02:00", j.Annotations[scheduledjob.AnnotationDue])
	delay, err := time.ParseDuration(j.Annotations[scheduledjob.AnnotationDelay])
	require.NoError(t, err)
	require.Positive(t, delay)
	require.Less(t, delay, 30*time.Minute)
	env := map[string]string{}
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	require.Equal(t, "2026-07-01T00:00:00+02:00", env[scheduledjob.EnvDue])
	require.Equal(t, delay.String(), env[scheduledjob.EnvDelay])
	status := scheduledjob.StatusOf(d)
	require.Equal(t, "2026-07-02T00:00:00+02:00", status.NextScheduleTime)
	requested := c.NewJob(s.Owner(), schedule.Run{Tag: "asked", OnDemand: true, Due: s.CreationTimestamp.Time})
	require.NotContains(t, requested.Annotations, scheduledjob.AnnotationDue)
}

// The owner is the controller, whatever the reference says: Observe would not find the Job.
func TestControllerReference(t *testing.T) {
	s := read(t, minimal)
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	for _, is := range []*bool{nil, new(false), new(true)} {
		owner := s.Owner()
		owner.Controller = is
		j := c.NewJob(owner, schedule.Run{Tag: "a"})
		require.Equal(t, []metav1.OwnerReference{s.Owner()}, j.OwnerReferences)
		require.Equal(t, is, owner.Controller, "the argument is as before")
		require.True(t, s.Owns(j))
	}
}

// Whatever is changed in one Job, the Config and the other Jobs are as before.
func TestJobsShareNoMemory(t *testing.T) {
	s := read(t, minimal)
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	want, owner := *c.Template.DeepCopy(), s.Owner()
	first, second := c.NewJob(owner, schedule.Run{Tag: "a"}), c.NewJob(owner, schedule.Run{Tag: "b"})
	untouched := second.DeepCopy()
	first.Labels["a"], first.Spec.Template.Labels["a"] = "x", "x"
	*first.OwnerReferences[0].Controller = false
	first.Spec.Template.Spec.Containers[0].Env[0].Value = "x"
	*first.Spec.Completions = 9
	require.Equal(t, want, *c.Template)
	require.Equal(t, untouched, second)
	require.True(t, *owner.Controller)
}

func TestLongName(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 253), strings.Repeat("a", 62) + ".b"} {
		j := (&scheduledjob.Config{Name: name}).NewJob(metav1.OwnerReference{}, schedule.Run{Tag: "20260101t010000-8e8ff43e"})
		require.Empty(t, validation.IsValidLabelValue(j.Labels[scheduledjob.LabelName]))
		require.Equal(t, adapter.JobName(name, "20260101t010000-8e8ff43e"), j.Name)
	}
}

func TestWithoutTemplate(t *testing.T) {
	require.Empty(t, (&scheduledjob.Config{}).NewJob(metav1.OwnerReference{}, schedule.Run{}).Spec.Template.Spec.Containers)
}

// Names and labels are valid for any ScheduledJob, whatever its runs are asked for by;
// so is the host name of the last pod. They differ by ScheduledJob and run.
func propNames(t *rapid.T) {
	name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?){0,2}`).Draw(t, "name")
	created := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "created"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds"))
	seen := schedule.Observation{Now: created.Add(time.Hour), JobsKnown: true, Requests: []schedule.Request{{ID: rapid.StringN(1, -1, -1).Draw(t, "request")}}}
	hourly, err := interval.Parse("R//PT1H")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, uid := range []string{"1", "2"} {
		c := scheduledjob.Config{Name: name, PodCount: scheduledjob.MaxPodCount}
		c.Policy = schedule.Policy{UID: uid, Created: created, Schedule: schedule.ISO8601(hourly, nil), Concurrency: schedule.Allow}
		for _, r := range schedule.Decide(c.Policy, seen, schedule.Checkpoint{}).Start {
			j := c.NewJob(metav1.OwnerReference{}, r)
			names[j.Name] = true
			problems := slices.Concat(validation.IsDNS1123Label(j.Name+"-99999"),
				validation.IsValidLabelValue(j.Labels[scheduledjob.LabelName]), validation.IsValidLabelValue(j.Labels[scheduledjob.LabelTag]))
			if len(problems) > 0 || len(j.Name) > 63 || j.Labels[scheduledjob.LabelTag] != r.Tag {
				t.Fatalf("%s, %v: %v", j.Name, j.Labels, problems)
			}
		}
	}
	if len(names) != 6 {
		t.Fatalf("two ScheduledJobs with two scheduled runs and one on demand have the Jobs %v", names)
	}
}

func TestNames(t *testing.T) { rapid.Check(t, propNames) }
func FuzzNames(f *testing.F) { premise.Seeded(f, propNames) }
