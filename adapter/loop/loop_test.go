package loop_test

// What the tests hold:
//
//	Claim                                       Test
//	times, order, no overlap                    TestKeys
//	a hanging read delays no other              TestHangingReads
//	5,000 owners whose creates hang             TestManyHang
//	the law of package requests                     TestLaw, TestLawOfMixtures
//	an overloaded API server                    TestOverloadedServer
//	backoff                                     TestBackoff
//	a panic ends no other key's polls           TestPanics
//	an end waits for the polls under way        TestEnd
//	one process after another                   TestLeadOneAfterAnother, TestLeadWaiting
//	a process that was stopped                  TestStoppedProcess, TestTakenAgain
//	an elector of another library               TestLock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

const serviceTime = 10 * time.Millisecond

// A fault answers a create after a time; below 0 it never does.
type fault struct {
	name       string
	after      time.Duration
	code       int
	retryAfter string
	method     string // "" is POST
}

// faults are those of a webhook, a policy, a quota, or storage. The last one is another at each
// request.
var faults = []fault{
	{"429", serviceTime, 429, "1", ""},
	{"429 for long", serviceTime, 429, "20", ""},
	{"503", serviceTime, 503, "20", ""},
	{"500", serviceTime, 500, "", ""},
	{"hanging", -1, 0, "", ""},
	{"hanging for 14 s, then 500", 14 * time.Second, 500, "", ""},
	{"slow", 5 * time.Second, 201, "", ""},
	{"denied", serviceTime, 403, "", ""},
	{"denied slowly", 9 * time.Second, 403, "", ""},
	{"refused", serviceTime, 422, "", ""},
	{"DELETE that fails", 13 * time.Second, 504, "", http.MethodDelete},
	{name: "any"},
}

func (f fault) now() fault {
	if f.name == "any" {
		f.after, f.code = serviceTime, []int{201, 403, 422, 429, 500, 503, 504}[rand.IntN(7)]
		if f.retryAfter = fmt.Sprint(rand.IntN(30)); rand.IntN(2) == 0 {
			f.after = time.Duration(rand.IntN(20)) * time.Second
		}
	}
	return f
}

// A server creates Jobs. Names with a fault's owner fail.
type server struct {
	mu     sync.Mutex
	faults map[string]fault // by owner
	jobs   map[string]int   // by owner
	limit  *loop.Limit
	exist  map[string]*batchv1.Job
	calls  map[string][]time.Time

	most, inFlight, refused int           // requests at once; 0 does not limit
	queue                   chan struct{} // in which requests wait; nil refuses those above most
	service                 time.Duration // of a create
	travel                  time.Duration // of an answer, while the server has room for another request
}

// busy reports whether the server has too many requests, and counts another one if it has not.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue == nil && s.most > 0 && s.inFlight >= s.most {
		s.refused++
		return true
	}
	s.inFlight++
	return false
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.busy() {
		header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Retry-After": {"32"}} // as an API server that refuses for long
		return &http.Response{StatusCode: 429, Header: header, Body: io.NopCloser(strings.NewReader("Too many requests")), Request: r}, nil
	}
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
		time.Sleep(s.travel)
	}()
	s.mu.Lock()
	queue := s.queue
	s.mu.Unlock()
	if queue != nil {
		select {
		case queue <- struct{}{}:
			defer func() { <-queue }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if r.Method == http.MethodGet {
		s.mu.Lock()
		job := s.exist[path.Base(r.URL.Path)]
		s.mu.Unlock()
		if job == nil {
			return reply(r, 404, "", &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404})
		}
		return reply(r, 200, "", job)
	}
	if r.Method == http.MethodDelete { // only owners with that fault have Jobs to delete
		return answer(r, faults[10])
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	job := object.(*batchv1.Job)
	job.UID = types.UID(job.Name)
	job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	owner := job.OwnerReferences[0].Name
	s.mu.Lock()
	f, failing := s.faults[owner]
	well := fault{after: s.service, code: 201}
	s.calls[owner] = append(s.calls[owner], time.Now())
	s.mu.Unlock()
	if f = f.now(); !failing || f.method != "" {
		f = well
	}
	if f.code != 201 {
		return answer(r, f)
	}
	time.Sleep(f.after)
	s.mu.Lock()
	s.jobs[owner]++
	s.exist[job.Name] = job
	s.mu.Unlock()
	return reply(r, f.code, "", job)
}

// answer fails as the fault says.
func answer(r *http.Request, f fault) (*http.Response, error) {
	if f.after < 0 {
		f.after = 1000 * time.Hour
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(f.after):
	}
	return reply(r, f.code, f.retryAfter, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(f.code), Message: "chaos"})
}

func reply(r *http.Request, code int, retryAfter string, object any) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	body, err := json.Marshal(object)
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// A play is a controller of n owners, of which the first k fail.
type play struct {
	n, k, namespaces, slots, jobs int
	fault                         func(i int) fault // of the owner
	jump                          time.Duration     // when the others have work
	interval                      time.Duration
}

