package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// One cluster serves all; each has a namespace of its own, and a controller that
// acts there only.
func TestScheduled(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	t.Run("lists", s.lists)
	tests := []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"nothing is accepted that is wrong", (*fixture).refuses},
		{"everything is accepted that is right", (*fixture).accepts},
		{"the proposal's example", (*fixture).proposal},
		{"every two seconds", (*fixture).repeats},
		{"restarts", (*fixture).restarts},
		{"a run is cut", (*fixture).cuts},
		{"history", (*fixture).forgets},
		{"after others", (*fixture).follows},
		{"a PodTemplate", (*fixture).refers},
		{"a Job that is refused", (*fixture).refusedJob},
		{"killed anywhere", (*fixture).killedAnywhere},
		{"unanswered", (*fixture).unanswered},
		{"denied", (*fixture).denied},
		{"ended early", (*fixture).endedEarly},
		{"uninstalled", (*fixture).uninstalled},
		{"printed", (*fixture).printed},
		{"made anew", (*fixture).replaced},
		{"a lost status", (*fixture).adopts},
		{"two controllers", (*fixture).together},
		{"at rest", (*fixture).rests},
		{"leader election", (*fixture).elects},
		{"the sample", (*fixture).sample},
	}
	t.Run("all", func(t *testing.T) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				test.run(s, t)
			})
		}
	})
	t.Run("permissions", s.permissions)
	t.Run("no secret is told", func(t *testing.T) { secret.AbsentFromObjects(t, s.cluster.Config()) })
}

// The controller needs each of its permissions, and no others.
func (s *fixture) permissions(t *testing.T) {
	permissions.Exact(t, s.cluster.Requests(t), account, installed(t), "delete pods")
}

// Where an API server cannot begin a watch with the objects that there are, they are listed.
func (s *fixture) lists(t *testing.T) {
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	j, p := s.scheduled(t, "lists", pod(nil))
	j.request("now")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Equal(t, schedule.Completed, j.answer(t, "now").Status) })
	p.Stop()
}

// install needs rights that the controller does not.
func (s *fixture) install(t *testing.T) {
	p := s.start(t)
	require.Error(t, p.Wait())
	require.Contains(t, p.Output(), "no scheduledjobs.scaledjob.github.io")
	for _, want := range []string{"installed", "left alone"} {
		p := s.start(t, "-kubeconfig", s.cluster.Kubeconfig(), "-install", "-namespace", "none")
		p.Said("acting")
		require.Equal(t, 2, strings.Count(p.Output(), want), p.Output())
		p.Stop()
	}
}

// grace is the grace period of pods in seconds. Nothing hangs for longer than it and 30 s.
const (
	grace = 2
	bound = (grace + 30) * time.Second
)

// pod is a template of pods that do what the annotations say.
func pod(annotations map[string]string) string {
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		lines = append(lines, fmt.Sprintf("%s: %q", k, annotations[k]))
	}
	return fmt.Sprintf("  template:\n    metadata: {annotations: {%s}}\n    spec: {terminationGracePeriodSeconds: %d, containers: [{name: c, image: example.com/c:1}]}\n", strings.Join(lines, ", "), grace)
}

