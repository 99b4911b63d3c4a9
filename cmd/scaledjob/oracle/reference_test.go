package oracle_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/premise"
)

// A reference is a second implementation of the specification, in exact fractions and
// without bounds on numbers, written from the formulas alone.

type entry struct {
	queue, target, threshold string
	active                   *bool
	failed                   bool
}

type poll struct {
	scalers                            []entry
	calculation, strategy, min         string
	least, most                        *int64
	deduction                          int64
	percentage                         string
	subtract, hold, paused, unknown    bool
	running, pending, suspended        int64
	stuck                              *int64
	agesUnknown                        bool
	inFlight, terminating, scaleTarget int64
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

func whole(n int64) *big.Int { return big.NewInt(n) }

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }

var zero, endless = whole(0), whole(1 << 62)

// readable reports whether the entry has a queue length and a target.
func (e entry) readable() bool {
	return !e.failed && e.queue != "NaN" && (e.queue == "+Inf" || rat(e.queue).Sign() >= 0) && rat(e.target).Sign() > 0
}

func (e entry) isActive() bool {
	if e.active != nil {
		return *e.active
	}
	return e.queue == "+Inf" || rat(e.queue).Cmp(rat(e.threshold)) > 0
}

func ceil(q *big.Rat) *big.Int {
	up := new(big.Int).Div(new(big.Int).Add(q.Num(), minus(q.Denom(), whole(1))), q.Denom())
	return up
}

// demand is T before the bounds. endless stands for infinity.
func (p *poll) demand(active []entry) *big.Int {
	length := func(e entry) *big.Rat {
		if e.queue == "+Inf" {
			return new(big.Rat).SetInt(endless)
		}
		return rat(e.queue)
	}
	quotient := func(e entry) *big.Rat {
		if e.queue == "+Inf" {
			return new(big.Rat).SetInt(endless)
		}
		return new(big.Rat).Quo(rat(e.queue), rat(e.target))
	}
	if p.calculation == "sum" || p.calculation == "avg" {
		total := new(big.Rat)
		for _, e := range active {
			total.Add(total, quotient(e))
		}
		if p.calculation == "avg" {
			total.Quo(total, new(big.Rat).SetInt64(int64(len(active))))
		}
		return ceil(total)
	}
	best := active[0]
	for _, e := range active[1:] {
		order := length(e).Cmp(length(best))
		if p.calculation == "min" {
			order = -order
		}
		if order > 0 || order == 0 && quotient(e).Cmp(quotient(best)) > 0 {
			best = e
		}
	}
	return ceil(quotient(best))
}

type jobs struct{ t, r, p, s, m *big.Int }

func (p *poll) counts() (j jobs) {
	r := larger(zero, whole(p.running))
	pending := smaller(larger(zero, whole(p.pending)), r)
	rest := minus(pending, smaller(larger(zero, whole(p.suspended)), pending))
	j.s = rest
	if p.stuck != nil {
		j.s = smaller(larger(zero, whole(*p.stuck)), rest)
	}
	flying := larger(zero, whole(p.inFlight))
	j.r, j.p = plus(r, flying), plus(pending, flying)
	return j
}

func (p *poll) total() bool {
	return p.strategy == "default" || p.strategy == "pendingAware" || p.strategy == "custom" && p.percentage == ""
}

func (p *poll) propose(j jobs) *big.Int {
	switch {
	case p.strategy == "custom" && p.percentage != "":
		share := new(big.Rat).Mul(new(big.Rat).SetInt(j.r), rat(p.percentage))
		trunc := new(big.Int).Quo(share.Num(), share.Denom())
		return smaller(j.m, minus(minus(j.t, whole(p.deduction)), trunc))
	case p.strategy == "accurate":
		compared := plus(j.t, j.r)
		if p.subtract {
			compared = minus(compared, j.p)
		}
		if compared.Cmp(j.m) > 0 {
			return minus(j.m, j.r)
		}
		return minus(j.t, j.p)
	case p.strategy == "eager":
		return smaller(minus(minus(j.m, j.r), j.p), j.t)
	case p.strategy == "pendingAware":
		return smaller(larger(zero, plus(minus(j.t, j.r), j.s)), larger(zero, minus(j.m, j.r)))
	}
	return minus(j.t, j.r)
}

