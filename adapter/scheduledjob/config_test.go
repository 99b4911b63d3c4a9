package scheduledjob_test

// What the tests hold:
//
//	claim                                            test
//	defaults                                         TestDefaults
//	other spellings are converted with a warning     TestSpellings
//	every problem is reported at once, with its path TestProblems
//	names and labels are valid, and differ by run    TestNames
//	the fields of a CronJob                          TestCronJobFields
//	the proposal's own text                          TestProposalsText
//	each variable once; the template's stay          TestNewJob
//	the exit code of a failed run                    TestExitCode

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

const minimal = `apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata:
  name: report
  namespace: shop
  uid: 7d2b2f3c-6a55-4a4f-8f50-111111111111
  creationTimestamp: "2026-01-01T00:00:00Z"
spec:
  template:
    spec:
      containers:
        - name: main
          image: example.com/report:1
`

// with adds lines to the spec.
func with(lines string) string { return strings.Replace(minimal, "spec:\n", "spec:\n"+lines, 1) }

// container replaces the only container.
func container(text string) string {
	return strings.Replace(minimal, "name: main\n          image: example.com/report:1\n", text, 1)
}

func read(t require.TestingT, text string) *scheduledjob.ScheduledJob {
	found, err := scheduledjob.Read([]byte(text))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func repeating(t *testing.T, text, zone string) schedule.Schedule {
	location, err := time.LoadLocation(zone)
	require.NoError(t, err)
	i, err := interval.Parse(text)
	require.NoError(t, err)
	return schedule.ISO8601(i, location)
}

func TestDefaults(t *testing.T) {
	s := read(t, minimal)
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	template := s.Spec.Template.DeepCopy()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	require.Equal(t, scheduledjob.Config{
		Namespace: "shop", Name: "report",
		Policy: schedule.Policy{
			UID: "7d2b2f3c-6a55-4a4f-8f50-111111111111", Created: c.Policy.Created,
			SkipOutdated: true, Concurrency: schedule.Allow,
			History: history.Policy{Succeeded: history.Keep(100), Failed: history.Keep(100)},
		},
		PodCount: 1, MaxRestart: 1, Template: template,
	}, c)
	require.True(t, c.Policy.Created.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Empty(t, s.Spec.Template.Spec.RestartPolicy, "the template was changed")
	c.Template.Spec.Containers[0].Image = "x"
	require.Equal(t, "example.com/report:1", s.Spec.Template.Spec.Containers[0].Image, "memory is shared")
}

func TestEveryField(t *testing.T) {
	c, err := read(t, with(`  schedule: {timeSpec: R/2026-03-01T02:00:00Z/P1D, timeZone: Europe/Berlin, skipOutdated: false, blockOnFailure: true}
  allowConcurrentRun: false
  maxRestart: 0
  execTimeout: 90
  podCount: 7
  historyLimit: 0
  after: [{job: a}, {job: b, outcome: failed}, {job: b, outcome: any}]
`)).Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.Equal(t, repeating(t, "R/2026-03-01T02:00:00Z/P1D", "Europe/Berlin"), c.Policy.Schedule)
	require.Equal(t, [3]bool{false, true, false}, [3]bool{c.Policy.SkipOutdated, c.Policy.BlockOnFailure, c.Policy.Concurrency == schedule.Allow})
	require.Equal(t, [3]int64{0, 90, 7}, [3]int64{int64(c.MaxRestart), c.ExecTimeout, int64(c.PodCount)})
	require.Equal(t, history.Policy{Succeeded: history.Keep(0), Failed: history.Keep(0)}, c.Policy.History)
	require.Equal(t, []schedule.Dependency{
		{Job: "a", Outcome: schedule.Succeeded}, {Job: "b", Outcome: schedule.Failed}, {Job: "b", Outcome: schedule.Any},
	}, c.Policy.After)
	require.NoError(t, c.Policy.Validate())
	require.Empty(t, c.Warnings)
}

// Other spellings are converted with a warning, also beside the field with the same value. Two
// values are an error.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct{ one, other, differs, problem string }{
		{"  schedule: {timeSpec: R3//PT1S}", "  scheduleSpec: {timeSpec: R3//PT1S}", "  scheduleSpec: {timeSpec: R4//PT1S}", "spec.scheduleSpec: found another value than in schedule"},
		{"  schedule: {timeSpec: R//PT1H, blockOnFailure: true}", "  scheduleSpec: {timeSpec: R//PT1H, suspendOnFailure: true}", "  scheduleSpec: {timeSpec: R//PT1H, suspendOnFailure: false}", "spec.scheduleSpec: found another value than in schedule"},
		{"  allowConcurrentRun: false", "  allowConcurrent: false", "  allowConcurrent: true", "spec.allowConcurrent: found another value than in allowConcurrentRun"},
		{"  podCount: 3", "  PodCount: 3", "  PodCount: 4", "spec.PodCount: found another value than in podCount; use only one of the two"},
	} {
		t.Run(tt.other, func(t *testing.T) {
			one, err := read(t, with(tt.one+"\n")).Config(scheduledjob.Inputs{})
			require.NoError(t, err)
			require.Empty(t, one.Warnings)
			for _, text := range []string{tt.other, tt.one + "\n" + tt.other} {
				other, err := read(t, with(text+"\n")).Config(scheduledjob.Inputs{})
				require.NoError(t, err)
				require.NotEmpty(t, other.Warnings)
				require.Contains(t, other.Warnings[0].Error(), "found another spelling")
				other.Warnings = nil
				require.Equal(t, one, other)
			}
			_, err = scheduledjob.Read([]byte(with(tt.one + "\n" + tt.differs + "\n")))
			require.ErrorContains(t, err, tt.problem)
		})
	}
	_, err := scheduledjob.Read([]byte(with("  schedule: {blockOnFailure: true, suspendOnFailure: false}\n")))
	require.ErrorContains(t, err, "spec.schedule.suspendOnFailure: found another value than in blockOnFailure")
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing at all", "apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\n", []string{
			"metadata.name: found nothing; use a name",
			"spec.template: found nothing; use a pod template, or a templateRef"}},
		{"numbers", with("  maxRestart: -1\n  execTimeout: 0\n  podCount: 0\n  historyLimit: -2\n"), []string{
			"spec.podCount: found 0; use 1 to 100000",
			"spec.maxRestart: found -1; use 0 to 2147483647",
			"spec.execTimeout: found 0; use 1 to 2147483647",
			"spec.historyLimit: found -2; use 0 to 1000"}},
		{"too many pods", with("  PodCount: 100001\n"), []string{"spec.podCount: found 100001; use 1 to 100000"}},
		{"time spec", with("  schedule: {timeSpec: R5/T01:00:00/PT01, timeZone: CET/Berlin}\n"), []string{
			`spec.schedule.timeSpec: found "R5/T01:00:00/PT01", whose byte 15 is "01"; use a unit behind the number: H, M or S`,
			`spec.schedule.timeZone: found "CET/Berlin"; use the name of a time zone, such as "Europe/Berlin"`}},
		{"the machine's zone", with("  scheduleSpec: {timeZone: Local}\n"), []string{
			`spec.schedule.timeZone: found "Local"; use the name of a time zone, such as "Europe/Berlin"`}},
		{"after", with("  after: [{outcome: done}, {job: report}, {job: a}, {job: a, outcome: succeeded}]\n"), []string{
			"spec.after[0].job: found nothing; use the name of another ScheduledJob",
			`spec.after[0].outcome: found "done"; use succeeded, failed or any`,
			`spec.after[1].job: found "report"; use another ScheduledJob, because each run would request the next`,
			"spec.after[3]: found a succeeded once more; use each dependency once"}},
		{"many dependencies", with("  after: [" + strings.Repeat("{job: a, outcome: failed}, ", 101) + "]\n"), []string{
			"spec.after: found 101; use at most 100 dependencies"}},
		{"two templates", with("  templateRef: {name: a}\n"), []string{
			"spec.templateRef: found one, and spec.template; use only one of the two"}},
		{"a reference", strings.Split(minimal, "  template:")[0] + "  templateRef: {apiVersion: apps/v1, kind: Deployment, namespace: other}\n", []string{
			`spec.templateRef.apiVersion: found "apps/v1"; use v1`,
			`spec.templateRef.kind: found "Deployment"; use PodTemplate`,
			`spec.templateRef.namespace: found "other"; use shop`,
			"spec.templateRef.name: found nothing; use the name of a PodTemplate"}},
		{"two deadlines", strings.Replace(with("  execTimeout: 5\n"), "    spec:\n", "    spec:\n      activeDeadlineSeconds: 6\n", 1), []string{
			"spec.template.spec.activeDeadlineSeconds: found 6; use 5, the value of spec.execTimeout, or only one of the two"}},
		{"a deadline", strings.Replace(minimal, "    spec:\n", "    spec:\n      activeDeadlineSeconds: 0\n", 1), []string{
			"spec.template.spec.activeDeadlineSeconds: found 0; use 1 to 2147483647"}},
		{"for ever", strings.Replace(minimal, "    spec:\n", "    spec:\n      restartPolicy: Always\n", 1), []string{
			`spec.template.spec.restartPolicy: found "Always"; use Never, because a run must end`}},
		{"no container", strings.Replace(minimal, "containers:", "volumes: []\n      initContainers:", 1), []string{
			"spec.template.spec.containers: found none; use at least one container"}},
		{"metadata", strings.Replace(minimal, "    spec:\n", "    metadata: {labels: {a/b/c: x, jobTag: w, job-name: z, long: '"+strings.Repeat("a", 64)+"'}, annotations: {a b: c}}\n    spec:\n", 1), []string{
			`spec.template.metadata.labels: found "a/b/c"; use `,
			`spec.template.metadata.labels: found "` + strings.Repeat("a", 64) + `"; use another value: must be no more than 63`,
			`spec.template.metadata.labels[jobTag]: found "w"; use no such label; each run sets it`,
			`spec.template.metadata.labels[job-name]: found "z"; use no such label`,
			`spec.template.metadata.annotations: found "a b"; use `}},
		{"container", container(`name: Main
          env: [{name: a=b, value: c}]
          ports: [{containerPort: 0}]
          volumeMounts: [{name: data, mountPath: /data}]
        - image: x
        - {name: same, image: x}
        - {name: same, image: x}
      ephemeralContainers: [{name: debug, image: x}]
      volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]
`), []string{
			`spec.template.spec.containers[0].name: found "Main"; use another name: a lowercase RFC 1123 label`,
			"spec.template.spec.containers[0].image: found nothing; use an image",
			`spec.template.spec.containers[0].env[0].name: found "a=b"; use `,
			"spec.template.spec.containers[0].ports[0].containerPort: found 0; use 1 to 65535",
			`spec.template.spec.containers[0].volumeMounts[0].name: found "data"; use the name of a volume of the pod`,
			"spec.template.spec.containers[1].name: found nothing; use a name",
			`spec.template.spec.containers[3].name: found "same" once more; use each name once`,
			"spec.template.spec.ephemeralContainers: found some; use none in a template",
			`spec.template.spec.volumes[1].name: found "v" once more; use each name once`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, tt.text)
			before := written(t, s)
			_, err := s.Config(scheduledjob.Inputs{})
			require.Error(t, err)
			require.Equal(t, before, written(t, s), "the spec was changed")
			for _, f := range field.All(err) {
				require.NotEmpty(t, f.Path)
				require.NotEmpty(t, f.Fix)
			}
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			require.Len(t, field.All(err), len(tt.want))
		})
	}
}