// Three runs of three pods, each at its instant, and no more.
func (s *fixture) repeats(t *testing.T) {
	j, p := s.scheduled(t, "repeats", `  schedule: {timeSpec: R3//PT2S, skipOutdated: false}
  podCount: 3
  template:
    spec:
      initContainers: [{name: i, image: example.com/i:1}]
      containers: [{name: c, image: example.com/c:1}]
`)
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Len(t, j.status(t).Completed, 3)
		require.Equal(t, []string{"RunSucceeded", "RunSucceeded", "RunSucceeded"}, j.events(t))
	})
	j.stays(5*time.Second, func(t require.TestingT) { require.Len(t, j.jobs(t), 3) })
	status, owner := j.status(t), j.get(t, "job")
	require.Equal(t, [4]int64{3, 3, 0, 0}, [4]int64{status.Due, status.Started, status.Missed, status.Dropped})
	environments := map[string][]string{}
	for _, pod := range s.pods.of(j.namespace) {
		environments[pod.tag] = append(environments[pod.tag], pod.environment)
	}
	for k, r := range status.Completed {
		require.Equal(t, owner.CreationTimestamp.Add(time.Duration(2*k)*time.Second).UTC(), r.Due)
		require.True(t, r.Success)
		require.ElementsMatch(t, []string{"0/3, 0/3", "1/3, 1/3", "2/3, 2/3"}, environments[r.Tag])
		t.Logf("run %d started %v after its instant", k, r.Started.Sub(r.Due))
	}
	for _, job := range j.jobs(t) {
		require.Equal(t, owner.UID, job.OwnerReferences[0].UID)
		require.Equal(t, "job", job.Labels["jobName"])
		require.Equal(t, job.Labels["jobTag"], job.Spec.Template.Labels["jobTag"])
		require.Equal(t, "job-"+job.Labels["jobTag"], job.Name)
	}
	p.Stop()
}

// failedPods are the pods of the namespace that have failed, with their reasons.
func (j *job) failedPods(t require.TestingT) (reasons []string) {
	l, err := j.client.CoreV1().Pods(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range l.Items {
		if p.Status.Phase == corev1.PodFailed {
			reasons = append(reasons, p.Status.Reason)
		}
	}
	return reasons
}

// A failing pod is started maxRestart times more, and then the run has failed, with
// its exit code.
func (s *fixture) restarts(t *testing.T) {
	j, _ := s.scheduled(t, "restarts", "  maxRestart: 2\n"+pod(map[string]string{exits: "7"}))
	uid := j.request("now")
	j.becomes(120*time.Second, func(t *assert.CollectT) {
		require.Len(t, j.status(t).Completed, 1)
		require.Equal(t, []string{"RunFailed"}, j.events(t))
		require.Equal(t, schedule.Completed, j.answer(t, "now").Status)
	})
	r := j.status(t).Completed[0]
	require.Equal(t, r, j.answer(t, "now"))
	require.Equal(t, uid, r.Request)
	require.False(t, r.Success)
	require.EqualValues(t, 7, r.ExitCode)
	j.stays(5*time.Second, func(t require.TestingT) { require.Len(t, j.failedPods(t), 3) })
	require.Len(t, s.pods.of(j.namespace), 3)
}

// A pod that is active for longer than execTimeout is ended, which uses up a restart.
func (s *fixture) cuts(t *testing.T) {
	j, _ := s.scheduled(t, "cuts", "  execTimeout: 1\n  maxRestart: 1\n"+pod(map[string]string{works: "1h"}))
	j.request("now")
	j.becomes(120*time.Second, func(t *assert.CollectT) { require.Len(t, j.status(t).Completed, 1) })
	r := j.status(t).Completed[0]
	require.False(t, r.Success)
	require.EqualValues(t, 137, r.ExitCode)
	require.Less(t, r.Completed.Sub(r.Started), time.Minute)
	require.Equal(t, []string{"DeadlineExceeded", "DeadlineExceeded"}, j.failedPods(t))
}

// Of each outcome the history keeps the newest, and nothing else is left: no Job, no
// pod, no RunRequest.
func (s *fixture) forgets(t *testing.T) {
	j, _ := s.scheduled(t, "forgets", "  schedule: {timeSpec: R4//PT1S, skipOutdated: false}\n  historyLimit: 2\n  maxRestart: 0\n"+pod(map[string]string{exitsScheduled: "3"}), "-request-ttl=0s")
	for i := range 3 {
		j.request(fmt.Sprintf("now-%d", i))
		j.becomes(60*time.Second, func(t *assert.CollectT) { require.NotEmpty(t, j.answer(t, fmt.Sprintf("now-%d", i)).Tag) })
		time.Sleep(time.Second) // so that they differ in when they were asked for
	}
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		status := j.status(t)
		require.EqualValues(t, 4, status.Started)
		require.Empty(t, slices.Concat(status.Running, status.Pending))
		require.Empty(t, status.PendingDeletion)
		require.Len(t, status.Completed, 4)
		require.Len(t, j.jobs(t), 4)
		pods, err := j.client.CoreV1().Pods(j.namespace).List(j.t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, pods.Items, 4)
		require.Equal(t, []string{"now-1", "now-2"}, j.requests(t))
	})
	var succeeded []bool
	for _, r := range j.status(t).Completed {
		succeeded = append(succeeded, r.Success)
	}
	require.ElementsMatch(t, []bool{true, true, false, false}, succeeded)
	require.Equal(t, 7, j.created())
}

