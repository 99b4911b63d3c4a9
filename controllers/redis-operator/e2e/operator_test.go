package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/secret"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
)

// One cluster serves all; each has a namespace of its own, and an operator that acts
// there only.
func TestOperator(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	s := newFixture(t)
	for _, test := range []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"the article's manifest", (*fixture).article},
		{"no ScaledJob is accepted that is wrong", (*fixture).refuses},
		{"what is in a template", (*fixture).template},
		{"a name that is taken", (*fixture).taken},
		{"filled, drained, deleted", (*fixture).drains},
		{"Redis stops", (*fixture).outage},
		{"Jobs that fail", (*fixture).fails},
		{"two replicas", (*fixture).elects},
		{"password and TLS", (*fixture).secrets},
		{"one namespace", (*fixture).namespaced},
		{"at rest", (*fixture).rests},
		{"rights", (*fixture).rights},
		{"no secret is told", (*fixture).tellsNoSecret},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

func (s *fixture) refuses(t *testing.T) {
	p := s.place(t, "refuses")
	for text, change := range map[string]func(*v1.ScaledJob){
		"spec.queueName":                            func(sj *v1.ScaledJob) { sj.Spec.QueueName = "" },
		"spec.redisAddress":                         func(sj *v1.ScaledJob) { sj.Spec.RedisAddress = "redis" },
		"redisAddress in body should match ":        func(sj *v1.ScaledJob) { sj.Spec.RedisAddress = "redis:99999" },
		"redisAddress in body should match":         func(sj *v1.ScaledJob) { sj.Spec.RedisAddress = "redis://user:password@redis:6379" },
		"spec.redisAuth.secretKeyRef.key":           func(sj *v1.ScaledJob) { sj.Spec.RedisAuth = &v1.RedisAuth{SecretKeyRef: v1.SecretKeyRef{Name: "a"}} },
		"spec.threshold":                            func(sj *v1.ScaledJob) { sj.Spec.Threshold = 0 },
		"spec.minReplicas":                          func(sj *v1.ScaledJob) { sj.Spec.MinReplicas = -1 },
		"spec.maxReplicas":                          func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = -1 },
		"minReplicas must not be above maxReplicas": func(sj *v1.ScaledJob) { sj.Spec.MinReplicas = 21 },
		"restartPolicy must be Never or OnFailure":  func(sj *v1.ScaledJob) { sj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = "" },
	} {
		sj := p.scaledJob("consumer", "redis:6379", "orders", "1h")
		change(sj)
		require.ErrorContains(t, s.client.Create(t.Context(), sj), text)
	}
	const document = "{apiVersion: batch.miracle.dev/v1, kind: ScaledJob, metadata: {name: a, namespace: refuses}, spec: {%s}}"
	const job = "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}"
	const required = "queueName: a, redisAddress: '[::1]:6379', threshold: 1, " + job
	create := func(spec string) error {
		u := manifest.Objects(t, fmt.Sprintf(document, spec))[0]
		_, err := manifest.Client(t, s.cluster.Config(), u).Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	for spec, text := range map[string]string{
		"redisAddress: 'a:1', threshold: 1, " + job:                               "spec.queueName: Required",
		"queueName: a, threshold: 1, " + job:                                      "spec.redisAddress: Required",
		"queueName: a, redisAddress: 'a:1', " + job:                               "spec.threshold: Required",
		"queueName: a, redisAddress: 'a:1', threshold: 1":                         "spec.jobTemplate: Required",
		required + ", maximum: 3":                                                 `unknown field "spec.maximum"`,
		strings.Replace(required, "image:", "imagePullPolice: Always, image:", 1): `unknown field "spec.jobTemplate.spec.template.spec.containers[0].imagePullPolice"`,
	} {
		require.ErrorContains(t, create(spec), text)
	}
	require.NoError(t, create(required))
	sj := p.get(t, "a")
	require.EqualValues(t, 0, sj.Spec.MinReplicas)
	require.EqualValues(t, 100, sj.Spec.MaxReplicas)
}

