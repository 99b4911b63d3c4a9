package scaling_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A kind is the state of a metric.
type kind int

const (
	failed kind = iota
	unreadable
	inactive
	infinite // and active
	deciding
)

func (p poll) kind(m scaling.Metric) kind {
	isActive := m.Activity == scaling.Active || m.Activity == scaling.ByThreshold && m.Value > m.ActivationThreshold
	positive := m.Target > 0 && !math.IsInf(m.Target, 1)
	switch {
	case m.Failed:
		return failed
	case !(m.Value >= 0) || !positive || math.IsInf(m.Value, 1) && p.Bounds.Max == scaling.NoMax:
		return unreadable
	case !isActive:
		return inactive
	case math.IsInf(m.Value, 1):
		return infinite
	}
	return deciding
}

// kinds are the metrics of each kind.
func (p poll) kinds() map[kind][]scaling.Metric {
	of := map[kind][]scaling.Metric{}
	for _, m := range p.Metrics {
		of[p.kind(m)] = append(of[p.kind(m)], m)
	}
	return of
}

// endless is more Jobs than any finite queue asks for here.
const endless = 1 << 40

// exact is the number with one decimal place.
func exact(x float64) *big.Rat { return big.NewRat(int64(math.Round(x*10)), 10) }

func quotient(m scaling.Metric) *big.Rat { return new(big.Rat).Quo(exact(m.Value), exact(m.Target)) }

// A want is what metrics ask for together. Both numbers are nil if they are
// infinite.
type want struct{ queue, quotient *big.Rat }

func wanted(a scaling.Aggregation, finite []scaling.Metric, infinite bool) want {
	all := want{new(big.Rat), new(big.Rat)}
	switch {
	case infinite && (a != scaling.Min || len(finite) == 0):
		return want{}
	case len(finite) == 0:
	case a == scaling.Max || a == scaling.Min:
		queue := extreme(a, finite)
		all.queue = exact(queue)
		for _, m := range finite {
			if m.Value == queue && quotient(m).Cmp(all.quotient) > 0 {
				all.quotient = quotient(m)
			}
		}
	default:
		for _, m := range finite {
			all.queue.Add(all.queue, exact(m.Value))
			all.quotient.Add(all.quotient, quotient(m))
		}
		if a == scaling.Avg {
			part := big.NewRat(1, int64(len(finite)))
			all.queue.Mul(all.queue, part)
			all.quotient.Mul(all.quotient, part)
		}
	}
	return all
}

// extreme is the shortest queue under Min, else the longest.
func extreme(a scaling.Aggregation, metrics []scaling.Metric) float64 {
	var queues []float64
	for _, m := range metrics {
		queues = append(queues, m.Value)
	}
	if a == scaling.Min {
		return slices.Min(queues)
	}
	return slices.Max(queues)
}

// jobs is the quotient rounded up.
func (w want) jobs() int64 {
	if w.quotient == nil {
		return endless
	}
	up := new(big.Int).Add(w.quotient.Num(), new(big.Int).Sub(w.quotient.Denom(), big.NewInt(1)))
	return up.Quo(up, w.quotient.Denom()).Int64()
}

// is reports whether a demand is what is wanted.
func (w want) is(d scaling.Demand) bool {
	if w.quotient == nil {
		return math.IsInf(d.Queue, 1) && math.IsInf(d.Quotient, 1) && d.Jobs >= endless
	}
	queue, _ := w.queue.Float64()
	quotient, _ := w.quotient.Float64()
	return math.Abs(d.Queue-queue) < 1e-9 && math.Abs(d.Quotient-quotient) < 1e-9 && d.Jobs == w.jobs()
}

// oracle is the written specification once more: what is wanted, and the Jobs
// created.
func oracle(p poll) (all want, create int64) {
	of := p.kinds()
	all = wanted(p.Aggregation, of[deciding], len(of[infinite]) > 0)
	if p.Paused || p.Jobs == nil {
		return all, 0
	}
	j := *p.Jobs
	pending := min(j.Pending, j.Running)
	stuck := pending - min(j.Suspended, pending)
	if !j.AgesUnknown {
		stuck = min(j.Stuck, stuck)
	}
	running, pending := j.Running+j.InFlight, pending+j.InFlight
	most, least := p.Bounds.Max, min(p.Bounds.Min, p.Bounds.Max)
	bound := func(create int64) int64 { return max(0, min(create, most-running-j.Terminating)) }
	missing := max(0, least-running)
	holds := p.HoldOnFailure && len(of[failed])+len(of[unreadable]) > 0
	if holds || len(of[deciding])+len(of[infinite]) == 0 {
		return all, bound(missing)
	}
	st := p.Strategy
	if st == nil {
		st = strategy.Default{}
	}
	load := strategy.Load{Target: min(all.jobs(), most), Running: running, Pending: pending, Stuck: stuck, Max: most}
	if p.Bounds.Mode == scaling.Floor {
		switch st.(type) {
		case strategy.Default, strategy.PendingAware:
			load.Target = max(load.Target, least)
		}
		return all, bound(max(missing, st.Propose(load)))
	}
	load.Max -= least
	load.Target = min(all.jobs(), load.Max)
	load.Running = max(0, running-least)
	load.Pending = min(pending, load.Running)
	load.Stuck = min(stuck, load.Pending)
	return all, bound(missing + max(0, st.Propose(load)))
}