// requests are the names of the RunRequests that there are.
func (j *job) requests(t require.TestingT) (names []string) {
	l, err := j.dynamic.Resource(runRequests).Namespace(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, u := range l.Items {
		names = append(names, u.GetName())
	}
	return names
}

// Each completed run asks for one of those that come after it, although its own
// history keeps none.
func (s *fixture) follows(t *testing.T) {
	j, _ := s.scheduled(t, "follows", "  historyLimit: 0\n  maxRestart: 0\n"+pod(nil))
	j.apply("next", "  after: [{job: job}]\n"+pod(nil))
	j.apply("alarm", "  after: [{job: job, outcome: failed}]\n"+pod(nil))
	j.apply("last", "  after: [{job: next, outcome: any}, {job: alarm, outcome: any}]\n"+pod(nil))
	runs := func(t require.TestingT) [4]int {
		return [4]int{len(j.status(t).Requested), len(j.get(t, "next").Status.Completed), len(j.get(t, "alarm").Status.Completed), len(j.get(t, "last").Status.Completed)}
	}
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		for _, name := range []string{"next", "alarm", "last"} {
			require.NotEmpty(t, j.get(t, name).Status.After)
		}
	})
	j.request("good")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Equal(t, [4]int{1, 1, 0, 1}, runs(t)) })
	j.apply("job", "  historyLimit: 0\n  maxRestart: 0\n"+pod(map[string]string{exits: "1"}))
	j.request("bad")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Equal(t, [4]int{2, 1, 1, 2}, runs(t)) })
	j.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, [4]int{2, 1, 1, 2}, runs(t)) })
	require.Equal(t, j.get(t, "next").Status.Completed[0].Tag, j.get(t, "last").Status.Completed[0].Request)
}

// ready is the condition as "Status Reason: Message".
func (j *job) ready(t require.TestingT, name string) string {
	c := meta.FindStatusCondition(j.get(t, name).Status.Conditions, "Ready")
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (s *fixture) refers(t *testing.T) {
	j, _ := s.scheduled(t, "refers", "  templateRef: {name: shared}\n")
	j.request("now")
	j.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Contains(t, j.ready(t, "job"), `spec.templateRef.name: found "shared"`)
	})
	require.Empty(t, j.jobs(t))
	s.apply(t, "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: shared, namespace: refers}\n"+
		"template: {spec: {restartPolicy: Never, dnsPolicy: ClusterFirst, containers: [{name: c, image: example.com/shared:1}]}}")
	j.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Len(t, j.status(t).Completed, 1)
		require.Contains(t, j.ready(t, "job"), "True Valid")
	})
	require.Equal(t, "example.com/shared:1", j.jobs(t)[0].Spec.Template.Spec.Containers[0].Image)
}

// What only the API server finds wrong is told when the run starts, which it does as
// soon as the template is right. The value of an environment variable is not told.
func (s *fixture) refusedJob(t *testing.T) {
	wrong := "  template: {spec: {containers: [{name: c, image: example.com/c:1, env: [{name: TOKEN, value: " + secret.New("token") + "}], resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}\n"
	j, p := s.scheduled(t, "refused", wrong, "-log-level=debug", "-metrics-bind-address=127.0.0.1:0")
	j.request("now")
	j.becomes(30*time.Second, func(t *assert.CollectT) { require.Contains(t, j.events(t), "CreateRejected") })
	require.Empty(t, j.jobs(t))
	j.apply("job", strings.Replace(wrong, "cpu: 2", "cpu: 1", 1))
	j.becomes(30*time.Second, func(t *assert.CollectT) { require.True(t, j.answer(t, "now").Success) })
	_, metrics := p.Get("/metrics")
	require.Contains(t, metrics, `namespace="refused"`)
	secret.Absent(t, "metrics", metrics)
}

