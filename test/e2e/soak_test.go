package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	kedamanifest "github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var (
	soak       = flag.Duration("soak", 0, "how long TestSoak measures the controller at rest; at 0 it is skipped")
	scaledJobs = flag.Int("scaledjobs", 500, "ScaledJobs of TestSoak, with ten Jobs each")
	settle     = flag.Duration("settle", 20*time.Minute, "how long TestSoak waits at most for the pods of all Jobs")
	soakKEDA   = flag.Bool("operator", false, "TestSoak measures KEDA's operator")
	controller = flag.String("controller", "", "a controller that TestSoak measures, instead of controllers/scaledjob-controller")
)

const (
	jobsEach       = 10
	serviceAccount = "system:serviceaccount:scaledjob:scaledjob-controller"
)

// A soakTest is a controller with many ScaledJobs, whose queues are numbers of an HTTP
// server.
type soakTest struct {
	*testing.T
	cluster *cluster.Cluster
	pids    map[string]int // of the controller, KEDA and the control plane
	length  atomic.Int64   // of every queue
	reads   atomic.Int64   // of queues
	mu      sync.Mutex
	read    map[string]bool // queues
	jobs    map[types.UID]string
	arrived []time.Time          // of Jobs
	first   map[string]time.Time // of the first Job, by ScaledJob
}

// The controller creates the Jobs of a jump of all queues, each once. Before and after
// the jump it makes no request but for its lease and the values of the queues. The log has time, memory and CPU.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes minutes: make soak, or go test -run TestSoak -soak 1m")
	}
	s := &soakTest{T: t, cluster: cluster.Start(t, cluster.WithControllers("horizontal-pod-autoscaler-controller")), read: map[string]bool{}, jobs: map[types.UID]string{}, first: map[string]time.Time{}}
	s.pids = s.cluster.PIDs()
	queues := httptest.NewServer(s)
	defer queues.Close()
	if !*soakKEDA {
		t.Setenv("WATCH_LABEL_SELECTOR", kedametrics.LabelReader) // KEDA has our ScaledObjects, and no ScaledJob
		t.Setenv("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", "20")   // else new ScaledObjects wait for minutes
	}
	keda := operator.Start(t, s.cluster, "--zap-log-level=info", "--kube-api-qps=200", "--kube-api-burst=400")
	s.pids["keda-operator"], s.pids["keda-metrics-apiserver"] = keda.Process.Pid, keda.ServeMetrics(t).Process.Pid
	s.create(queues.URL)
	go s.watch()
	if !*soakKEDA {
		s.controller()
	}
	started := time.Now()
	s.await("every queue was read", 8*time.Minute, func() bool { return len(s.read) == *scaledJobs })
	s.Logf("every queue was read after %s", time.Since(started).Round(time.Second))
	s.rests("at rest, no Jobs")
	s.jumps()
	s.settles()
	s.rests("at rest, all Jobs")
	more := 0
	for job, n := range s.counts() {
		more += n - jobsEach
		if !*soakKEDA {
			require.Equal(t, jobsEach, n, job)
		}
	}
	s.Logf("%d Jobs too many", more)
}

// controller starts controllers/scaledjob-controller.
func (s *soakTest) controller() {
	dir := process.Dir(s, "controllers/scaledjob-controller")
	for _, file := range []string{"tenant/controller.yaml", "cluster/rbac.yaml", "cluster/flowschema.yaml", "crds/scaledjobs.yaml"} {
		text := strings.ReplaceAll(manifest.Read(s, filepath.Join(dir, "manifests", file)), "scaledjob-tenant", "scaledjob")
		text = strings.ReplaceAll(text, "namespace: tenant", "namespace: scaledjob")
		manifest.Apply(s, s.cluster.Config(), manifest.DropKinds(manifest.Objects(s, text), "Deployment")...)
	}
	definition, err := kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(s, err)
	manifest.Apply(s, s.cluster.Config(), manifest.Objects(s, string(definition))...)
	if *controller == "" {
		*controller = process.Build(s, dir)
	}
	s.pids["controller"] = process.Start(s, exec.Command(*controller, "-kubeconfig", s.cluster.UserKubeconfig(s, serviceAccount),
		"-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0", "-lease-namespace", "scaledjob")).Command.Process.Pid
}

