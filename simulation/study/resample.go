package study

import (
	"math/rand/v2"

	"github.com/scaledjob/scaledjob/simulation"
)

const (
	minBlocks  = 10 // of a trace that is shuffled
	blockPolls = 20 // in a block, at least
)

// blocks are the parts of a trace that are drawn in place of each other.
type blocks struct {
	trace  simulation.Scenario
	count  int // of full length; a shorter one at the end is not drawn
	length simulation.Duration
	total  simulation.Duration
}

// newBlocks divides the time of a trace so that days of two or more have the same blocks.
func newBlocks(s simulation.Scenario, policies []simulation.Autoscaler) blocks {
	b := blocks{trace: s, total: s.Load().Length}
	interval := simulation.Duration(0)
	for _, p := range policies {
		interval = max(interval, intervalOf(p.Settings()))
	}
	shortest := blockPolls * interval
	period := b.total
	if period >= 2*day && shortest <= day {
		period = day
	}
	if period < shortest {
		return b
	}
	b.length = period / (period / shortest)
	b.count = int(b.total / b.length)
	return b
}

// scenario returns the scenario with a shuffled trace: each block is one that was recorded
// within an hour, or two blocks, of the same time of day.
func (b blocks) scenario(seed int) simulation.Scenario {
	random := rand.New(rand.NewPCG(b.trace.Seed, 5<<32|uint64(seed)))
	near := max(hour, 2*b.length)
	var parts [][2]simulation.Duration
	for start := simulation.Duration(0); start < b.total; start += b.length {
		var candidates []int
		for i := range b.count {
			distance := (simulation.Duration(i)*b.length - start) % day
			if distance < 0 {
				distance += day
			}
			if min(distance, day-distance) <= near {
				candidates = append(candidates, i)
			}
		}
		from := simulation.Duration(candidates[random.IntN(len(candidates))]) * b.length
		parts = append(parts, [2]simulation.Duration{from, from + min(b.length, b.total-start)})
	}
	s := b.trace.Spliced(parts)
	if b.trace.Duration != 0 {
		s.Duration = b.trace.Duration
	}
	return s
}
