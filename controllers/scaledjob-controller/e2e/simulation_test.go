package e2e

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

var agree = flag.Bool("agree", false, "compare a real run with simulated runs")

// The workload of TestAgreesWithSimulation.
const (
	loadItems    = 90
	loadRate     = 1 // items per second
	loadService  = 8 * time.Second
	loadInterval = 5 // seconds from poll to poll
	loadMax      = 30
	loadStartup  = 6 * time.Second // of a pod at least; at most as much and loadSpread
	loadSpread   = 8 * time.Second
)

// takesLoad is the annotation of pods that take one item of a load.
const takesLoad = "takes-load"

// A load is a Redis list whose items arrive at random and take random times.
type load struct {
	*workers
	list string

	mu         sync.Mutex
	arrived    []time.Time     // items
	service    []time.Duration // of them
	waits      []time.Duration // of those that were taken
	created    map[types.UID]bool
	since      map[string]time.Time // creation of the newest Job of a name
	unfinished map[string]bool
	most       int
	startups   []time.Duration
	takers     map[string]taker // by Job
	responses  []time.Duration  // from arrivals until Jobs are finished
	endings    []time.Duration  // from the end of the work of a Job until it is finished
}

// A taker is a Job that has taken an item, or found none.
type taker struct{ arrived, ends time.Time }

// run is the worker of a pod: once it has started, it takes an item, and works as long as that
// takes.
func (l *load) run(p *corev1.Pod) cluster.Run {
	return cluster.Run{Start: loadStartup + time.Duration(rand.Int64N(int64(loadSpread))), Do: func() time.Duration { return l.take(p) }}
}

func (l *load) take(p *corev1.Pod) time.Duration {
	item, err := l.redis.LPop(context.Background(), l.list).Result()
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if since, known := l.since[p.Labels[batchv1.JobNameLabel]]; known {
		l.startups = append(l.startups, now.Sub(since))
	}
	name := p.Labels[batchv1.JobNameLabel]
	if err != nil {
		l.takers[name] = taker{ends: now}
		return 0 // it found nothing
	}
	i, _ := strconv.Atoi(item)
	l.waits = append(l.waits, now.Sub(l.arrived[i]))
	l.takers[name] = taker{l.arrived[i], now.Add(l.service[i])}
	return l.service[i]
}

// watch follows the Jobs of a namespace.
func (l *load) watch(t *testing.T, q *queue) {
	w, err := q.client.BatchV1().Jobs(q.namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	go func() {
		for e := range w.ResultChan() {
			if j, ok := e.Object.(*batchv1.Job); ok {
				l.see(j)
			}
		}
	}()
}

func (l *load) see(j *batchv1.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.created[j.UID] {
		l.created[j.UID], l.since[j.Name] = true, time.Now()
	}
	l.unfinished[j.Name] = true
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			delete(l.unfinished, j.Name)
			l.finish(j.Name)
		}
	}
	l.most = max(l.most, len(l.unfinished))
}

// finish notes the times of a Job that is finished, once.
func (l *load) finish(name string) {
	by, known := l.takers[name]
	if !known {
		return
	}
	delete(l.takers, name)
	l.endings = append(l.endings, time.Since(by.ends))
	if !by.arrived.IsZero() {
		l.responses = append(l.responses, time.Since(by.arrived))
	}
}

// send sends the items as time goes by.
func (l *load) send(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	next := time.Now()
	for i := range loadItems {
		next = next.Add(time.Duration(random.ExpFloat64() / loadRate * float64(time.Second)))
		time.Sleep(time.Until(next))
		l.mu.Lock()
		l.arrived = append(l.arrived, time.Now())
		l.service = append(l.service, time.Duration(random.ExpFloat64()*float64(loadService)))
		l.mu.Unlock()
		require.NoError(t, l.redis.RPush(t.Context(), l.list, strconv.Itoa(i)).Err())
	}
}

// figures are what a run and a simulation are compared by.
type figures struct{ created, most, wait, response float64 }

// compared are the figures. The response ends with the Job.
var compared = map[string]func(figures) float64{
	"Jobs created":  func(f figures) float64 { return f.created },
	"peak":          func(f figures) float64 { return f.most },
	"mean wait":     func(f figures) float64 { return f.wait },
	"mean response": func(f figures) float64 { return f.response },
}

func mean(all []time.Duration) float64 {
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return sum.Seconds() / float64(len(all))
}

func (l *load) figures() figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	return figures{float64(len(l.created)), float64(l.most), mean(l.waits), mean(l.responses)}
}

// A change is one of the simulation, which the comparison must notice.
type change struct{ startup, service, strategy float64 }

// changes are by a fifth.
var changes = map[string]change{"startup": {1.2, 1, 1}, "service": {1, 1.2, 1}, "strategy": {1, 1, 0.8}}

// A weaker strategy creates a share of what another would.
type weaker struct {
	strategy.Strategy
	share float64
}

func (s weaker) Propose(l strategy.Load) int64 {
	return int64(math.Round(s.share * float64(s.Strategy.Propose(l))))
}