// Labels and annotations of the template and of its pods get where they belong, and
// kubectl get shows what matters.
func (s *fixture) template(t *testing.T) {
	p := s.place(t, "template")
	list := s.list(t, "scaledjob-e2e-template")
	s.push(t, list, 47)
	p.consume(list, "1h", func(sj *v1.ScaledJob) {
		sj.Spec.JobTemplate.Labels = map[string]string{"team": "images"}
		sj.Spec.JobTemplate.Annotations = map[string]string{"why": "a test"}
		sj.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "worker"}
	})
	o := p.operator("-leader-elect")
	p.counts("consumer", 5)
	job := p.jobs(t)[0]
	require.Equal(t, "images", job.Labels["team"])
	require.Equal(t, "a test", job.Annotations["why"])
	require.Equal(t, "worker", job.Spec.Template.Labels["app"])
	require.Equal(t, "1h", job.Spec.Template.Annotations[works])

	var table metav1.Table
	require.NoError(t, s.cluster.Client(t).RESTClient().Get().AbsPath("/apis/batch.miracle.dev/v1/namespaces/template/scaledjobs").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(&table))
	var columns []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			columns = append(columns, c.Name)
		}
	}
	require.Equal(t, []string{"Name", "Queue", "Depth", "Active", "Desired", "Ready", "Reason", "Age"}, columns)
	require.Equal(t, []any{"consumer", list, int64(47), int64(5), int64(5), "True", "Reconciled"}, table.Rows[0].Cells[:7])
	o.Stop()
}

// 30 items and ten a Job make three Jobs. When the queue is empty there are no more, and
// those that run end by themselves. When the ScaledJob is gone, so are they.
func (s *fixture) drains(t *testing.T) {
	p := s.place(t, "drain")
	list := s.list(t, "scaledjob-e2e-drain")
	s.push(t, list, 30)
	p.consume(list, "4s")
	o := p.operator()
	p.becomes(start, func(t *assert.CollectT) {
		require.Len(t, p.jobs(t), 3)
		require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	})
	p.measures(o, "30", "3", "3")
	for _, path := range []string{"/healthz", "/readyz"} {
		code, _ := processtest.Get(o.probes + path)
		require.Equal(t, 200, code)
	}
	jobs := p.jobs(t)
	require.NoError(t, s.redis.Del(t.Context(), list).Err())
	p.measures(o, "0", "3", "0")
	p.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Empty(t, p.active(t))
		require.Zero(t, p.get(t, "consumer").Status.ActiveJobs)
	})
	p.measures(o, "0", "0", "0")
	require.Equal(t, names(jobs), names(p.jobs(t)))
	for _, j := range p.jobs(t) {
		require.EqualValues(t, 1, j.Status.Succeeded, "it was let end")
	}
	require.Equal(t, map[string]int32{"CreatedJobs": 1}, p.events(t))
	require.Equal(t, "0", p.series(t, o, "consumer")["reconcile_errors_total"])

	p.delete("consumer")
	p.becomes(2*time.Minute, func(t *assert.CollectT) { // the collector learns of new kinds every half a minute
		require.Empty(t, p.jobs(t))
		require.Empty(t, p.series(t, o, "consumer"))
	})
	o.Stop()
}

// With the intervals as they are: a queue that cannot be read is tried again after 10 s,
// no Job is created or lost, and each change is told once.
func (s *fixture) outage(t *testing.T) {
	server := redistest.Start(t)
	server.Push("orders", 30, redis.Options{})
	p := s.place(t, "outage")
	sj := p.scaledJob("consumer", server.Address, "orders", "1h")
	require.NoError(t, s.client.Create(t.Context(), sj))
	o := s.start(t, "-namespace", p.namespace, "-leader-elect=false")
	p.becomes(start, func(t *assert.CollectT) {
		require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
		require.Len(t, p.jobs(t), 3)
	})
	p.measures(o, "30", "3", "3")
	jobs := p.jobs(t)
	require.Len(t, jobs, 3)

	server.Stop()
	p.change(func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 19 }) // so that it looks at once
	p.becomes(10*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "QueueConnected"))
		require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "Ready"))
	})
	begin := time.Now()
	p.measures(o, "-", "3", "-")
	failed := func(want string) {
		p.becomes(20*time.Second, func(t *assert.CollectT) { require.Equal(t, want, p.series(t, o, "consumer")["reconcile_errors_total"]) })
	}
	failed("1")
	failed("2")
	require.Greater(t, time.Since(begin), 8*time.Second)
	failed("3")
	require.Greater(t, time.Since(begin), 18*time.Second)
	require.Equal(t, names(jobs), names(p.active(t)))
	require.Equal(t, map[string]int32{"CreatedJobs": 1, "RedisUnreachable": 1}, p.events(t))

	server.Restart()
	server.Push("orders", 10, redis.Options{})
	p.becomes(20*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "True Connected", p.condition(t, "consumer", "QueueConnected"))
		require.Len(t, p.active(t), 4)
		require.Equal(t, map[string]int32{"CreatedJobs": 2, "RedisUnreachable": 1, "QueueConnected": 1}, p.events(t))
	})
	p.measures(o, "40", "4", "4")
	o.Stop()
	require.NotContains(t, o.Output(), "level=ERROR")
}

