package horizontal_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	h "github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A history is an independent implementation: it keeps everything that ever happened,
// counts in rational numbers, and looks at the whole past in each decision.
type history struct {
	recommended, changed []entry
	scaledToZero         bool
}

type entry struct {
	at time.Time
	n  int64
}

// next returns the count for metrics that are readable numbers of the workload.
func (y *history) next(p h.Policy, now time.Time, current int64, metrics []h.Metric) int64 {
	if len(y.recommended) == 0 {
		y.recommended = []entry{{now, current}}
	}
	least, most := int64(p.Min), int64(p.Max)
	switch {
	case current == 0 && (p.ScaleToZeroGate && !y.scaledToZero || !p.ScaleToZeroGate && least > 0):
		return 0
	case current > most:
		return most
	case current > 0 && current < least:
		return least
	}
	wanted, broken := int64(-1), false
	for _, m := range metrics {
		if m.Unreadable != "" {
			broken = true
			continue
		}
		wanted = max(wanted, y.proposal(p, m, current))
	}
	if wanted < 0 || broken && wanted < current {
		return current
	}
	result := y.bounded(p, now, current, y.stabilized(p, now, current, wanted))
	y.recommended = append(y.recommended, entry{now, wanted})
	result = min(result, most)
	if result < least && (current == 0 || result < current || p.Behavior == nil) {
		result = least
	}
	return result
}

func (y *history) proposal(p h.Policy, m h.Metric, current int64) int64 {
	wanted := big.NewRat(m.Values[0], m.Target)
	if current > 0 {
		// Exact, and rounded once; but in a proposal of Value float64 is part of the rule:
		// 1.1 times 50 asks for 56.
		ratio, _ := new(big.Rat).Quo(wanted, big.NewRat(current, 1)).Float64()
		if m.TargetType == h.Value {
			ratio, _ = wanted.Float64()
			wanted.SetFloat64(ratio * float64(current))
		}
		up, down := p.Tolerance, p.Tolerance
		if p.Behavior != nil && p.Behavior.Up.Tolerance != nil {
			up = *p.Behavior.Up.Tolerance
		}
		if p.Behavior != nil && p.Behavior.Down.Tolerance != nil {
			down = *p.Behavior.Down.Tolerance
		}
		if ratio >= 1-down && ratio <= 1+up {
			return current
		}
	}
	quotient, rest := new(big.Int).QuoRem(wanted.Num(), wanted.Denom(), new(big.Int))
	return quotient.Int64() + int64(rest.Sign())
}

func (y *history) stabilized(p h.Policy, now time.Time, current, wanted int64) int64 {
	extreme := func(window time.Duration, pick func(...int64) int64) int64 {
		all := []int64{wanted}
		for _, e := range y.recommended {
			if now.Sub(e.at) < window {
				all = append(all, e.n)
			}
		}
		return pick(all...)
	}
	smallest := func(all ...int64) int64 { return slices.Min(all) }
	largest := func(all ...int64) int64 { return slices.Max(all) }
	if p.Behavior == nil {
		return extreme(p.DownWindow+1, largest)
	}
	from, to := extreme(*p.Behavior.Up.Window, smallest), extreme(*p.Behavior.Down.Window, largest)
	return min(max(current, from), to)
}

func (y *history) bounded(p h.Policy, now time.Time, current, wanted int64) int64 {
	if p.Behavior == nil {
		return min(wanted, max(2*current, 4))
	}
	sign, rules := int64(1), p.Behavior.Up
	if wanted < current {
		sign, rules = -1, p.Behavior.Down
	}
	if wanted == current || rules.SelectPolicy == h.Disabled {
		return current
	}
	var steps []int64 // how far each policy lets the count go
	for _, l := range rules.Policies {
		base := current
		for _, e := range y.changed {
			if now.Sub(e.at) < l.Period {
				base -= e.n
			}
		}
		// float64 is part of the rule: 1 + 15/100 is not exactly 1.15.
		limit := base + sign*int64(l.Value)
		if l.Type == h.PercentPolicy {
			scaled := float64(base) * (1 + float64(sign)*float64(l.Value)/100)
			limit = int64(scaled)
			if sign > 0 && scaled > float64(limit) {
				limit++
			}
		}
		steps = append(steps, sign*(limit-current))
	}
	step := slices.Max(steps)
	if rules.SelectPolicy == h.MinChange {
		step = slices.Min(steps)
	}
	return current + sign*min(sign*(wanted-current), max(0, step))
}

func (y *history) wrote(p h.Policy, now time.Time, from, to int64) {
	y.scaledToZero = to == 0 && p.Min == 0
	if p.Behavior == nil {
		return
	}
	// Kubernetes forgets a change that its own direction does not count any more, though the
	// other direction may: the last of them, when the next one in that direction is written.
	longest := time.Duration(0)
	for _, l := range map[bool]h.ScalingRules{true: p.Behavior.Up, false: p.Behavior.Down}[to > from].Policies {
		longest = max(longest, l.Period)
	}
	for i, e := range slices.Backward(y.changed) {
		if (e.n > 0) == (to > from) && now.Sub(e.at) > longest {
			y.changed = slices.Delete(y.changed, i, i+1)
			break
		}
	}
	y.changed = append(y.changed, entry{now, to - from})
}

// The package decides as the history does.
func propOracle(t *rapid.T, c *premise.Counts) {
	s := scale(drawPolicy(t), int32(rapid.IntRange(0, 60).Draw(t, "current")))
	var y history
	seen := map[h.Reason]bool{}
	for range rapid.IntRange(1, 15).Draw(t, "polls") {
		s.pods = readyPods(s.count)
		metrics, from := drawMetrics(t), int64(s.count)
		wait := time.Duration(rapid.IntRange(1, 400).Draw(t, "wait")) * time.Second
		if rapid.IntRange(0, 3).Draw(t, "edges") == 0 {
			wait = rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, time.Hour}).Draw(t, "edge")
		}
		d := s.after(wait, metrics...)
		if want := y.next(s.policy, s.now, from, metrics); int64(d.Replicas) != want {
			t.Fatalf("%s; the history says %d", d, want)
		}
		if d.Replicas != d.Current {
			y.wrote(s.policy, s.now, from, int64(d.Replicas))
		}
		seen[d.Reason] = true
	}
	for _, rule := range []h.Reason{h.ReasonDisabled, h.ReasonAboveMax, h.ReasonBelowMin, h.ReasonUnreadable, h.ReasonMetrics, h.ReasonStabilized, h.ReasonLimited, h.ReasonMax, h.ReasonMin} {
		c.Note(string(rule), seen[rule])
	}
}

func TestOracle(t *testing.T) {
	premise.Check(t, propOracle, premise.Least{
		"ScalingDisabled": 0.02, "AboveMax": 0.1, "BelowMin": 0.05, "Unreadable": 0.3, "Metrics": 0.2, "Stabilized": 0.1, "Limited": 0.1, "Max": 0.1, "Min": 0.1,
	})
}
func FuzzOracle(f *testing.F) { premise.Fuzz(f, propOracle) }