func (p *play) key(i int) cache.ObjectName {
	return cache.NewObjectName(fmt.Sprintf("n%d", i%p.namespaces), fmt.Sprintf("o%d", i))
}

// most returns the maximum of an owner. One whose creates fail never has enough Jobs.
func (p *play) most(i int) int64 {
	if i < p.k && p.fault(i).method == "" {
		return 1000
	}
	return int64(p.jobs)
}

// targets describes the owners from the given one. Those whose deletes fail have an outdated Job.
func (p *play) targets(t *testing.T, s *server, cluster *fake.Clientset, from int) (all []adapter.Target) {
	for i := from; i < p.n; i++ {
		key := p.key(i)
		target := adapter.Target{
			Owner:    adapter.Owner{APIVersion: "v1", Kind: "Queue", Namespace: key.Namespace, Name: key.Name, UID: types.UID(key.Name)},
			Policy:   scaling.Policy{Bounds: scaling.Bounds{Max: p.most(i)}},
			Job:      &batchv1.Job{},
			Rollout:  rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true},
			Revision: rollout.Revision{Generation: 1},
		}
		target.Job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "a"}}
		if i < p.k {
			f := p.fault(i)
			if s.faults[key.Name] = f; f.method != "" {
				job := target.NewJob(1)
				job.UID, job.ResourceVersion, target.Revision.Generation = types.UID(job.Name), "1", 2
				require.NoError(t, cluster.Tracker().Add(job))
			}
		}
		all = append(all, target)
	}
	return all
}

// run runs a controller of the owners from the given one. It calls do after the controller
// has started, and ends when do has returned.
func (p *play) run(t *testing.T, from int, do func(s *server, polls *loop.Loop)) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{faults: map[string]fault{}, jobs: map[string]int{}, exist: map[string]*batchv1.Job{}, calls: map[string][]time.Time{}, service: serviceTime}
		limit := loop.NewLimit(p.slots)
		s.limit = limit
		clients, err := loop.Connect(&rest.Config{Host: "http://server", Transport: s}, 0, limit)
		require.NoError(t, err)
		cluster := fake.NewClientset()
		targets := p.targets(t, s, cluster, from)
		tracker, err := adapter.NewTracker(cluster, adapter.Options{Terms: requests.OneShot()})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tracker.Run(ctx) })
		synctest.Wait()
		require.True(t, tracker.HasSynced())
		polls := loop.New(loop.Options{Tracker: tracker, Client: clients.Requests, Requests: limit.Queue})
		index := map[cache.ObjectName]int{}
		for i, target := range targets {
			require.NoError(t, tracker.Track(target))
			index[p.key(from+i)] = from + i
			polls.Now(p.key(from + i))
		}
		begin := time.Now()
		running.Go(func() {
			polls.Run(ctx, func(_ context.Context, turn loop.Turn) (adapter.Plan, loop.Done) {
				m := scaling.Metric{Target: 1}
				if i := index[turn.Key]; i < p.k || time.Since(begin) >= p.jump {
					m.Value = float64(p.most(i))
				}
				plan := tracker.Plan(types.UID(turn.Key.Name), []scaling.Metric{m}, time.Now())
				return plan, func(adapter.Result, error) time.Duration { return p.interval }
			})
		})
		do(s, polls)
		stop()
		running.Wait()
		synctest.Wait()
		require.Zero(t, limit.Stats().InFlight+limit.Stats().Waiting)
	})
}

// took returns how long after the jump the Jobs of the owners without a fault existed.
func (p *play) took(t *testing.T, from int) (took time.Duration) {
	p.run(t, from, func(s *server, polls *loop.Loop) {
		begin := time.Now()
		time.Sleep(p.jump)
		for i := p.k; i < p.n; i++ {
			polls.Now(p.key(i))
		}
		for i := p.k; i < p.n; i++ {
			name := p.key(i).Name
			for s.count(name) < p.jobs {
				time.Sleep(serviceTime)
				require.Less(t, time.Since(begin), p.jump+time.Hour, name)
			}
			took = max(took, time.Since(begin)-p.jump)
		}
	})
	return took
}

func (s *server) count(owner string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[owner]
}

// With k of n owners failing in any way, the others need at most twice the time, and Patience in addition beside owners that
// begin to fail.
func TestLaw(t *testing.T) {
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			for _, p := range []play{{n: 20, k: 19, namespaces: 1, slots: 16}, {n: 20, k: 1, namespaces: 20, slots: 16}, {n: 60, k: 40, namespaces: 3, slots: 16}} {
				p.fault, p.jobs, p.jump, p.interval = func(int) fault { return f }, 20, 90*time.Second, 10*time.Second
				took, limit := p.took(t, 0), 2*p.took(t, p.k)
				if f.name == "any" { // its owners begin to fail again and again
					limit += requests.Patience
				}
				require.LessOrEqual(t, took, limit, "%+v", p)
			}
		})
	}
}