// The template is the PodTemplate's as soon as it is known, and checked then.
func TestTemplateRef(t *testing.T) {
	s := read(t, strings.Split(minimal, "  template:")[0]+"  templateRef: {apiVersion: v1, kind: PodTemplate, namespace: shop, name: shared}\n")
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.Nil(t, c.Template)
	require.Equal(t, "shared", c.TemplateRef)

	shared := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	_, err = s.Config(scheduledjob.Inputs{PodTemplate: shared})
	require.EqualError(t, err, "spec.templateRef(shared).template.spec.containers: found none; use at least one container")
	shared.Template = *read(t, minimal).Spec.Template
	c, err = s.Config(scheduledjob.Inputs{PodTemplate: shared})
	require.NoError(t, err)
	require.Equal(t, shared.Template.Spec.Containers, c.Template.Spec.Containers)
	c.Template.Spec.Containers[0].Image = "x"
	require.Equal(t, "example.com/report:1", shared.Template.Spec.Containers[0].Image, "memory is shared")
}

// The template's own deadline is as good as execTimeout.
func TestDeadline(t *testing.T) {
	c, err := read(t, strings.Replace(minimal, "    spec:\n", "    spec:\n      activeDeadlineSeconds: 6\n", 1)).Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.EqualValues(t, 6, c.ExecTimeout)
}