// A ScheduledJob that is made anew under its name starts anew: Jobs and requests of
// the old one are not its own.
func (s *fixture) replaced(t *testing.T) {
	j, _ := s.scheduled(t, "replaced", "  schedule: {timeSpec: R1//PT1S}\n"+pod(map[string]string{works: "1h"}))
	old := j.request("now")
	j.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, j.status(t).Running, 2) })
	j.delete(scheduledJobs, "job")
	j.apply("job", "  schedule: {timeSpec: R1//PT1S}\n"+pod(map[string]string{works: "1h"}))
	j.becomes(bound, func(t *assert.CollectT) {
		require.Len(t, j.status(t).Running, 1)
		require.Len(t, j.jobs(t), 1)
		require.Empty(t, j.requests(t))
	})
	require.NotEqual(t, old, j.status(t).Running[0].Request)
	require.EqualValues(t, 1, j.status(t).Started)
}

func isJob(r *http.Request, method string) bool {
	return r.Method == method && strings.Contains(r.URL.Path, "/jobs")
}

func isStatus(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/status")
}

// A status that somebody has emptied is made anew from the Jobs, at the resync.
func (s *fixture) adopts(t *testing.T) {
	j, _ := s.scheduled(t, "adopts", "  schedule: {timeSpec: R3//PT1S, skipOutdated: false}\n"+pod(map[string]string{works: "1s"}), "-resync=1s")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Len(t, j.status(t).Completed, 3) })
	tags := func() (all []string) {
		for _, r := range j.status(t).Completed {
			all = append(all, r.Tag)
		}
		return all
	}
	before := tags()
	j.patch(`{"status": null}`, "status")
	j.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, j.status(t).Completed, 3) })
	require.ElementsMatch(t, before, tags())
	require.EqualValues(t, 3, j.status(t).Due)
	require.EqualValues(t, 3, j.status(t).Started)
	require.Equal(t, 3, j.created())
}

// Two controllers, as while one is replaced by another, start every run once, and
// each event is told once.
func (s *fixture) together(t *testing.T) {
	j, p := s.scheduled(t, "together", "  schedule: {timeSpec: R10//PT1S, skipOutdated: false}\n  historyLimit: 2\n"+pod(nil), "-resync=300ms")
	j.controller("-resync=300ms")
	for i := range 3 {
		j.request(fmt.Sprintf("now-%d", i))
	}
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.GreaterOrEqual(t, j.status(t).Started, int64(6)) })
	p.Kill()
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.EqualValues(t, 10, j.status(t).Started)
		require.Empty(t, j.status(t).Running)
		require.Len(t, j.jobs(t), 2)
	})
	require.Len(t, s.pods.of(j.namespace), 13)
	require.LessOrEqual(t, j.created(), 13, "that of a process that dies may not be answered")
}

// Of two controllers one acts. The other takes over when the first has stopped, and waits for
// nothing: a run that becomes due meanwhile starts within its deadline, which is shorter than
// the time in which a create of the first may arrive.
func (s *fixture) elects(t *testing.T) {
	j := s.namespace(t, "elects")
	args := []string{"-namespace", j.namespace, "-leader-elect", "-lease-namespace=scheduledjob"}
	first := s.start(t, args...)
	first.Said("acting")
	second := s.start(t, args...)
	j.apply("job", pod(nil))
	j.request("one")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Equal(t, schedule.Completed, j.answer(t, "one").Status) })
	require.NotContains(t, second.Output(), "acting")
	due := time.Now().Add(4 * time.Second).Truncate(time.Second)
	j.apply("timely", "  schedule: {timeSpec: R1/"+due.UTC().Format(time.RFC3339)+"/PT1H}\n  startingDeadlineSeconds: 5\n"+pod(nil))
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.NotEmpty(t, j.get(t, "timely").Status.NextScheduleTime) })
	time.Sleep(time.Until(due.Add(-500 * time.Millisecond)))
	first.Stop()
	second.Said("acting")
	acting := time.Since(due)
	j.request("two")
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Equal(t, schedule.Completed, j.answer(t, "two").Status)
		status := j.get(t, "timely").Status
		require.EqualValues(t, 1, status.Due)
		if acting < 3*time.Second { // not on a machine that is very slow
			require.Len(t, status.Completed, 1)
		}
	})
	t.Logf("the second acts %v after the run was due", acting)
}

