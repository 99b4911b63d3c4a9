package simulation_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/test/premise"
)

var kinds = []string{"arrived", "delivered", "done", "duplicated", "redelivered", "lost", "polled", "created", "scheduled", "started", "unscheduled",
	"retried", "completing", "succeeded", "failed", "deleted", "rejected", "outage started", "outage ended"}

func TestAudit(t *testing.T) {
	least := premise.Least{}
	for _, kind := range kinds {
		least[kind] = 0.02
	}
	least["deleted"] = 0.003
	premise.CheckN(t, 3000, propAudit, least)
}
func FuzzAudit(f *testing.F) { premise.Fuzz(f, propAudit) }
func TestMax(t *testing.T) {
	premise.CheckN(t, 3000, propMax, premise.Least{"as many Jobs as the maximum": 0.2, "clusters": 0.2})
}
func FuzzMax(f *testing.F) { premise.Fuzz(f, propMax) }
func TestSameItems(t *testing.T) {
	rounds := 0
	premise.Rounds(t, propSameItems, func() bool {
		rounds++
		return compared > 100 || rounds >= 50
	})
	require.Greater(t, compared, 100)
}
func FuzzSameItems(f *testing.F) { premise.Seeded(f, propSameItems) }
func TestSameBytes(t *testing.T) { rapid.Check(t, propSameBytes) }
func FuzzSameBytes(f *testing.F) { premise.Seeded(f, propSameBytes) }

const (
	second = simulation.Duration(time.Second)
	minute = simulation.Duration(time.Minute)
	hour   = simulation.Duration(time.Hour)
)

func drawDuration(t *rapid.T, most simulation.Duration, name string) simulation.Duration {
	whole := rapid.Map(rapid.Int64Range(0, int64(most/second)), func(n int64) simulation.Duration { return simulation.Duration(n) * second })
	any := rapid.Map(rapid.Int64Range(0, int64(most)), func(n int64) simulation.Duration { return simulation.Duration(n) })
	tenths := rapid.Map(rapid.SampledFrom([]simulation.Duration{1, 2, 3, 5, 8, 10}), func(n simulation.Duration) simulation.Duration { return n * most / 10 })
	return rapid.OneOf(rapid.Just(simulation.Duration(0)), whole, any, tenths, tenths).Draw(t, name)
}

func drawDistribution(t *rapid.T, most simulation.Duration, name string) simulation.Distribution {
	mean := time.Duration(drawDuration(t, most, name))
	d := simulation.Fixed(mean)
	switch rapid.IntRange(0, 4).Draw(t, name) {
	case 2:
		d = simulation.Exp(mean)
	case 3:
		d = simulation.LogNormal(mean+1, time.Duration(drawDuration(t, most, name)))
	case 4:
		d = simulation.Recorded(mean, time.Duration(drawDuration(t, most, name)))
	}
	return d
}