func (p *poll) bounds() (lo, hi *big.Int) {
	lo, hi = zero, whole(100)
	if p.most != nil {
		hi = larger(zero, whole(*p.most))
	}
	if p.least != nil {
		lo = smaller(larger(zero, whole(*p.least)), hi)
	}
	return lo, hi
}

// create returns the Jobs to create, and the reason.
func (p *poll) create() (*big.Int, string) {
	j := p.counts()
	lo, hi := p.bounds()
	headroom := larger(zero, minus(minus(hi, j.r), larger(zero, whole(p.terminating))))
	below := larger(zero, minus(lo, j.r))
	var active []entry
	read := 0
	for _, e := range p.scalers {
		if !e.readable() {
			continue
		}
		read++
		if e.isActive() {
			active = append(active, e)
		}
	}
	switch {
	case p.paused || p.unknown:
		return zero, "nothing"
	case len(p.scalers) > 0 && read == 0, p.hold && read < len(p.scalers), len(active) == 0:
		return smaller(below, headroom), "minimum"
	}
	n := new(big.Int)
	if p.min == "floor" {
		j.m, j.t = hi, smaller(p.demand(active), hi)
		if p.total() {
			j.t = larger(j.t, lo)
		}
		n = larger(below, p.propose(j))
	} else {
		j.m = minus(hi, lo)
		j.t = smaller(p.demand(active), j.m)
		j.r = larger(zero, minus(j.r, lo))
		j.p = smaller(j.p, j.r)
		j.s = smaller(j.s, j.p)
		n.Add(below, larger(zero, p.propose(j)))
	}
	if n.Cmp(headroom) > 0 {
		return headroom, "cut"
	}
	return n, "strategy"
}

// fields returns the poll in the words of a line.
func (p *poll) fields() map[string]any {
	f := map[string]any{
		"running": p.running, "pending": p.pending, "suspended": p.suspended, "inFlight": p.inFlight, "terminating": p.terminating,
		"calculation": p.calculation, "strategy": p.strategy, "min": p.min, "hold": p.hold, "paused": p.paused, "jobsUnknown": p.unknown,
		"minReplicaCount": p.least, "maxReplicaCount": p.most, "stuck": p.stuck, "agesUnknown": p.agesUnknown,
		"customScalingQueueLengthDeduction": p.deduction, "customScalingRunningJobPercentage": p.percentage,
	}
	if p.subtract {
		f["accurate"] = "subtractPending"
	}
	all := []any{}
	for _, e := range p.scalers {
		s := map[string]any{"target": json.Number(e.target), "failed": e.failed, "isActive": e.active, "activationTarget": json.Number(e.threshold)}
		s["queueLength"] = json.Number(e.queue)
		if e.queue == "NaN" || e.queue == "+Inf" {
			s["queueLength"] = e.queue
		}
		all = append(all, s)
	}
	f["scalers"] = all
	return f
}

