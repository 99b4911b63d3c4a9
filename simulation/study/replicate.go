package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Options control a study. The zero value decides on the number of seeds itself.
type Options struct {
	// Progress receives the completed share of the work, from 0 to 1, which never
	// decreases. It is never called by two goroutines at once. An error ends the work, and is returned.
	Progress func(part float64) error
	// Stop is called often, by several goroutines. An error ends the work, and is returned.
	Stop func() error
	// Parallel is the number of simultaneous runs; below 1 it is the number of processors. It
	// has no effect on the results.
	Parallel int
	// Seeds is the number of replications; 0 means as many as are needed, from 10 to 200.
	Seeds int
	// SummaryOnly leaves out the bands, and the ticks of the first run.
	SummaryOnly bool
}

// The limits of the number of seeds that a study chooses, and the number of resampled
// traces.
const (
	fewestSeeds = 10
	mostSeeds   = 200
	resamples   = 40
)

// Values of Study.Sampling.
const (
	fromSeeds     = "seeds"
	fromBlocks    = "blocks"
	fromFewBlocks = "fewBlocks"
	exactly       = "exact"
)

// A Study holds replications of several policies.
type Study struct {
	// Sampling is the source of the differences between replications:
	//
	//	seeds      random numbers; intervals are of means
	//	blocks     blocks of the trace; intervals are of a trace of this length
	//	fewBlocks  the trace has fewer than 10 blocks; there are no intervals
	//	exact      nothing is random; intervals have no width
	Sampling string   `json:"sampling"`
	Seeds    int      `json:"seeds"`            // runs of each policy
	Blocks   int      `json:"blocks,omitempty"` // of the trace
	Samples  []Sample `json:"samples"`          // in the order of the policies
}

// A Sample holds the replications of a policy.
type Sample struct {
	Policy string               `json:"policy"` // its name
	Runs   []simulation.Summary `json:"runs"`   // in the order of the seeds
	// First is the run under the first seed, of the recorded trace if there is one.
	First simulation.Result `json:"first"`
	// Queue and Jobs are the waiting items and the unfinished Jobs over time, in steps of so
	// many seconds.
	Step  float64 `json:"step,omitempty"`
	Queue Band    `json:"queue,omitzero"`
	Jobs  Band    `json:"jobs,omitzero"`
	// Waits holds the quantiles of the wait at 0, 1, … 100 %, in seconds.
	Waits Band `json:"waits,omitzero"`
}

