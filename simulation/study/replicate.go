package study

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Options control a study. The zero value decides on the number of seeds itself.
type Options struct {
	// Ran is called after each run, by several goroutines.
	Ran func()
	// Stop is called often, by several goroutines. An error ends the work, and is returned.
	Stop func() error
	// Parallel is the number of simultaneous runs; below 1 it is the number of processors. It
	// has no effect on the results.
	Parallel int
	// Seeds is the number of replications; 0 means as many as are needed, from 10 to 200.
	Seeds int
	// Resample also plays shuffled copies of the traces, which widen the intervals.
	Resample bool
	// SummaryOnly leaves out the bands.
	SummaryOnly bool
}

// The limits of the number of seeds that a study chooses, and the number of shuffled traces.
const (
	minSeeds  = 10
	maxSeeds  = 200
	resamples = 40
)

// A Study holds replications of several policies.
type Study struct {
	Exact    bool     `json:"exact,omitempty"`    // nothing is random: there is one run, and intervals have no width
	Recorded bool     `json:"recorded,omitempty"` // the arrivals are those of a trace, in each run
	Seeds    int      `json:"seeds"`              // runs of each policy
	Blocks   int      `json:"blocks,omitempty"`   // of the traces, if copies of them are shuffled
	Samples  []Sample `json:"samples"`            // in the order of the policies
}

// A Sample holds the replications of a policy.
type Sample struct {
	Policy string               `json:"policy"`
	Runs   []simulation.Summary `json:"runs"` // by seed
	// Resampled are the runs of shuffled traces.
	Resampled []simulation.Summary `json:"resampled,omitempty"`
	// Queue and Jobs are the waiting items and the unfinished Jobs over time, as means of steps of
	// so many seconds.
	Step  float64 `json:"step,omitempty"`
	Queue Band    `json:"queue,omitzero"`
	Jobs  Band    `json:"jobs,omitzero"`
}

// A Band holds, for each place of a curve, the mean of the runs and the values between which
// 90 % of the runs are, shuffled traces included.
type Band struct {
	Mean []float64 `json:"mean,omitempty"`
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Undone returns the number of items that are neither done nor lost.
func Undone(s *simulation.Summary) float64 { return float64(s.Arrived - s.Done - s.Lost) }

// Replicate runs the scenario under each autoscaler in place of its own. An error joins the
// problems of the scenario and of each autoscaler, after its name or policies[i], of which there
// must be one; otherwise it is the error of a run.
func Replicate(s simulation.Scenario, policies []simulation.Autoscaler, o Options) (*Study, error) {
	if err := problems(s, policies); err != nil {
		return nil, err
	}
	r, err := newReplicator(s, policies, o)
	if err != nil {
		return nil, err
	}
	for n := r.start(); n > r.study.Seeds; n = r.neededSeeds() {
		if err := r.grow(n); err != nil {
			return nil, err
		}
	}
	if err := r.resample(); err != nil {
		return nil, err
	}
	r.addBands()
	return r.study, nil
}

// problems returns the problems of the scenario under each of the autoscalers.
func problems(s simulation.Scenario, policies []simulation.Autoscaler) error {
	var errs field.Errors
	reported := map[string]bool{}
	if len(policies) == 0 {
		errs.Add(field.Error{Path: "policies", Found: "none", Fix: "at least one autoscaler"})
	}
	for i, p := range policies {
		s.Autoscaler = p
		for _, err := range field.All(s.Validate()) {
			if err.Path == "policy" || strings.HasPrefix(err.Path, "policy.") {
				name := fmt.Sprintf("policies[%d]", i)
				if p != nil {
					name = cmp.Or(p.Settings().Name, name)
				}
				errs.Join("", fmt.Errorf("%s: %w", name, err))
			} else if !reported[err.Error()] {
				reported[err.Error()] = true
				errs.Join("", err)
			}
		}
	}
	return errs.Err()
}

type replicator struct {
	scenario simulation.Scenario
	policies []simulation.Autoscaler
	options  Options
	study    *Study
	blocks   blocks
	step     simulation.Duration
	curves   [][]simulation.Curves // of the runs of each policy
}

func newReplicator(s simulation.Scenario, policies []simulation.Autoscaler, o Options) (*replicator, error) {
	load := s.Load()
	r := &replicator{
		scenario: s, policies: policies, options: o, curves: make([][]simulation.Curves, len(policies)), step: stepOf(s, load.Length),
		study: &Study{Exact: !load.Random, Samples: make([]Sample, len(policies))},
	}
	for i, p := range policies {
		r.study.Samples[i].Policy = p.Settings().Name
	}
	r.study.Recorded = slices.ContainsFunc(s.Queues, func(q simulation.Queue) bool { return len(q.Trace) > 0 })
	if o.Resample {
		r.blocks = newBlocks(s, policies)
		if r.study.Blocks = r.blocks.count; r.blocks.count < minBlocks {
			return nil, fmt.Errorf("the recording has %s of 20 polls, and a shuffle needs %d; use a longer recording, or do not shuffle it", field.Plural(r.blocks.count, "block"), minBlocks)
		}
	}
	return r, nil
}

func (r *replicator) start() int {
	switch {
	case r.study.Exact:
		return 1
	case r.options.Seeds > 0:
		return r.options.Seeds
	}
	return minSeeds
}

func (r *replicator) grow(n int) error {
	err := r.play(r.study.Seeds, n, func(int) simulation.Scenario { return r.scenario }, func(s *Sample) *[]simulation.Summary { return &s.Runs })
	r.study.Seeds = n
	return err
}

func (r *replicator) resample() error {
	if !r.options.Resample {
		return nil
	}
	return r.play(0, resamples, r.blocks.scenario, func(s *Sample) *[]simulation.Summary { return &s.Resampled })
}

// play runs each policy under the seeds from a number until another, and adds the summaries to a list.
func (r *replicator) play(from, until int, scenario func(seed int) simulation.Scenario, list func(*Sample) *[]simulation.Summary) error {
	width := len(r.policies)
	played := make([]*simulation.Result, max(0, until-from)*width)
	err := parallel(len(played), r.options, func(i int) (err error) {
		seed := from + i/width
		s := scenario(seed)
		s.Autoscaler, s.Seed = r.policies[i%width], r.scenario.Seed+uint64(seed)
		played[i], err = r.run(s)
		return err
	})
	if err != nil {
		return err
	}
	for i, result := range played {
		summaries := list(&r.study.Samples[i%width])
		*summaries = append(*summaries, result.Summary)
		r.curves[i%width] = append(r.curves[i%width], result.Curves)
	}
	return nil
}

func (r *replicator) run(s simulation.Scenario) (*simulation.Result, error) {
	o := simulation.Options{SummaryOnly: true}
	if !r.options.SummaryOnly {
		o.Step = r.step
	}
	if stop := r.options.Stop; stop != nil {
		o.EachPoll = func(simulation.Tick) error { return stop() }
	}
	return simulation.Run(s, o)
}

// neededSeeds returns the number of seeds after which the intervals are expected to be narrow.
func (r *replicator) neededSeeds() int {
	s := r.study
	n := s.Seeds
	if s.Exact || r.options.Seeds > 0 {
		return n
	}
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
				n = max(n, s.Seeds+minSeeds, int(math.Ceil(min(float64(s.Seeds)*half*half/limit/limit, maxSeeds))))
			}
		}
	}
	return min(n, maxSeeds)
}