func drawQueue(t *rapid.T) simulation.Queue {
	q := simulation.Queue{
		Service:             drawDistribution(t, 2*minute, "service"),
		Target:              rapid.SampledFrom([]float64{0, 1, 0.5, 3}).Draw(t, "target"),
		ActivationThreshold: rapid.SampledFrom([]float64{0, 0, 2}).Draw(t, "threshold"),
		Metric:              rapid.SampledFrom([]string{"", "all", "waiting"}).Draw(t, "metric"),
		Staleness:           drawDuration(t, minute, "staleness"),
		VisibilityTimeout:   drawDuration(t, 2*minute, "visibility"),
		MaxDeliveries:       rapid.Int64Range(0, 3).Draw(t, "deliveries"),
	}
	if rapid.IntRange(0, 3).Draw(t, "metric fails") == 0 {
		from := drawDuration(t, 5*minute, "from")
		q.Outages = []simulation.Outage{{From: from, Until: from + second + drawDuration(t, 5*minute, "for")}}
	}
	pattern := rapid.SampledFrom([]string{"", "constant", "poisson", "bursts", "daily"}).Draw(t, "pattern")
	rate := fmt.Sprintf("%s:%d/1m", pattern, rapid.IntRange(1, 10).Draw(t, "rate"))
	switch pattern {
	case "":
		for range rapid.IntRange(0, 5).Draw(t, "trace") {
			q.Trace = append(q.Trace, simulation.Arrival{
				At: drawDuration(t, 5*minute, "at"), Items: rapid.Int64Range(0, 4).Draw(t, "items"), Service: drawDuration(t, minute, "its service"),
			})
		}
	case "daily":
		rate += ",1/m"
		fallthrough
	default:
		if err := q.Arrivals.UnmarshalText([]byte(rate)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	q.Backlog = rapid.SampledFrom([]int64{0, 0, 0, 5}).Draw(t, "backlog")
	return q
}

func drawJobs(t *rapid.T) simulation.JobBehavior {
	j := simulation.JobBehavior{
		Startup:            drawDistribution(t, 2*minute, "startup"),
		WarmUp:             drawDistribution(t, 30*second, "warm-up"),
		Completion:         drawDistribution(t, 5*second, "completion"),
		Acknowledge:        rapid.SampledFrom([]string{"", "end", "start"}).Draw(t, "acknowledge"),
		Wait:               drawDuration(t, minute, "wait"),
		FailureProbability: rapid.SampledFrom([]float64{0, 0, 0.3, 1}).Draw(t, "failures"),
		Backoff:            drawDuration(t, minute, "backoff"),
		Termination:        drawDuration(t, minute, "termination"),
	}
	if j.DrainQueue = rapid.Bool().Draw(t, "drain queue"); !j.DrainQueue {
		j.ItemsPerJob = rapid.Int64Range(0, 3).Draw(t, "items per job")
	}
	if rapid.Bool().Draw(t, "limited") {
		j.BackoffLimit = new(rapid.Int64Range(0, 2).Draw(t, "backoff limit"))
	}
	return j
}

func drawCluster(t *rapid.T) simulation.Cluster {
	var c simulation.Cluster
	if rapid.Bool().Draw(t, "limited") {
		c.Capacity = new(rapid.Int64Range(0, 4).Draw(t, "capacity"))
	}
	if rapid.IntRange(0, 3).Draw(t, "old list") == 0 {
		c.ListAge = drawDuration(t, 2*minute, "list age")
	}
	for range rapid.IntRange(0, 2).Draw(t, "outages") {
		from := drawDuration(t, 5*minute, "from")
		c.Outages = append(c.Outages, simulation.Outage{
			From: from, Until: from + second + drawDuration(t, 5*minute, "for"),
			Kind: rapid.SampledFrom([]string{"", "unreachable", "noStart", "rejects", "down"}).Draw(t, "kind"),
		})
	}
	return c
}

func drawPolicy(t *rapid.T, clusters int) manifest {
	p := manifest{
		As:              rapid.SampledFrom([]string{"", "spec", "placement", "2.4", "2.18", "2.21"}).Draw(t, "as"),
		SubtractPending: rapid.Bool().Draw(t, "subtract"),
		MinAsFloor:      rapid.Bool().Draw(t, "floor"),
	}
	if clusters > 1 {
		p.As = "placement"
	}
	p.Spec.PollingInterval = new(rapid.Int32Range(1, 60).Draw(t, "interval"))
	p.Spec.MaxReplicaCount = new(rapid.Int32Range(0, 12).Draw(t, "max"))
	p.Spec.MinReplicaCount = new(rapid.Int32Range(0, 3).Draw(t, "min"))
	s := &p.Spec.ScalingStrategy
	names := []string{"", "default", "accurate", "eager", "custom", "pendingAware"}
	if p.As != "" && p.As[0] == '2' {
		names = names[:5]
	}
	s.Strategy = rapid.SampledFrom(names).Draw(t, "strategy")
	s.CustomScalingQueueLengthDeduction, s.CustomScalingRunningJobPercentage = new(int32(1)), "0.5"
	s.MultipleScalersCalculation = rapid.SampledFrom([]string{"", "max", "min", "avg", "sum"}).Draw(t, "calculation")
	if rapid.Bool().Draw(t, "stuck") {
		p.StuckAfter = new(drawDuration(t, minute, "stuck after"))
	}
	p.Failover = failover(rapid.SampledFrom([]jobs.Duplication{"", jobs.PreferFailover, jobs.PreferSource, jobs.ImmediateSourceCleanup}).Draw(t, "duplication"))
	return p
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{Scenario: simulation.Scenario{
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Duration: second + drawDuration(t, 10*minute, "duration"),
		Drain:    new(drawDuration(t, 10*minute, "drain")),
		Jobs:     drawJobs(t),
	}}
	for range rapid.IntRange(1, 2).Draw(t, "queues") {
		s.Queues = append(s.Queues, drawQueue(t))
	}
	for range rapid.IntRange(0, 3).Draw(t, "clusters") {
		s.Clusters = append(s.Clusters, drawCluster(t))
	}
	s.Policy = drawPolicy(t, len(s.Clusters))
	return s
}

// A played is a scenario, with a policy or with a manifest.
type played interface {
	scenario | simulation.Scenario
}

func built[S played](s S) simulation.Scenario {
	if s, ok := any(s).(scenario); ok {
		return s.built()
	}
	return any(s).(simulation.Scenario)
}

func run[S played](t rapid.TB, s S, o simulation.Options) *simulation.Result {
	t.Helper()
	r, err := simulation.Run(built(s), o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return r
}

// An audit follows the events of a run, and adds up by item and by Job what a summary
// says of the whole.
type audit struct {
	t         rapid.TB
	s         scenario
	items     map[int64]*auditedItem
	jobs      map[int64]*auditedJob
	peakJobs  int
	created   []int64 // at each poll
	sinceLast int64
	last      time.Duration
}

type auditedItem struct {
	queue             int
	arrived, since    time.Duration
	firstTaken, ended time.Duration // -1 is not yet
	state             string        // queued, in work, done, lost
	timeQueued        time.Duration
}

type auditedJob struct {
	created       time.Duration
	held, working time.Duration // since when, -1 is not
	used, idle    time.Duration
	over          bool
	until         time.Duration // holds its room until then, after it is over
}

func newAudit(t rapid.TB, s scenario) *audit {
	return &audit{t: t, s: s, items: map[int64]*auditedItem{}, jobs: map[int64]*auditedJob{}}
}

func (a *audit) item(i *auditedItem, to string, at time.Duration) {
	switch i.state {
	case "queued":
		i.timeQueued += at - i.since
	case "done", "lost":
		a.t.Fatalf("%v: from %s to %s", at, i.state, to)
	}
	i.state, i.since = to, at
}

func (j *auditedJob) stopWork(at time.Duration) {
	if j.working >= 0 {
		j.used += at - j.working
		j.idle -= at - j.working
		j.working = -1
	}
}

func (j *auditedJob) leaveRoom(at time.Duration) {
	j.stopWork(at)
	if j.held >= 0 {
		j.idle += at - j.held
		j.held = -1
	}
}

func (a *audit) observe(e simulation.Event) {
	if e.At < a.last {
		a.t.Fatalf("%v after %v", e, a.last)
	}
	a.last = e.At
	if !slices.Contains(kinds, e.Kind) {
		a.t.Fatalf("%v: its kind is not in the list of the test", e)
	}
	switch e.Kind {
	case "arrived":
		a.items[e.Item] = &auditedItem{queue: e.Queue, arrived: e.At, since: e.At, firstTaken: -1, ended: -1, state: "queued"}
	case "created":
		a.jobs[e.Job] = &auditedJob{created: e.At, held: -1, working: -1}
		a.sinceLast++
	case "polled":
		if e.Number != a.sinceLast {
			a.t.Fatalf("%v, but %d created", e, a.sinceLast)
		}
		a.created, a.sinceLast = append(a.created, e.Number), 0
	}
	if i := a.items[e.Item]; i != nil {
		a.observeItem(i, e)
	}
	if j := a.jobs[e.Job]; j != nil {
		a.observeJob(j, e)
	}
	unfinished := 0
	for _, j := range a.jobs {
		if !j.over || j.until > e.At {
			unfinished++
		}
	}
	a.peakJobs = max(a.peakJobs, unfinished)
}

func (a *audit) observeItem(i *auditedItem, e simulation.Event) {
	if e.Queue != i.queue {
		a.t.Fatalf("%+v, but it is in queue %d", e, i.queue)
	}
	switch e.Kind {
	case "delivered":
		if i.state != "queued" {
			a.t.Fatalf("%v, but it is %s", e, i.state)
		}
		a.item(i, "in work", e.At)
		if i.firstTaken < 0 {
			i.firstTaken = e.At
		}
	case "done":
		a.item(i, "done", e.At)
		i.ended = e.At
	case "lost":
		a.item(i, "lost", e.At)
		i.ended = e.At
	case "redelivered":
		a.item(i, "queued", e.At)
	case "duplicated":
		if i.state != "done" && i.state != "lost" {
			a.t.Fatalf("%v, but it is %s", e, i.state)
		}
	}
}

func (a *audit) observeJob(j *auditedJob, e simulation.Event) {
	if j.over {
		a.t.Fatalf("%v after its end", e)
	}
	switch e.Kind {
	case "scheduled":
		j.held = e.At
	case "delivered":
		j.working = e.At
	case "done", "duplicated":
		j.stopWork(e.At)
	case "retried", "unscheduled", "completing":
		j.leaveRoom(e.At)
	case "succeeded", "failed":
		j.leaveRoom(e.At)
		j.over, j.until = true, e.At
	case "deleted":
		j.stopWork(e.At)
		j.over, j.until = true, e.At
		if j.held >= 0 {
			j.until += time.Duration(a.s.Jobs.Termination)
		}
	}
}

// step is that of the curves.
const step = 7 * second

// area is the integral of a curve.
func area(curve []float64) (sum float64) {
	for _, v := range curve {
		sum += v * time.Duration(step).Seconds()
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

func quantile(sorted []time.Duration, q float64) float64 {
	for i, d := range sorted {
		if float64(i+1)+1e-9 >= q*float64(len(sorted)) {
			return d.Seconds()
		}
	}
	return 0
}

func (a *audit) check(r *simulation.Result) {
	end := time.Duration(math.Round(r.Summary.Seconds * 1e9))
	counts := map[string]int64{}
	var waits []time.Duration
	queued := 0.0
	for _, i := range a.items {
		counts[i.state]++
		if i.ended < 0 {
			state := i.state
			a.item(i, "at the end", end)
			i.state = state
		}
		queued += i.timeQueued.Seconds()
		if i.firstTaken < 0 {
			i.firstTaken = end
		}
		waits = append(waits, i.firstTaken-i.arrived)
	}
	s := &r.Summary
	for name, n := range map[string]int64{"done": s.Done, "queued": s.Queued, "in work": s.InProgress, "lost": s.Lost} {
		if counts[name] != n {
			a.t.Fatalf("%s: %d, but %d by the events", name, n, counts[name])
		}
	}
	if s.Arrived != s.Done+s.Queued+s.InProgress+s.Lost || s.Arrived != int64(len(a.items)) {
		a.t.Fatalf("not conserved:\n%v", s)
	}
	// Little's law: what is in the system on average is what all items spend in it.
	if area := area(r.Curves.Queue); !near(area, queued) {
		a.t.Fatalf("queued %g, by the items %g", area, queued)
	}
	slices.Sort(waits)
	for _, q := range []struct {
		at, got float64
	}{{0.5, s.Wait.P50}, {0.95, s.Wait.P95}, {0.99, s.Wait.P99}, {1, s.Wait.Max}} {
		if want := quantile(waits, q.at); !near(q.got, want) {
			a.t.Fatalf("wait at %g: %g, by the items %g", q.at, q.got, want)
		}
	}
	a.checkJobs(r, end)
}

func (a *audit) checkJobs(r *simulation.Result, end time.Duration) {
	s := &r.Summary
	used, idle, unfinished := 0.0, 0.0, 0.0
	for _, j := range a.jobs {
		ended := end
		if j.over {
			ended = min(j.until, end)
		}
		unfinished += (ended - j.created).Seconds()
		j.leaveRoom(cmp.Or(min(j.until, end), end))
		used += j.used.Seconds()
		idle += j.idle.Seconds()
	}
	if !near(used, s.BusySeconds) || !near(idle, s.IdleSeconds) {
		a.t.Fatalf("used %g, by the Jobs %g; idle %g, %g", s.BusySeconds, used, s.IdleSeconds, idle)
	}
	if area := area(r.Curves.Jobs); !near(unfinished, area) || s.WaitingSeconds > s.IdleSeconds {
		a.t.Fatalf("Jobs existed for %g, by the events %g; %g waiting", area, unfinished, s.WaitingSeconds)
	}
	if s.JobsCreated != int64(len(a.jobs)) {
		a.t.Fatalf("%d Jobs, but\n%v", len(a.jobs), s)
	}
	if s.PeakJobs != int64(a.peakJobs) {
		a.t.Fatalf("most Jobs %d, by the events %d", s.PeakJobs, a.peakJobs)
	}
	if int64(len(a.created)) != s.Polls || len(r.Ticks) != len(a.created) {
		a.t.Fatalf("%d polls, %d ticks, %d events", s.Polls, len(r.Ticks), len(a.created))
	}
	byRule, starved := int64(0), int64(0)
	for _, rule := range s.Rules {
		byRule += rule.Polls
		starved += rule.Starved
	}
	if byRule != s.Polls || starved != s.StarvedPolls {
		a.t.Fatalf("%d polls, %d starved; %d and %d by rules", s.Polls, s.StarvedPolls, byRule, starved)
	}
	for i, tick := range r.Ticks {
		if tick.Created != a.created[i] {
			a.t.Fatalf("tick %d created %d, not %d", i, tick.Created, a.created[i])
		}
	}
}

// What the summary says of the whole is what the events say of each item and each
// Job: conservation and Little's law among it.
func propAudit(t *rapid.T, c *premise.Counts) {
	s := drawScenario(t)
	a := newAudit(t, s)
	happened := map[string]bool{}
	a.check(run(t, s, simulation.Options{Step: step, Observe: func(e simulation.Event) {
		happened[e.Kind] = true
		a.observe(e)
	}}))
	for _, kind := range kinds {
		c.Note(kind, happened[kind])
	}
}

// The core and placement never exceed the maximum, whatever goes wrong.
func propMax(t *rapid.T, c *premise.Counts) {
	s := drawScenario(t)
	if s.Policy.As != "" && s.Policy.As[0] == '2' {
		s.Policy.As = "spec"
	}
	r := run(t, s, simulation.Options{})
	c.Note("as many Jobs as the maximum", r.Summary.PeakJobs == int64(*s.Policy.Spec.MaxReplicaCount) && r.Summary.PeakJobs > 0)
	c.Note("clusters", len(s.Clusters) > 1)
	if r.Summary.ExcessOverMax != 0 {
		t.Fatalf("%v", r.Summary)
	}
}

// A delivery is one of several of an item, and work is what becomes of it.
type delivery struct{ item, number int64 }

type work struct {
	took time.Duration
	done bool // or the pod failed
}

// works returns when each item arrives, and the work on each delivery that was not
// ended from outside.
func works(t *rapid.T, s scenario) (arrivals []time.Duration, all map[delivery]work) {
	type current struct {
		delivery
		since time.Duration
	}
	all = map[delivery]work{}
	deliveries, jobs := map[int64]int64{}, map[int64]current{}
	run(t, s, simulation.Options{Observe: func(e simulation.Event) {
		switch e.Kind {
		case "arrived":
			arrivals = append(arrivals, e.At)
		case "delivered":
			deliveries[e.Item]++
			jobs[e.Job] = current{delivery{e.Item, deliveries[e.Item]}, e.At}
		case "done", "duplicated", "retried", "failed":
			if j, working := jobs[e.Job]; working {
				all[j.delivery] = work{e.At - j.since, e.Kind == "done" || e.Kind == "duplicated"}
			}
			delete(jobs, e.Job)
		case "deleted":
			delete(jobs, e.Job)
		}
	}})
	return arrivals, all
}

// compared counts the works that propSameItems has compared.
var compared int

// Under whatever policy the same items arrive, the work on them takes the same time, and
// fails at the same deliveries.
func propSameItems(t *rapid.T) {
	s := drawScenario(t)
	for i := range s.Clusters {
		s.Clusters[i].Outages = nil // which end the work of the Jobs that there are
	}
	other := s
	other.Policy = drawPolicy(t, len(s.Clusters))
	a, ofA := works(t, s)
	b, ofB := works(t, other)
	if !slices.Equal(a, b) {
		t.Fatalf("%v\n%v", a, b)
	}
	for d, w := range ofA {
		if o, both := ofB[d]; both {
			compared++
			if o != w {
				t.Fatalf("delivery %d of item %d: %+v, and under the other policy %+v", d.number, d.item, w, o)
			}
		}
	}
}

func marshal(t rapid.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(data)
}

// Twice the same, and whatever runs at the same time; the scenario is as it was, and
// its JSON is another like it.
func propSameBytes(t *rapid.T) {
	s := drawScenario(t)
	before := marshal(t, s.Scenario)
	want := marshal(t, run(t, s, simulation.Options{}))
	again := scenario{Policy: s.Policy}
	if err := json.Unmarshal([]byte(before), &again.Scenario); err != nil {
		t.Fatalf("%v", err)
	}
	if got := marshal(t, run(t, again, simulation.Options{})); got != want {
		t.Fatalf("%s\n\n%s", want, got)
	}
	if after := marshal(t, s.Scenario); after != before {
		t.Fatalf("%s became\n\n%s", before, after)
	}
	p := s.built().Autoscaler
	same := s.built()
	same.Autoscaler = p
	var group sync.WaitGroup
	results := make([]*simulation.Result, 3)
	for i := range results {
		group.Go(func() { results[i] = run(t, same, simulation.Options{}) })
	}
	group.Wait()
	for _, r := range results {
		if got := marshal(t, r); got != want {
			t.Fatalf("%s\n\n%s", want, got)
		}
	}
}