// A Band holds, for each place of a curve, the mean of the runs and the values between which
// 90 % of the runs are.
type Band struct {
	Mean []float64 `json:"mean,omitempty"`
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Undone returns the number of items that are neither done nor lost.
func Undone(s *simulation.Summary) float64 { return float64(s.Arrived - s.Done - s.Lost) }

// Replicate runs the scenario under each policy in place of its own. An error joins the
// problems of the scenario and of each policy, after its name or policies[i]; otherwise it
// is the error of a run.
func Replicate(s simulation.Scenario, policies []simulation.Policy, o Options) (*Study, error) {
	if err := problems(s, policies); err != nil {
		return nil, err
	}
	r := newReplicator(s, policies, o)
	if err := r.grow(r.first()); err != nil {
		return nil, err
	}
	for r.study.Sampling == fromSeeds && o.Seeds == 0 {
		n := r.study.wanted()
		if n <= r.study.Seeds {
			break
		}
		if err := r.grow(n); err != nil {
			return nil, err
		}
	}
	return r.finish(), nil
}

// problems returns the problems of the scenario under each of the policies.
func problems(s simulation.Scenario, policies []simulation.Policy) error {
	var all field.Errors
	seen := map[string]bool{}
	for i, p := range policies {
		s.Policy = p
		for _, err := range field.All(s.Validate()) {
			if err.Path == "policy" || len(err.Path) > 7 && err.Path[:7] == "policy." {
				name := fmt.Sprintf("policies[%d]", i)
				if p != nil {
					name = cmp.Or(p.Settings().Name, name)
				}
				all.Join("", fmt.Errorf("%s: %w", name, err))
			} else if !seen[err.Error()] {
				seen[err.Error()] = true
				all.Join("", err)
			}
		}
	}
	return all.Err()
}

// A replicator adds replications to a study.
type replicator struct {
	scenario simulation.Scenario
	policies []simulation.Policy
	options  Options
	study    *Study
	curves   [][]curves // of each policy, by seed
	bar      progress
	splice   func(seed int) simulation.Scenario
}

func newReplicator(s simulation.Scenario, policies []simulation.Policy, o Options) *replicator {
	r := &replicator{scenario: s, policies: policies, options: o, study: &Study{Sampling: exactly, Samples: make([]Sample, len(policies))}}
	r.bar.tell, r.bar.stop = o.Progress, o.Stop
	r.curves = make([][]curves, len(policies))
	for i, p := range policies {
		r.study.Samples[i].Policy = p.Settings().Name
	}
	hasTrace := slices.ContainsFunc(s.Queues, func(q simulation.Queue) bool { return len(q.Trace) > 0 })
	switch {
	case hasTrace:
		r.study.Sampling = fromFewBlocks
		b := blocksOf(s, policies)
		if r.study.Blocks = b.n; b.n >= fewestBlocks {
			r.study.Sampling, r.splice = fromBlocks, b.scenario
		}
	case s.Load().Random:
		r.study.Sampling = fromSeeds
	}
	return r
}

// first returns the number of runs to begin with.
func (r *replicator) first() int {
	switch {
	case r.study.Sampling == exactly || r.study.Sampling == fromFewBlocks && !r.scenario.Load().Random:
		return 1
	case r.options.Seeds > 0:
		return r.options.Seeds
	case r.study.Sampling == fromBlocks:
		return resamples
	}
	return fewestSeeds
}

// grow adds runs until there are n of each policy.
func (r *replicator) grow(n int) error {
	from, each := r.study.Seeds, len(r.policies)
	type outcome struct {
		summary simulation.Summary
		curves  curves
		first   *simulation.Result
	}
	jobs := (n - from) * each
	recorded := 0 // runs of the recorded trace itself, which is not among its resamples
	if from == 0 && r.splice != nil {
		recorded = each
	}
	all := make([]outcome, jobs+recorded)
	err := parallel(len(all), r.options.Parallel, &r.bar, func(i int, tell func(float64) error) error {
		s, seed := r.scenario, from+i/each
		if i >= jobs {
			seed = 0
		} else if r.splice != nil {
			s = r.splice(seed)
		}
		s.Policy, s.Seed = r.policies[i%each], r.scenario.Seed+uint64(seed)
		first := from == 0 && (i >= jobs || recorded == 0 && seed == 0)
		result, c, err := play(s, r.scenario, r.options.SummaryOnly, first, tell)
		if err != nil {
			return err
		}
		all[i] = outcome{summary: result.Summary, curves: c}
		if first {
			all[i].first = result
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, one := range all {
		sample := &r.study.Samples[i%each]
		if one.first != nil {
			sample.First = *one.first
		}
		if i < jobs {
			sample.Runs = append(sample.Runs, one.summary)
			r.curves[i%each] = append(r.curves[i%each], one.curves)
		}
	}
	r.study.Seeds = n
	return nil
}

// wanted returns the number of seeds after which the intervals are expected to be narrow.
func (s *Study) wanted() int {
	n := s.Seeds
	for i := range s.Samples {
		cost := s.Estimate(i, (*simulation.Summary).Cost).Mean
		for _, m := range []struct {
			value func(*simulation.Summary) float64
			limit float64
		}{
			{func(s *simulation.Summary) float64 { return s.Wait.P95 }, 1},
			{Undone, 1},
			{func(s *simulation.Summary) float64 { return s.IdleSeconds }, cost / 100},
		} {
			e := s.Estimate(i, m.value)
			if half, limit := (e.High-e.Low)/2, max(math.Abs(e.Mean)/20, m.limit); half > limit {
				n = max(n, s.Seeds+fewestSeeds, int(math.Ceil(min(float64(s.Seeds)*half*half/limit/limit, mostSeeds))))
			}
		}
	}
	return min(n, mostSeeds)
}

// finish makes bands of the curves.
func (r *replicator) finish() *Study {
	for i := range r.study.Samples {
		if s := &r.study.Samples[i]; !r.options.SummaryOnly {
			s.Step = stepOf(r.scenario)
			s.Queue = bandOf(r.curves[i], func(c *curves) []float64 { return c.queue })
			s.Jobs = bandOf(r.curves[i], func(c *curves) []float64 { return c.jobs })
			s.Waits = bandOf(r.curves[i], func(c *curves) []float64 { return c.waits })
		}
	}
	return r.study
}