func (r *replicator) addBands() {
	if r.options.SummaryOnly {
		return
	}
	for i := range r.study.Samples {
		s := &r.study.Samples[i]
		s.Step = seconds(r.step)
		s.Queue = newBand(r.curves[i], len(s.Runs), func(c *simulation.Curves) []float64 { return c.Queue })
		s.Jobs = newBand(r.curves[i], len(s.Runs), func(c *simulation.Curves) []float64 { return c.Jobs })
	}
}

// The parts of the time in which items arrive, and of the longest run, that curves have.
const (
	arrivalSteps = 240
	runSteps     = 960
)

// stepOf returns the length of a step, for items that arrive for a time.
func stepOf(s simulation.Scenario, length simulation.Duration) simulation.Duration {
	drain := max(length, hour)
	if s.Drain != nil {
		drain = *s.Drain
	}
	return max(length/arrivalSteps, (length+drain)/runSteps, simulation.Duration(time.Millisecond))
}

// newBand returns the band of curves, of which shorter ones continue with 0. The mean is that of the
// first n.
func newBand(runs []simulation.Curves, n int, values func(*simulation.Curves) []float64) (b Band) {
	length := 0
	for i := range runs {
		length = max(length, len(values(&runs[i])))
	}
	column := make([]float64, len(runs))
	for k := range length {
		mean := 0.0
		for i := range runs {
			column[i] = 0
			if v := values(&runs[i]); k < len(v) {
				column[i] = v[k]
			}
			if i < n {
				mean += column[i] / float64(n)
			}
		}
		slices.Sort(column)
		tail := len(column) / 20
		b.Mean = append(b.Mean, mean)
		b.Low, b.High = append(b.Low, min(mean, column[tail])), append(b.High, max(mean, column[len(column)-1-tail]))
	}
	return b
}

// parallel calls work for 0 to n-1, some at the same time, and returns the error of the
// lowest index. After an error no further work begins.
func parallel(n int, o Options, work func(i int) error) error {
	width := o.Parallel
	if width < 1 {
		width = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(width, n) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if errs[i] = work(int(i)); errs[i] != nil {
					next.Store(int64(n))
				}
				if o.Ran != nil {
					o.Ran()
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}
