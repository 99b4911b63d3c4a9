package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// A Condition is an upper bound of a number of a policy.
type Condition struct {
	Value func(*simulation.Summary) float64 // must not be nil
	Limit float64
	Below bool // the limit itself does not meet the condition
}

// Meets reports whether a number meets the condition.
func (c *Condition) Meets(n float64) bool { return n < c.Limit || (!c.Below && n == c.Limit) }

// A Found is the result of a search.
type Found struct {
	Met    bool   `json:"met"`    // whether a policy meets the conditions
	Policy int    `json:"policy"` // index of that policy, or of the one that misses the conditions by the least
	Tried  int    `json:"tried"`  // policies that the search ran
	Study  *Study `json:"study"`  // of that policy

	miss float64 // of the closest policy, as a factor
}

// rounds are the numbers of replications after which a policy may be decided.
var rounds = []int{1, 3, minSeeds, 40, maxSeeds}

// Search returns the policy that meets the conditions with the smallest maximum, then with
// the longest polling interval, then with the fewest idle seconds. A condition is met if
// the upper end of the 95 % interval meets it. Policies are tried in that order; later ones are
// not run. A policy is out of the race as soon as the lower end of an interval misses a
// condition, or a single run misses it by a factor of three. An error joins the problems that
// [Replicate] reports, and the conditions without a Value.
func Search(s simulation.Scenario, policies []simulation.Autoscaler, conditions []Condition, o Options) (*Found, error) {
	var errs field.Errors
	errs.Join("", problems(s, policies))
	for i, c := range conditions {
		errs.Check(c.Value != nil, fmt.Sprintf("conditions[%d].Value", i), nil, "a number of a Summary")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	order := make([]int, len(policies))
	for i := range order {
		order[i] = i
	}
	compare := func(a, b int) int {
		x, y := policies[a].Settings(), policies[b].Settings()
		return cmp.Or(cmp.Compare(x.Max, y.Max), cmp.Compare(intervalOf(y), intervalOf(x)))
	}
	slices.SortStableFunc(order, compare)
	single := Options{Stop: o.Stop, Seeds: o.Seeds, Resample: o.Resample, Parallel: 1, SummaryOnly: true}
	f := &Found{Policy: -1}
	for f.Tried < len(order) && !f.Met {
		group := order[f.Tried:]
		if n := slices.IndexFunc(group, func(i int) bool { return compare(group[0], i) != 0 }); n >= 0 {
			group = group[:n]
		}
		judged := make([]judgement, len(group))
		err := parallel(len(group), Options{Parallel: o.Parallel, Ran: o.Ran}, func(i int) (err error) {
			judged[i], err = judge(s, policies[group[i]], conditions, single)
			return err
		})
		if err != nil {
			return nil, err
		}
		f.add(group, judged)
	}
	return f, nil
}

// add chooses among policies with the same maximum and interval, which come next in the order.
func (f *Found) add(group []int, judged []judgement) {
	f.Tried += len(group)
	fewest := math.Inf(1)
	for k, i := range group {
		j := &judged[k]
		idle := j.study.Estimate(0, func(s *simulation.Summary) float64 { return s.IdleSeconds }).Mean
		if j.met && idle < fewest {
			f.Met, fewest = true, idle
		} else if f.Met || (f.Study != nil && j.miss >= f.miss) {
			continue
		}
		f.Policy, f.Study, f.miss = i, j.study, j.miss
	}
}

type judgement struct {
	met   bool
	miss  float64
	study *Study
}

// farOff is the factor by which a single run rules a policy out.
const farOff = 3

func judge(s simulation.Scenario, p simulation.Autoscaler, conditions []Condition, o Options) (judgement, error) {
	r, err := newReplicator(s, []simulation.Autoscaler{p}, o)
	if err != nil {
		return judgement{}, err
	}
	numbers := rounds
	if r.study.Exact || o.Seeds > 0 {
		numbers = []int{r.start()}
	} else if o.Resample {
		numbers = rounds[2:]
	}
	for i, n := range numbers {
		if err := r.grow(n); err != nil {
			return judgement{}, err
		}
		if i == 0 {
			if err := r.resample(); err != nil {
				return judgement{}, err
			}
		}
		last := i == len(numbers)-1
		j, missed := r.study.judge(conditions)
		j.met = j.met && (n >= minSeeds || last)
		if missed || j.met || last {
			return j, nil
		}
	}
	panic("no rounds")
}

// judge reports whether the upper ends of the intervals of the first policy meet the conditions, and
// whether one is missed for certain.
func (s *Study) judge(conditions []Condition) (j judgement, missed bool) {
	j = judgement{met: true, study: s}
	for _, c := range conditions {
		e := s.Estimate(0, c.Value)
		if !c.Meets(e.High) {
			j.met, j.miss = false, max(j.miss, (e.Mean+1)/(c.Limit+1))
		}
		missed = missed || (s.Seeds > 1 && !c.Meets(e.Low)) || (s.Seeds == 1 && j.miss > farOff)
	}
	return j, missed
}