func written(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// A schedule without a time after the creation is valid, and a warning says that no run will
// be due.
func TestNeverDue(t *testing.T) {
	daily := func(text string, zone *time.Location) (schedule.Schedule, error) {
		return schedule.FromNext(text, text, nil, func(after time.Time) time.Time { return after.In(zone).AddDate(0, 0, 1) }), nil
	}
	_, err := read(t, minimal+"  schedule: {cron: 0 6 * * *, timeZone: Atlantis}\n").Config(scheduledjob.Inputs{Cron: daily})
	require.EqualError(t, err, `spec.schedule.timeZone: found "Atlantis"; use the name of a time zone, such as "Europe/Berlin"`)
	never := func(string, *time.Location) (schedule.Schedule, error) {
		return schedule.FromNext("0 0 31 2 *", "0 0 31 2 *", nil, func(time.Time) time.Time { return time.Time{} }), nil
	}
	monthly := func(text string, zone *time.Location) (schedule.Schedule, error) {
		return schedule.FromNext(text, text, zone, func(after time.Time) time.Time {
			return time.Date(after.Year(), after.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		}), nil
	}
	unapplied := read(t, minimal+"  schedule: {cron: 0 0 1 * *}\n")
	unapplied.CreationTimestamp = metav1.Time{}
	c, err := unapplied.Config(scheduledjob.Inputs{Cron: monthly})
	require.NoError(t, err)
	require.Empty(t, c.Warnings, "a file has no time of creation")
	for text, want := range map[string]string{
		"timeSpec: R//PT1H": "", "timeSpec: R1/2026-01-01T00:00Z/PT1H": "", "timeSpec: R0//PT1H": "spec.schedule.timeSpec",
		"timeSpec: R2/2025-12-31T22:59:59Z/PT1H": "spec.schedule.timeSpec", "cron: 0 0 31 2 *": "spec.schedule.cron", "jitterSeconds: 0": "",
	} {
		c, err := read(t, minimal+"  schedule: {"+text+"}\n").Config(scheduledjob.Inputs{Cron: never})
		require.NoError(t, err)
		require.Len(t, c.Warnings, min(1, len(want)), text)
		if want != "" {
			require.Equal(t, want, c.Warnings[0].Path)
			require.ErrorContains(t, c.Warnings[0], "no run will be due")
		}
	}
}