// The law holds for any mixture of faults. Owners whose requests begin to fail at the jump
// cost Patience in addition.
func TestLawOfMixtures(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 2))
		n := 2 + random.IntN(40)
		which := make([]fault, n)
		for i := range which {
			which[i] = faults[random.IntN(len(faults))]
		}
		p := play{
			n: n, k: 1 + random.IntN(n-1), namespaces: 1 + random.IntN(n), slots: 8 + random.IntN(60), jobs: 1 + random.IntN(60),
			fault: func(i int) fault { return which[i] }, jump: 90 * time.Second, interval: 10 * time.Second,
		}
		alone := p.took(t, p.k)
		require.LessOrEqual(t, p.took(t, 0), 2*alone+serviceTime, "seed %d: %+v", seed, p)
		if p.jump = 0; p.k <= 2*p.slots {
			require.LessOrEqual(t, p.took(t, 0), 2*(alone+requests.Patience), "seed %d, from the start: %+v", seed, p)
		}
	}
}

// An overloaded API server refuses the requests above its own bound, whoever sends them, or lets
// them wait, here for 6 s. All Jobs exist in at most 1.5 times the time that it needs for them, and
// two rests of a request that is refused twice.
func TestOverloadedServer(t *testing.T) {
	for _, most := range []int{2, 5, 20, -2} { // below 0 they wait
		p := play{n: 400, namespaces: 40, slots: 128, jobs: 10, interval: 30 * time.Second}
		if most < 0 {
			p.n, p.namespaces = 100, 10
		}
		p.run(t, 0, func(s *server, _ *loop.Loop) {
			s.mu.Lock()
			if s.most, s.travel = most, serviceTime; most < 0 {
				s.most, s.queue, s.service = -most, make(chan struct{}, -most), 100*time.Millisecond
			}
			s.mu.Unlock()
			begin := time.Now()
			for i := range p.n {
				for s.count(p.key(i).Name) < p.jobs {
					time.Sleep(serviceTime)
					require.Less(t, time.Since(begin), time.Hour)
				}
			}
			took, ideal := time.Since(begin), time.Duration(p.n*p.jobs)*s.service/time.Duration(s.most)
			t.Logf("bound %d: %s, ideal %s, %d refused", most, took, ideal, s.refused)
			require.LessOrEqual(t, took, ideal*3/2+4*time.Second)
			if most > 0 {
				require.Zero(t, s.limit.Stats().Owners, "no owner is congested")
			}
		})
	}
}

// The creates of 5,000 owners hang. Their polls have no goroutine, and a new owner has its
// Jobs at once.
func TestManyHang(t *testing.T) {
	const owners, slots = 5000, 256
	p := play{n: owners + 1, k: owners, namespaces: 50, slots: slots, jobs: 5, fault: func(int) fault { return fault{after: -1} }, jump: 4 * time.Minute, interval: 10 * time.Minute}
	before := runtime.NumGoroutine()
	p.run(t, 0, func(s *server, polls *loop.Loop) {
		most, begun := 0, time.Now()
		for s.limit.Stats().Owners < owners {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			most = max(most, runtime.NumGoroutine()-before)
			require.Less(t, time.Since(begun), time.Hour)
		}
		t.Log(most, "goroutines, all known after", time.Since(begun))
		require.Less(t, most, 2*slots+100, "a request in flight has one, a poll has none")
		require.Less(t, time.Since(begun), p.jump-adapter.DefaultTimeout)
		time.Sleep(p.jump - time.Since(begun)) // the first requests have ended
		begin := time.Now()
		polls.Now(p.key(owners))
		for s.count(p.key(owners).Name) < p.jobs {
			time.Sleep(time.Millisecond)
			require.Less(t, time.Since(begin), time.Second)
		}
	})
}

// An owner whose creates fail is polled again after 1 to 2 s, 2 to 4 s and so on, at most
// the interval.
func TestBackoff(t *testing.T) {
	p := play{n: 1, k: 1, namespaces: 1, slots: 4, jobs: 1, fault: func(int) fault { return fault{code: 403} }, interval: 30 * time.Second}
	p.run(t, 0, func(s *server, _ *loop.Loop) {
		time.Sleep(5 * time.Minute)
		s.mu.Lock()
		calls := slices.Clone(s.calls[p.key(0).Name])
		s.mu.Unlock()
		require.GreaterOrEqual(t, len(calls), 10)
		for i := range calls[1:] {
			wait, least := calls[i+1].Sub(calls[i]), min(time.Second<<i, p.interval)
			require.GreaterOrEqual(t, wait, least)
			require.LessOrEqual(t, wait, min(2*least, p.interval)+time.Millisecond)
		}
	})
}

// The loop ends after the polls under way.
func TestEnd(t *testing.T) {
	p := play{n: 3, k: 0, namespaces: 1, slots: 4, jobs: 100, interval: 30 * time.Second}
	var s *server
	p.run(t, 0, func(server *server, _ *loop.Loop) { s = server; time.Sleep(3 * serviceTime) })
	for i := range p.n {
		require.Less(t, s.count(p.key(i).Name), 100)
	}
}