// ServeHTTP answers with the length of a queue.
func (s *soakTest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.reads.Add(1)
	s.mu.Lock()
	s.read[r.URL.Path] = true
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]int64{"length": s.length.Load()})
}

// create creates the ScaledJobs in ten namespaces. The Secret of their pods has to exist: KEDA's
// scalers resolve all variables of a container.
func (s *soakTest) create(url string) {
	for i := range 10 {
		core, namespace := s.cluster.Client(s).CoreV1(), fmt.Sprint("soak-", i)
		_, err := core.Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		require.NoError(s, err)
		_, err = core.Secrets(namespace).Create(s.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "broker"}, StringData: map[string]string{"password": "of-no-broker"},
		}, metav1.CreateOptions{})
		require.NoError(s, err)
	}
	client, err := dynamic.NewForConfig(s.cluster.Config())
	require.NoError(s, err)
	resource := client.Resource(kedamanifest.GroupVersionKind.GroupVersion().WithResource("scaledjobs"))
	var creating sync.WaitGroup
	for worker := range 10 {
		creating.Go(func() {
			for i := worker; i < *scaledJobs; i += 10 {
				u := manifest.Objects(s, fmt.Sprintf(soakManifest, i, worker, jobsEach, url))[0]
				_, err := resource.Namespace(u.GetNamespace()).Create(s.Context(), u, metav1.CreateOptions{})
				require.NoError(s, err)
			}
		})
	}
	creating.Wait()
}

const soakManifest = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer-%[1]d, namespace: soak-%[2]d, labels: {team: orders, app.kubernetes.io/part-of: shop}}
spec:
  maxReplicaCount: %[3]d
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 3
  jobTargetRef:
    backoffLimit: 2
    activeDeadlineSeconds: 3600
    template:
      metadata: {labels: {app: consumer}, annotations: {example.com/owner: orders}}
      spec:
        restartPolicy: Never
        serviceAccountName: consumer
        containers:
          - name: consumer
            image: registry.example.com/shop/consumer:1.2.3
            args: [--queue, consumer-%[1]d, --visibility-timeout, "300"]
            env:
              - {name: BROKER, value: "amqp://rabbitmq.shop.svc.cluster.local:5672"}
              - {name: PASSWORD, valueFrom: {secretKeyRef: {name: broker, key: password}}}
              - {name: LOG_LEVEL, value: info}
            resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
            securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true}
  triggers:
    - type: metrics-api
      metadata: {url: "%[4]s/queues/%[1]d", valueLocation: length, targetValue: "1"}
