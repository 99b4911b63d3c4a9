package study

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"

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
	s.Queues = slices.Clone(s.Queues)
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Trace = slices.SortedStableFunc(slices.Values(q.Trace), func(a, b simulation.Arrival) int { return cmp.Compare(a.At, b.At) })
	}
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
	s := b.trace
	s.Duration, s.Queues = b.total, slices.Clone(s.Queues)
	for i := range s.Queues {
		s.Queues[i].Trace = nil
	}
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
		end := from + min(b.length, b.total-start)
		for i := range s.Queues {
			q, rows := &s.Queues[i], b.trace.Queues[i].Trace
			for k := sort.Search(len(rows), func(k int) bool { return rows[k].At >= from }); k < len(rows) && rows[k].At < end; k++ {
				a := rows[k]
				a.At += start - from
				q.Trace = append(q.Trace, a)
			}
		}
	}
	return s
}
