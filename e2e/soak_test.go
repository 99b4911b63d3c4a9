package e2e

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/e2e/cluster"
	"github.com/scaledjob/scaledjob/history"
)

var (
	soak       = flag.Duration("soak", 0, "how long TestSoak polls; at 0 it is skipped")
	scaledJobs = flag.Int("scaledjobs", 200, "ScaledJobs of TestSoak, with about ten Jobs each")
)

const (
	soakInterval = 5 * time.Second
	// About what the job controller gets through on two cores, in Jobs a second.
	soakThroughput = 40
)

// A soakTest is many owners that one tracker follows, each polled by itself, as a
// controller would.
type soakTest struct {
	t       *testing.T
	client  kubernetes.Interface
	jobs    cache.SharedIndexInformer
	tracker *adapter.Tracker
	owners  []*soakOwner

	polls, created, deleted, failed atomic.Int64
	mu                              sync.Mutex
	late                            []time.Duration
	took                            []time.Duration
}

type soakOwner struct {
	poll  adapter.Poll
	queue float64 // wanders from 0: a start of all at once would measure the API server
}

// Memory stays flat, counts do not drift from a recount, polls are on time, and
// no owner ever has more Jobs than its maximum.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes minutes: make soak, or go test -run TestSoak -soak 2m")
	}
	c := cluster.Start(t)
	mean := time.Duration(5**scaledJobs/soakThroughput) * time.Second
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		h := fnv.New32a()
		h.Write([]byte(p.Name))
		return cluster.Run{Start: time.Second, Work: mean/2 + time.Duration(h.Sum32()%1000)*mean/1000, Exit: int32(h.Sum32() % 20 / 19)}
	})
	s := &soakTest{t: t, client: c.Client(t)}
	s.own()
	s.jobs = adapter.JobInformer(s.client, "")
	var err error
	s.tracker, err = adapter.NewTracker(s.jobs, nil)
	require.NoError(t, err)
	for _, o := range s.owners {
		require.NoError(t, s.tracker.Follow(adapter.Observation{Owner: o.poll.Owner.UID}))
	}
	go s.jobs.RunWithContext(t.Context())
	require.Eventually(t, s.tracker.HasSynced, time.Minute, 10*time.Millisecond)
	s.run()
}

// own makes the owners, ConfigMaps in some namespaces.
func (s *soakTest) own() {
	for i := range *scaledJobs {
		namespace := fmt.Sprintf("soak-%d", i%10)
		if i < 10 {
			_, err := s.client.CoreV1().Namespaces().Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
			require.NoError(s.t, err)
		}
		m, err := s.client.CoreV1().ConfigMaps(namespace).Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("owner-", i)}}, metav1.CreateOptions{})
		require.NoError(s.t, err)
		sj := scaledJob(s.t)
		sj.Name, sj.Namespace = m.Name, namespace
		config, err := sj.Config(nil)
		require.NoError(s.t, err)
		config.Policy.Bounds.Max = 10
		config.History = history.Limits{Succeeded: history.Keep(4), Failed: history.Keep(1)}
		s.owners = append(s.owners, &soakOwner{poll: adapter.Poll{
			ScaledJob: sj, Config: config, Owner: *metav1.NewControllerRef(m, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		}})
	}
}

func (s *soakTest) run() {
	begin := time.Now()
	var pollers sync.WaitGroup
	for i := range s.owners {
		pollers.Go(func() { s.poller(i, begin) })
	}
	var heaps []uint64
	for part := range 4 {
		time.Sleep(time.Until(begin.Add(*soak * time.Duration(part+1) / 4)))
		heaps = append(heaps, heap())
		s.t.Logf("%3.0f %%: heap %d MiB, %d Jobs in the cache", float64(part+1)*25, heaps[part]>>20, len(s.jobs.GetStore().List()))
	}
	pollers.Wait()
	s.report(time.Since(begin))
	s.noDrift()
	require.Zero(s.t, s.failed.Load())
	require.Less(s.t, quantile(s.late, 0.99), time.Second, "polls on time")
	require.Less(s.t, heaps[3], heaps[1]+heaps[1]/4+8<<20, "memory is flat")
}

// poller polls an owner at its own time within the interval.
func (s *soakTest) poller(i int, begin time.Time) {
	random := rand.New(rand.NewPCG(1, uint64(i)))
	due := begin.Add(soakInterval * time.Duration(i) / time.Duration(len(s.owners)))
	for ; due.Sub(begin) <= *soak; due = due.Add(soakInterval) {
		time.Sleep(time.Until(due))
		s.poll(s.owners[i], due, random)
	}
}

func (s *soakTest) poll(o *soakOwner, due time.Time, random *rand.Rand) {
	o.queue = min(12, max(0, o.queue+float64(random.IntN(5)-2)))
	begin := time.Now()
	o.poll.Now = begin
	o.poll.Metrics = append(o.poll.Metrics[:0], o.poll.Config.Triggers[0].Metric(o.queue))
	plan := s.tracker.Plan(o.poll)
	took := time.Since(begin)
	r, err := s.tracker.Apply(s.t.Context(), s.client, plan)
	j := plan.Decision.Trace.Jobs
	if err != nil || j.Running+j.Terminating+plan.Create > o.poll.Config.Policy.Bounds.Max {
		s.failed.Add(1)
		s.t.Errorf("%s: %v\n%s", o.poll.ScaledJob.Name, err, plan.Decision)
	}
	s.polls.Add(1)
	s.created.Add(r.Created)
	s.deleted.Add(int64(r.Pruned))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late, s.took = append(s.late, begin.Sub(due)), append(s.took, took)
}

// noDrift compares each Fleet with a recount of what the API server has, once the
// last events have come.
func (s *soakTest) noDrift() {
	for _, o := range s.owners {
		observation := adapter.Observation{Owner: o.poll.Owner.UID}
		require.EventuallyWithT(s.t, func(t *assert.CollectT) {
			fresh, err := adapter.List(s.t.Context(), s.client, o.poll.ScaledJob, observation)
			require.NoError(t, err)
			require.True(t, s.tracker.View(o.poll.Owner.UID, func(f *adapter.Fleet) {
				require.Equal(t, fresh.Count(time.Time{}), f.Count(time.Time{}))
				require.Equal(t, fresh.Len(), f.Len())
			}))
			counts := fresh.Count(time.Time{})
			require.LessOrEqual(t, counts.Running+counts.Terminating, o.poll.Config.Policy.Bounds.Max)
		}, 30*time.Second, 100*time.Millisecond)
	}
}

func (s *soakTest) report(elapsed time.Duration) {
	var usage syscall.Rusage
	require.NoError(s.t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	s.t.Logf("%d ScaledJobs, %s: %d polls, %d Jobs created, %d pruned", len(s.owners), elapsed.Round(time.Second), s.polls.Load(), s.created.Load(), s.deleted.Load())
	s.t.Logf("late by p50 %s, p99 %s, at most %s", quantile(s.late, 0.5), quantile(s.late, 0.99), quantile(s.late, 1))
	s.t.Logf("a plan took p50 %s, p99 %s", quantile(s.took, 0.5), quantile(s.took, 0.99))
	s.t.Logf("this process, kubelet stand-in included: %.2f cores, at most %d MiB", cpu.Seconds()/elapsed.Seconds(), usage.Maxrss>>10)
}

func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