`

// watch counts the Jobs that there have ever been, by their ScaledJob.
func (s *soakTest) watch() {
	client, err := metadata.NewForConfig(s.cluster.Config())
	require.NoError(s, err)
	jobs := client.Resource(batchv1.SchemeGroupVersion.WithResource("jobs"))
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return jobs.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return jobs.Watch(ctx, o) },
	}, client), &metav1.PartialObjectMetadata{}, 0, nil)
	require.NoError(s, informer.SetTransform(func(object any) (any, error) {
		if m, ok := object.(*metav1.PartialObjectMetadata); ok {
			object = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
				Labels: map[string]string{kedamanifest.LabelName: m.Labels[kedamanifest.LabelName]},
			}}
		}
		return object, nil
	}))
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		m := object.(*metav1.PartialObjectMetadata)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.jobs[m.UID] == "" {
			owner := m.Namespace + "/" + m.Labels[kedamanifest.LabelName]
			s.jobs[m.UID] = owner
			s.arrived = append(s.arrived, time.Now())
			if _, created := s.first[owner]; !created {
				s.first[owner] = time.Now()
			}
		}
	}})
	require.NoError(s, err)
	informer.RunWithContext(s.Context())
}

func (s *soakTest) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, job := range s.jobs {
		counts[job]++
	}
	return counts
}

// await waits until something holds, which it asks with the lock held. It fails if a process ends.
func (s *soakTest) await(what string, within time.Duration, holds func() bool) {
	s.Helper()
	holding := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return holds()
	}
	for end := time.Now().Add(within); !holding(); time.Sleep(100 * time.Millisecond) {
		for name, pid := range s.pids {
			require.DirExists(s, fmt.Sprint("/proc/", pid), "%s has ended", name)
		}
		require.True(s, time.Now().Before(end), what)
	}
}

// jumps lets every queue have ten items, and waits for the Jobs.
func (s *soakTest) jumps() {
	begin, before, all := time.Now(), s.used(), jobsEach**scaledJobs
	if all == 0 {
		return
	}
	s.length.Store(jobsEach)
	s.await("all Jobs exist", 15*time.Minute, func() bool { return len(s.jobs) >= all })
	for name, u := range s.used() {
		s.Logf("jump: %-24s %.1f s of CPU, at most %d MiB", name, (u.CPU - before[name].CPU).Seconds(), u.Peak)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := slices.SortedFunc(maps.Values(s.first), time.Time.Compare)
	for _, part := range []int{1, 50, 90, 100} {
		s.Logf("%3d %% of %d Jobs after %.1f s, and of the first Jobs of ScaledJobs after %.1f s", part, all,
			s.arrived[max(0, all*part/100-1)].Sub(begin).Seconds(), first[max(0, len(first)*part/100-1)].Sub(begin).Seconds())
	}
}

// settles waits until the job controller has created all pods, or for -settle, and until statuses and events are written.
func (s *soakTest) settles() {
	pods, client := 0, s.cluster.Client(s)
	for end := time.Now().Add(*settle); pods < jobsEach**scaledJobs && time.Now().Before(end); time.Sleep(10 * time.Second) {
		list, err := client.CoreV1().Pods("").List(s.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(s, err)
		if pods = len(list.Items); list.RemainingItemCount != nil {
			pods += int(*list.RemainingItemCount)
		}
	}
	s.Logf("%d pods", pods)
	time.Sleep(30 * time.Second)
}

// rests measures while nothing changes. The controller makes no request but for its lease and the values of the queues.
func (s *soakTest) rests(when string) {
	count := func() map[string]int {
		requests := map[string]int{}
		for _, r := range s.cluster.Requests(s) {
			if r.User == serviceAccount && r.Verb != "watch" {
				requests[r.Verb+" "+r.Resource]++
			}
		}
		return requests
	}
	time.Sleep(45 * time.Second) // each is polled, and what there is to tell is told
	before, begin, used, reads := count(), time.Now(), s.used(), s.reads.Load()
	time.Sleep(*soak)
	took := time.Since(begin)
	for name, u := range s.used() {
		s.Logf("%s: %-24s %.3f cores, %d MiB anonymous, %d mapped", when, name, (u.CPU-used[name].CPU).Seconds()/took.Seconds(), u.Anonymous, u.Mapped)
	}
	s.Logf("%s: %.2f reads of a queue a minute", when, float64(s.reads.Load()-reads)/took.Minutes()/float64(max(1, *scaledJobs)))
	after := count()
	s.Logf("requests so far: %v", after)
	for _, all := range []map[string]int{before, after} {
		maps.DeleteFunc(all, func(request string, _ int) bool {
			return request == "update leases" || strings.HasPrefix(request, "list s0-")
		})
	}
	if !*soakKEDA {
		require.Equal(s, before, after, "requests at rest")
	}
}

// used returns what the processes have used, by their names.
func (s *soakTest) used() map[string]process.Usage {
	all := map[string]process.Usage{}
	for name, pid := range s.pids {
		all[name] = process.UsageOf(s, pid)
	}
	return all
}
