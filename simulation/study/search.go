package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/simulation"
)

// A Condition is an upper bound of a number of a policy.
type Condition struct {
	Value func(*simulation.Summary) float64
	Most  float64
	Below bool // the bound itself does not meet the condition
}

// Meets reports whether a number meets the condition.
func (c *Condition) Meets(n float64) bool { return n < c.Most || !c.Below && n == c.Most }

// A Found is the result of a search.
type Found struct {
	Policy int    `json:"policy"` // index of the chosen policy, or -1 if none meets the conditions
	Tried  int    `json:"tried"`  // policies that the search ran
	Study  *Study `json:"study"`  // of the chosen policy, or of the one that misses the conditions by the least

	miss float64 // of the closest policy, as a factor
}

// rounds are the numbers of replications after which a policy may be decided.
var rounds = []int{1, 3, fewestSeeds, resamples, mostSeeds}

// Search returns the policy that meets all conditions with the smallest maximum, then with
// the longest polling interval, then with the fewest idle seconds. A condition is met if
// the upper end of the 95 % interval meets it. Policies are tried in that order; later ones are
// not run. A policy is out of the race as soon as the lower end of an interval misses a
// condition, or a single run misses it by a factor of three.
func Search(s simulation.Scenario, policies []simulation.Policy, conditions []Condition, o Options) (*Found, error) {
	if err := problems(s, policies); err != nil {
		return nil, err
	}
	o.SummaryOnly = true
	order := make([]int, len(policies))
	for i := range order {
		order[i] = i
	}
	compare := func(a, b int) int {
		x, y := policies[a].Settings(), policies[b].Settings()
		return cmp.Or(cmp.Compare(x.Max, y.Max), cmp.Compare(cmp.Or(y.Interval, defaultInterval), cmp.Or(x.Interval, defaultInterval)))
	}
	slices.SortStableFunc(order, compare)
	f := &Found{Policy: -1}
	for f.Tried < len(order) && f.Policy < 0 {
		group := order[f.Tried:]
		for n := range group {
			if compare(group[0], group[n]) != 0 {
				group = group[:n]
				break
			}
		}
		judged := make([]judgement, len(group))
		err := parallel(len(group), o.Parallel, &progress{}, func(i int, _ func(float64) error) (err error) {
			one := o
			one.Parallel, one.Progress = 1, nil
			judged[i], err = judge(s, policies[group[i]], conditions, one)
			return err
		})
		if err != nil {
			return nil, err
		}
		f.add(group, judged)
		if o.Progress != nil {
			if err := o.Progress(float64(f.Tried) / float64(len(order))); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// add chooses among policies with the same maximum and interval, which come next in the order.
func (f *Found) add(group []int, judged []judgement) {
	f.Tried += len(group)
	least := math.Inf(1)
	for k, i := range group {
		j := &judged[k]
		switch idle := j.of.Estimate(0, func(s *simulation.Summary) float64 { return s.IdleSeconds }).Mean; {
		case j.met && idle < least:
			f.Policy, f.Study, least = i, j.of, idle
		case f.Policy < 0 && (f.Study == nil || j.miss < f.miss):
			f.Study, f.miss = j.of, j.miss
		}
	}
}

// A judgement reports whether a policy meets the conditions, and its distance as a factor.
type judgement struct {
	met  bool
	miss float64
	of   *Study
}

// farOff is the factor by which a single run rules a policy out.
const farOff = 3

func judge(s simulation.Scenario, p simulation.Policy, conditions []Condition, o Options) (j judgement, err error) {
	r := newReplicator(s, []simulation.Policy{p}, o)
	for i, n := range rounds {
		last := i == len(rounds)-1
		if o.Seeds > 0 {
			n, last = o.Seeds, true
		} else if r.study.Sampling == exactly || r.study.Sampling == fromFewBlocks || r.study.Sampling == fromBlocks && n >= resamples {
			n, last = max(r.first(), 1), true
		}
		if err := r.grow(n); err != nil {
			return j, err
		}
		out, in := false, n >= fewestSeeds || last
		j = judgement{of: r.study}
		for _, c := range conditions {
			e := r.study.Estimate(0, c.Value)
			in = in && c.Meets(e.High)
			if !c.Meets(e.High) {
				j.miss = max(j.miss, (e.Mean+1)/(c.Most+1))
			}
			out = out || n > 1 && !c.Meets(e.Low) || n == 1 && j.miss > farOff
		}
		if out || in || last {
			j.met = in
			return j, nil
		}
	}
	return j, nil
}