// Each Job fails at once: there are few, and the status says why. An edit that mends them ends it.
func (s *fixture) fails(t *testing.T) {
	p := s.place(t, "fails")
	list := s.list(t, "scaledjob-e2e-fails")
	s.push(t, list, 1)
	p.consume(list, "1s", func(sj *v1.ScaledJob) {
		sj.Spec.Threshold, sj.Spec.MaxReplicas = 1, 1
		sj.Spec.JobTemplate.Spec.Template.Annotations[fails] = "yes"
	})
	o := p.operator()
	p.becomes(start, func(t *assert.CollectT) {
		require.Equal(t, "False FailingJobs", p.condition(t, "consumer", "Ready"))
	})
	time.Sleep(45 * time.Second)
	require.LessOrEqual(t, len(p.jobs(t)), 4, "at once, after 10 s, after 20 s")
	require.Equal(t, "False FailingJobs", p.condition(t, "consumer", "Ready"))
	p.change(func(sj *v1.ScaledJob) {
		sj.Spec.JobTemplate.Spec.Template.Annotations = map[string]string{works: "1h"}
	})
	p.becomes(30*time.Second, func(t *assert.CollectT) {
		jobs := p.jobs(t)
		require.Equal(t, int32(1), jobs[len(jobs)-1].Status.Active, "the Job of the new spec runs")
		require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
		require.Nil(t, p.get(t, "consumer").Status.Failures)
	})
	o.Stop()
}

// change updates the ScaledJob called consumer.
func (p *place) change(how func(*v1.ScaledJob)) {
	p.t.Helper()
	sj := p.get(p.t, "consumer")
	before := sj.DeepCopy()
	how(sj)
	require.NoError(p.t, p.client.Patch(p.t.Context(), sj, client.MergeFrom(before)))
}

// Of two replicas one acts. When it stops the other goes on at once, and when it dies
// after the lease.
func (s *fixture) elects(t *testing.T) {
	p := s.place(t, "elect")
	list := s.list(t, "scaledjob-e2e-elect")
	s.push(t, list, 30)
	p.consume(list, "1h")
	first := p.operator("-leader-elect")
	p.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, p.jobs(t), 3) })
	second := p.operator("-leader-elect")
	p.becomes(10*time.Second, func(t *assert.CollectT) {
		code, _ := processtest.Get(second.probes + "/readyz")
		require.Equal(t, 200, code, "ready to")
	})
	s.push(t, list, 20)
	p.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, p.jobs(t), 5) })
	require.Empty(t, p.series(t, second, "consumer"), "it does not act")
	require.NotEmpty(t, p.series(t, first, "consumer"))

	first.Stop()
	s.push(t, list, 10)
	p.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, p.jobs(t), 6) }) // less than the lease lasts: it was given up
	p.measures(second, "60", "6", "6")

	third := p.operator("-leader-elect")
	second.Kill()
	s.push(t, list, 10)
	p.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, p.jobs(t), 7) })
	p.measures(third, "70", "7", "7")
	third.Stop()
}

// Nothing is asked of the API server while nothing changes, and where a watch cannot begin
// with the objects that there are.
func (s *fixture) rests(t *testing.T) {
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	p := s.place(t, "rest")
	list := s.list(t, "scaledjob-e2e-rest")
	s.push(t, list, 30)
	p.consume(list, "1h")
	o := p.operator("-poll=100ms")
	p.becomes(start, func(t *assert.CollectT) {
		require.Len(t, p.jobs(t), 3)
		require.Equal(t, map[string]int32{"CreatedJobs": 1}, p.events(t))
	})
	count := func() int {
		return s.cluster.Count(t, func(r cluster.Request) bool {
			return r.User == account && r.Namespace == p.namespace && r.Verb != "watch"
		})
	}
	time.Sleep(time.Second)
	before, reconciles := count(), p.series(t, o, "consumer")["reconcile_total"]
	time.Sleep(3 * time.Second)
	require.Equal(t, before, count())
	require.NotEqual(t, reconciles, p.series(t, o, "consumer")["reconcile_total"], "it looks")
	require.NoError(t, o.Command.Process.Signal(syscall.SIGINT))
	require.NoError(t, o.Wait())
}

// The operator needs each of its permissions, and no others.
func (s *fixture) rights(t *testing.T) {
	permissions.Exact(t, s.cluster.Requests(t), account, processtest.Permissions(t, "../config/cluster"),
		"delete batch/jobs") // only at the age in a template, and not within 30 s of the start
}

// No event, status or other object has a secret of the other tests.
func (s *fixture) tellsNoSecret(t *testing.T) { secret.AbsentFromObjects(t, s.cluster.Config()) }