// simulated returns the figures of runs of the recorded items with the times that the real
// pods took to start, and the real Jobs to be finished. The runs differ in what is not recorded: the time of the first poll, and which
// pod had which start time.
func (l *load) simulated(t *testing.T, name string, n int, with change) (all []figures) {
	of, err := strategy.FromSpec(name, strategy.Parameters{})
	require.NoError(t, err)
	p := simulation.NewScaling(weaker{of, with.strategy}, loadMax)
	p.Interval = simulation.Duration(loadInterval * time.Second)
	random := rand.New(rand.NewPCG(3, 4))
	startups := slices.Clone(l.startups)
	for i := range startups {
		startups[i] = time.Duration(with.startup * float64(startups[i]))
	}
	for k := range n {
		random.Shuffle(len(startups), func(i, j int) { startups[i], startups[j] = startups[j], startups[i] })
		offset := p.Interval * simulation.Duration(k) / simulation.Duration(n)
		var trace []simulation.Arrival
		for i, at := range l.arrived {
			trace = append(trace, simulation.Arrival{At: offset + simulation.Duration(at.Sub(l.arrived[0])), Service: simulation.Duration(with.service * float64(l.service[i]))})
		}
		arrived, responses := map[int64]time.Duration{}, []time.Duration(nil)
		r, err := simulation.Run(simulation.Scenario{
			Seed: uint64(k), Autoscaler: p, Queues: []simulation.Queue{{Trace: trace, Metric: "waiting"}},
			Jobs: simulation.JobBehavior{Startup: simulation.Recorded(startups...), Completion: simulation.Recorded(l.endings...)},
		}, simulation.Options{SummaryOnly: true, Observe: func(e simulation.Event) {
			switch e.Kind {
			case "arrived":
				arrived[e.Item] = e.At
			case "done":
				responses = append(responses, e.At-arrived[e.Item])
			}
		}})
		require.NoError(t, err)
		all = append(all, figures{float64(r.Summary.JobsCreated), float64(r.Summary.PeakJobs), r.Summary.Wait.Mean, mean(responses) + mean(l.endings)})
	}
	return all
}

// An interval is the one in which the next of some values is. With a probability of 95 % all
// of twelve are in theirs.
type interval struct{ low, high float64 }

func (i interval) has(x float64) bool { return i.low <= x && x <= i.high }

func predicted(all []figures, of func(figures) float64) interval {
	const t = 3.06 // the quantile at 1 - 0.05 / 24, 39 degrees of freedom
	n, sum, squares := float64(len(all)), 0.0, 0.0
	for _, f := range all {
		sum += of(f)
	}
	for _, f := range all {
		squares += (of(f) - sum/n) * (of(f) - sum/n)
	}
	half := t * math.Sqrt(squares/(n-1)*(1+1/n))
	return interval{sum/n - half, sum/n + half}
}

// A real run has the figures that simulated runs predict, under three strategies. The
// predictions are narrow enough to notice a change of the simulation by a fifth, and to tell
// the strategies apart: default, which starves a Redis list, is not what accurate predicts.
func TestAgreesWithSimulation(t *testing.T) {
	if !*agree {
		t.Skip("takes minutes, and a loaded machine may miss a prediction: make agree, or go test -run TestAgrees -agree")
	}
	s := newFixture(t)
	s.install(t)
	s.start(t, "-lease-namespace=scaledjob").Said("acting") // with a lease the first creates do not wait
	var mu sync.Mutex
	real, predictions := map[string]figures{}, map[string][]figures{}
	changed := map[string]map[string][]figures{}
	for name := range changes {
		changed[name] = map[string][]figures{}
	}
	t.Run("runs", func(t *testing.T) {
		for _, name := range []string{"default", "accurate", "eager"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := s.works(t, name)
				mu.Lock()
				defer mu.Unlock()
				real[name], predictions[name] = l.figures(), l.simulated(t, name, 40, change{1, 1, 1})
				for what, with := range changes {
					changed[what][name] = l.simulated(t, name, 40, with)
				}
			})
		}
	})
	require.Len(t, real, 3)
	noticed := map[string]int{}
	for name, is := range real {
		for figure, of := range compared {
			i := predicted(predictions[name], of)
			t.Logf("%-8s %-13s real %6.1f, predicted %6.1f to %6.1f", name, figure, of(is), i.low, i.high)
			assert.True(t, i.has(of(is)), "%s: %s", name, figure)
			for what := range changes {
				if i := predicted(changed[what][name], of); !i.has(of(is)) {
					noticed[what]++
					t.Logf("  with another %s %.1f to %.1f", what, i.low, i.high)
				}
			}
		}
	}
	for what := range changes {
		assert.Positive(t, noticed[what], "no figure shows that the %s of the simulation is changed by a fifth", what)
	}
	wait := predicted(predictions["accurate"], compared["mean wait"])
	require.False(t, wait.has(real["default"].wait), "the prediction for accurate")
}

// works runs the load under a strategy until all items are done.
func (s *fixture) works(t *testing.T, name string) *load {
	l := &load{workers: s.workers, list: s.workers.list(t), created: map[types.UID]bool{}, takers: map[string]taker{}, since: map[string]time.Time{}, unfinished: map[string]bool{}}
	s.workers.mu.Lock()
	s.workers.loads[l.list] = l
	s.workers.mu.Unlock()
	q := &queue{s, t, "load-" + name}
	s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+q.namespace+"}")
	q.apply(job(map[string]string{takesLoad: l.list}) +
		fmt.Sprintf("  maxReplicaCount: %d\n  scalingStrategy: {strategy: %s}\n", loadMax, name) + s.redisTrigger(l.list, 1))
	q.patch(fmt.Sprintf("spec: {pollingInterval: %d}", loadInterval))
	l.watch(t, q)
	l.send(t)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.Len(t, l.waits, loadItems)
		assert.Empty(t, l.unfinished)
	}, 5*time.Minute, 200*time.Millisecond)
	return l
}