// Where nothing is due, nothing is asked of the API server, resyncs included.
func (s *fixture) rests(t *testing.T) {
	j, _ := s.scheduled(t, "rests", "  schedule: {timeSpec: R//P1D}\n"+pod(nil), "-resync=500ms")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Contains(t, j.events(t), "RunSucceeded") })
	count := func() int {
		return s.cluster.Count(t, func(r cluster.Request) bool {
			return r.User == account && r.Namespace == j.namespace && r.Verb != "watch"
		})
	}
	before := count()
	time.Sleep(5 * time.Second)
	require.Equal(t, before, count())
}

func (s *fixture) refuses(t *testing.T) {
	create := func(name, kind, spec string) error {
		u := manifest.Objects(t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: default}\nspec:\n%s", kind, name, spec))[0]
		_, err := manifest.Client(t, s.cluster.Config(), u).
			Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		return err
	}
	require.NoError(t, create("right", "ScheduledJob", "  schedule: {timeSpec: R5/2026-01-31T24:00+02:00/P1M2DT1.5H}\n  after: [{job: a}, {job: a, outcome: failed}, {job: b}]\n"+pod(nil)))
	for field, spec := range map[string]string{
		"exactly one of template and templateRef": "  templateRef: {name: a}\n" + pod(nil),
		"exactly one of":                "  podCount: 1\n",
		"spec.podCount":                 "  podCount: 0\n" + pod(nil),
		"spec.PodCount":                 "  PodCount: 100001\n" + pod(nil),
		"spec.maxRestart":               "  maxRestart: -1\n" + pod(nil),
		"spec.execTimeout":              "  execTimeout: 0\n" + pod(nil),
		"spec.historyLimit":             "  historyLimit: -1\n" + pod(nil),
		"spec.after[0].outcome":         "  after: [{job: a, outcome: done}]\n" + pod(nil),
		"spec.after must name other":    "  after: [{job: wrong}]\n" + pod(nil),
		"each dependency may be named":  "  after: [{job: a}, {job: b}, {job: a, outcome: succeeded}]\n" + pod(nil),
		"spec.after: Too many":          "  after: [" + strings.Repeat("{job: a}, ", 101) + "]\n" + pod(nil),
		"spec.templateRef.kind":         "  templateRef: {name: a, kind: Deployment}\n",
		`unknown field "spec.timeSpec"`: "  timeSpec: R//PT1S\n" + pod(nil),
	} {
		require.ErrorContains(t, create("wrong", "ScheduledJob", spec), field)
	}
	require.Error(t, create("wrong", "ScheduledJob", "  concurrencyPolicy: Forbid\n  allowConcurrentRun: true\n"+pod(nil)))
	for _, schedule := range []string{"timeSpec: R//PT01", "timeSpec: R//P", "timeSpec: R//PT0S", "timeSpec: R//P1DT", "timeSpec: R/T25:00:00/P1D", "timeSpec: daily", "timeSpec: 'R/2026-02-30T02:00:00Z/P1D'", "timeSpec: R//P1.5DT1H", "cron: '0 6 * *'", "timeSpec: R//PT1H, cron: '0 6 * * *'", "timeZone: Local"} {
		require.Error(t, create("wrong", "ScheduledJob", "  schedule: {"+schedule+"}\n"+pod(nil)), schedule)
	}
	require.NoError(t, create("right", "RunRequest", "  job: a\n"))
	require.ErrorContains(t, create("wrong", "RunRequest", "  {}\n"), "spec.job")
}