// The demand and the number of Jobs are those of the specification, on decimals
// with one place.
func propOracle(t *rapid.T, c *premise.Counts) {
	p := drawPoll(t)
	d := p.decide()
	all, create := oracle(p)
	if !all.is(d.Trace.Demand) {
		t.Fatalf("want %+v\n%s", all, d)
	}
	if d.Create != create {
		t.Fatalf("want %d\n%s", create, d)
	}
	noteMetrics(p, c)
	noteJobs(p, d, c)
}

// noteMetrics notes the kinds that metrics beside one that decides are of, where
// taking them for another kind makes a difference.
func noteMetrics(p poll, c *premise.Counts) {
	of, a := p.kinds(), p.Aggregation
	decides := len(of[deciding]) > 0
	countable := decides && (a == scaling.Min || len(of[infinite]) == 0)
	for _, a := range []scaling.Aggregation{scaling.Max, scaling.Min, scaling.Avg, scaling.Sum} {
		is := a == p.Aggregation
		c.Note(a.String()+" beside an inactive metric", is && countable && len(of[inactive]) > 0)
		c.Note(a.String()+" beside a failed metric", is && countable && len(of[failed]) > 0)
		c.Note(a.String()+" beside an unreadable metric", is && countable && len(of[unreadable]) > 0)
		c.Note(a.String()+" beside an infinite metric", is && decides && len(of[infinite]) > 0)
	}
	c.Note("max, with a tie that matters", a == scaling.Max && countable && tied(a, of[deciding]))
	c.Note("min, with a tie that matters", a == scaling.Min && countable && tied(a, of[deciding]))
	c.Note("an active metric of 0", slices.ContainsFunc(of[deciding], func(m scaling.Metric) bool { return m.Value == 0 }))
	c.Note("no active metric", len(p.Metrics) > 0 && !decides && len(of[infinite]) == 0 && len(of[inactive]) > 0)
	c.Note("no readable metric", len(p.Metrics) > 0 && len(of[failed])+len(of[unreadable]) == len(p.Metrics))
}

// tied reports whether several of the metrics have the extreme queue, and ask for
// different numbers of Jobs.
func tied(a scaling.Aggregation, metrics []scaling.Metric) bool {
	asked := map[int64]bool{}
	for _, m := range metrics {
		if m.Value == extreme(a, metrics) {
			asked[wanted(a, []scaling.Metric{m}, false).jobs()] = true
		}
	}
	return len(asked) > 1
}

// ruled are the rules that Decide returns.
var ruled = []scaling.Reason{scaling.ReasonStrategy, scaling.ReasonMin, scaling.ReasonMax, scaling.ReasonInactive, scaling.ReasonUnreadable,
	scaling.ReasonHeld, scaling.ReasonPaused, scaling.ReasonJobsUnknown}

func noteJobs(p poll, d scaling.Decision, c *premise.Counts) {
	for _, rule := range ruled {
		c.Note("rule: "+rule.Text(), d.Reason == rule)
	}
	t, asked := d.Trace, d.Trace.Strategy != ""
	least := min(p.Bounds.Min, p.Bounds.Max)
	c.Note("additive minimum", asked && least > 0 && p.Bounds.Mode == scaling.Additive)
	c.Note("floor", asked && least > 0 && p.Bounds.Mode == scaling.Floor)
	c.Note("minimum above the maximum", p.Bounds.Min > p.Bounds.Max)
	c.Note("no maximum", asked && p.Bounds.Max == scaling.NoMax)
	c.Note("creates", d.Create > 0)
	c.Note("terminating Jobs limit", t.Jobs.Terminating > 0 && d.Reason == scaling.ReasonMax && t.Headroom < p.Bounds.Max-t.Jobs.Running)
	c.Note("stuck Jobs are replaced", asked && d.Create > 0 && t.Load.Stuck > 0 && t.Strategy == strategy.PendingAware{}.String())
	c.Note("ages unknown", asked && t.Load.Stuck > 0 && t.Jobs.AgesUnknown)
	c.Note("suspended Jobs", asked && t.Jobs.Suspended > 0)
	c.Note("Jobs in flight", asked && t.Jobs.InFlight > 0)
	for _, s := range strategies[:len(strategies)-1] {
		c.Note("strategy "+strategy.Describe(s), t.Strategy == strategy.Describe(s))
	}
}

func TestOracle(t *testing.T) {
	const interesting = 0.05
	least := premise.Least{}
	for _, a := range []string{"max", "min", "avg", "sum"} {
		for _, kind := range []string{"an inactive", "a failed", "an unreadable", "an infinite"} {
			least[a+" beside "+kind+" metric"] = interesting
		}
	}
	for _, rule := range ruled {
		least["rule: "+rule.Text()] = 0.03
	}
	for _, s := range strategies[:len(strategies)-1] {
		least["strategy "+strategy.Describe(s)] = 0.025
	}
	for _, premise := range []string{"max, with a tie that matters", "min, with a tie that matters", "an active metric of 0", "no active metric",
		"no readable metric", "additive minimum", "floor", "minimum above the maximum", "no maximum", "creates", "terminating Jobs limit",
		"stuck Jobs are replaced", "ages unknown", "suspended Jobs", "Jobs in flight"} {
		least[premise] = interesting
	}
	premise.Check(t, propOracle, least)
}

func FuzzOracle(f *testing.F) { premise.Fuzz(f, propOracle) }