func drawPoll(t *rapid.T) *poll {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	rarely := func(label string) bool { return rapid.IntRange(0, 9).Draw(t, label) == 8 }
	count := func(label string) int64 {
		return rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(0, 12), rapid.Int64Range(-2, 1_000_000)).Draw(t, label)
	}
	decimal := func(label string) string {
		return rapid.OneOf(
			rapid.Map(rapid.IntRange(0, 40), func(n int) string { return big.NewRat(int64(n), 1).FloatString(0) }),
			rapid.Map(rapid.IntRange(1, 90), func(n int) string { return big.NewRat(int64(n), 10).FloatString(1) }),
		).Draw(t, label)
	}
	p := &poll{
		calculation: pick("calculation", "max", "min", "avg", "sum"), min: pick("min", "additive", "floor"),
		strategy:   pick("strategy", "default", "accurate", "eager", "custom", "pendingAware"),
		percentage: pick("percentage", "", "0", "0.29", "0.5", "1", "1.3", "0.333"), deduction: rapid.Int64Range(-3, 5).Draw(t, "deduction"),
		subtract: rapid.Bool().Draw(t, "subtract"), hold: rapid.Bool().Draw(t, "hold"), paused: rarely("paused"), unknown: rarely("unknown"),
		running: count("running"), inFlight: rapid.Int64Range(0, 3).Draw(t, "in flight"), terminating: rapid.Int64Range(-1, 4).Draw(t, "terminating"),
		scaleTarget: count("target"),
	}
	p.pending = rapid.Int64Range(-1, max(0, p.running)+2).Draw(t, "pending")
	p.suspended = rapid.Int64Range(0, max(0, p.pending)/2+1).Draw(t, "suspended")
	switch rapid.IntRange(0, 3).Draw(t, "stuck is") {
	case 0:
	case 1:
		p.agesUnknown = true
	default:
		p.stuck = new(rapid.Int64Range(-1, max(0, p.pending)+1).Draw(t, "stuck"))
	}
	if rapid.Bool().Draw(t, "has min") {
		p.least = new(rapid.Int64Range(-1, 12).Draw(t, "least"))
	}
	if !rarely("no max") {
		p.most = new(rapid.OneOf(rapid.Int64Range(-1, 30), rapid.Int64Range(10, 2_000_000)).Draw(t, "most"))
	}
	for range rapid.SampledFrom([]int{1, 2, 3, 4, 2, 0}).Draw(t, "scalers") {
		e := entry{queue: decimal("queue"), target: decimal("per Job"), threshold: pick("threshold", "0", "3", "0.5"), failed: rarely("failed")}
		if rarely("special") {
			e.queue = pick("special queue", "NaN", "+Inf", "-1")
		}
		if rapid.Bool().Draw(t, "says") {
			e.active = new(!rarely("inactive"))
		}
		p.scalers = append(p.scalers, e)
	}
	return p
}

// answerOf returns a field of the answer to a line.
func answerOf(t *rapid.T, fields map[string]any, name string) string {
	line, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := oracle.Answer(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return string(all[name])
}

func propDecision(t *rapid.T, c *premise.Counts) {
	p := drawPoll(t)
	want, reason := p.create()
	fields := p.fields()
	if got := answerOf(t, fields, "create"); got != want.String() {
		line, _ := json.Marshal(fields)
		t.Fatalf("create %s, the reference has %s\n%s", got, want, line)
	}
	c.Note("creates", want.Sign() > 0)
	c.Note(reason, true)
	c.Note("creates by "+p.strategy, reason == "strategy" && want.Sign() > 0)
	c.Note("ages unknown, and some are stuck", p.stuck == nil && p.counts().s.Sign() > 0)
}

func propProposal(t *rapid.T, c *premise.Counts) {
	p := drawPoll(t)
	j := p.counts()
	_, j.m = p.bounds()
	j.t = larger(zero, whole(p.scaleTarget))
	fields := p.fields()
	fields["kind"], fields["maxScale"] = "strategy", p.scaleTarget
	if got, want := answerOf(t, fields, "effectiveMaxScale"), p.propose(j); got != want.String() {
		line, _ := json.Marshal(fields)
		t.Fatalf("effectiveMaxScale %s, the reference has %s\n%s", got, want, line)
	}
	c.Note("positive", p.propose(j).Sign() > 0)
	c.Note("stuck Jobs count", p.strategy == "pendingAware" && j.s.Sign() > 0)
}

// The answers are those of the reference, in 10,000 random decisions and as many
// proposals.
func TestReference(t *testing.T) {
	premise.Check(t, propDecision, premise.Least{"creates": 0.2, "strategy": 0.3, "minimum": 0.15, "nothing": 0.08, "cut": 0.02,
		"creates by default": 0.01, "creates by accurate": 0.01, "creates by eager": 0.01, "creates by custom": 0.01,
		"creates by pendingAware": 0.01, "ages unknown, and some are stuck": 0.1})
	premise.Check(t, propProposal, premise.Least{"positive": 0.15, "stuck Jobs count": 0.02})
}
func FuzzReference(f *testing.F) { premise.Fuzz(f, propDecision) }

func TestReferenceRules(t *testing.T) {
	five := &poll{strategy: "pendingAware", min: "additive", calculation: "max", running: 5, pending: 4, suspended: 1, inFlight: 1, terminating: 2,
		scalers: []entry{{queue: "2.1", target: "0.3", threshold: "0"}}}
	n, _ := five.create()
	require.Equal(t, "4", n.String(), "T=7 R=6 S=3")
	five.most = new(int64(9))
	n, _ = five.create()
	require.Equal(t, "1", n.String(), "room for 9 - 6 - 2")
}