// The longest names and the greatest numbers make Jobs that the API server takes.
func (s *fixture) accepts(t *testing.T) {
	name := strings.Repeat("a.", 126) + "b"
	u := manifest.Objects(t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\nmetadata: {name: %s, namespace: default}\nspec:\n"+
		"  podCount: 100000\n  maxRestart: 2147483647\n  execTimeout: 2147483647\n  historyLimit: 1000\n%s", name, pod(nil)))[0]
	u, err := manifest.Client(t, s.cluster.Config(), u).
		Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	data, err := u.MarshalJSON()
	require.NoError(t, err)
	found, err := scheduledjob.Read(data)
	require.NoError(t, err)
	config, err := found[0].Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	once, err := interval.Parse("R1/2099-12-31T23:59:59.999999999Z/PT1S")
	require.NoError(t, err)
	config.Policy.Schedule = schedule.ISO8601(once, nil)
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	start := schedule.Decide(config.Policy, schedule.Observation{Now: end, JobsKnown: true, Requests: []schedule.Request{{ID: "a"}}}, schedule.Checkpoint{}).Start
	require.Len(t, start, 2)
	for _, r := range start {
		_, err := s.client.BatchV1().Jobs("default").Create(t.Context(), config.NewJob(found[0].Owner(), r),
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err)
	}
}

// The proposal's own example has a mistake, which the API server refuses. A mistake that no
// pattern finds is reported by the controller.
func (s *fixture) proposal(t *testing.T) {
	j := s.namespace(t, "proposal")
	j.controller()
	text := strings.Replace(manifest.Read(t, "../manifests/proposal.json"), `"name": "my-job",`, `"name": "job", "namespace": "proposal",`, 1)
	text = strings.Replace(text, `"PodCount"`, `"podCount"`, 1) // as scheduledjob.Read does
	own := manifest.Objects(t, strings.ReplaceAll(text, "R5/T01:00:00/PT1H", "R5/T01:00:00/PT01"))[0]
	_, err := manifest.Client(t, s.cluster.Config(), own).Create(t.Context(), own, metav1.CreateOptions{})
	require.ErrorContains(t, err, "spec.schedule.timeSpec")
	s.apply(t, strings.ReplaceAll(text, "R5/T01:00:00/PT1H", "R5/T01:00:00/P10001Y"))
	j.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Contains(t, j.ready(t, "job"), `False Invalid: spec.schedule.timeSpec: found "R5/T01:00:00/P10001Y"`)
		require.Equal(t, []string{"Invalid"}, j.events(t))
	})
	j.patch(`{"spec": {"schedule": {"timeSpec": "R5/T01:00:00/PT1H"}}}`)
	j.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Contains(t, j.ready(t, "job"), "True Valid: The spec is valid; spec.template.spec.restartPolicy")
		require.Contains(t, j.ready(t, "job"), `spec.selector: found "one"; use none`)
		require.Equal(t, "R5/T01:00:00/PT1H", j.status(t).TimeSpec)
		require.Equal(t, []string{"Invalid", "Valid"}, j.events(t))
	})
}

// The sample of the README.
func (s *fixture) sample(t *testing.T) {
	j := &job{s, t, "default"}
	p := j.controller()
	s.apply(t, manifest.Read(t, "../manifests/sample.yaml"))
	u := manifest.Objects(t, manifest.Read(t, "../manifests/request.yaml"))[0]
	_, err := manifest.Client(t, s.cluster.Config(), u).Create(t.Context(), u, metav1.CreateOptions{})
	require.NoError(t, err)
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Len(t, j.get(t, "report").Status.Completed, 2)
		require.Len(t, j.get(t, "mail").Status.Completed, 2)
	})
	p.Stop()
	require.Contains(t, p.Output(), "stopped")
}
