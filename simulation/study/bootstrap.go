package study

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// fewestBlocks is the number of blocks that an interval needs.
const fewestBlocks = 10

// pollsOfABlock is the least length of a block.
const pollsOfABlock = 20

const day = simulation.Duration(24 * time.Hour)

// blocks are the parts of a trace that are drawn in place of each other.
type blocks struct {
	of     simulation.Scenario
	n      int // of full length; a shorter one at the end is not drawn
	length simulation.Duration
	all    simulation.Duration
}

// blocksOf divides the time of a trace so that days of two or more have the same blocks.
func blocksOf(s simulation.Scenario, policies []simulation.Policy) blocks {
	b := blocks{of: s, all: s.Load().Length}
	interval := simulation.Duration(0)
	for _, p := range policies {
		interval = max(interval, cmp.Or(p.Settings().Interval, defaultInterval))
	}
	least := pollsOfABlock * interval
	whole := b.all
	if whole >= 2*day && least <= day {
		whole = day
	}
	if whole < least {
		return b
	}
	b.length = whole / (whole / least)
	b.n = int(b.all / b.length)
	return b
}

// scenario returns the scenario with a resampled trace: each block is one that was recorded
// within an hour, or two blocks, of the same time of day.
func (b blocks) scenario(seed int) simulation.Scenario {
	random := rand.New(rand.NewPCG(b.of.Seed, 5<<32|uint64(seed)))
	near := max(simulation.Duration(time.Hour), 2*b.length)
	var parts [][2]simulation.Duration
	for at := simulation.Duration(0); at < b.all; at += b.length {
		var choice []int
		for i := range b.n {
			apart := (simulation.Duration(i)*b.length - at) % day
			if apart < 0 {
				apart += day
			}
			if min(apart, day-apart) <= near {
				choice = append(choice, i)
			}
		}
		length := min(b.length, b.all-at)
		from := simulation.Duration(choice[random.IntN(len(choice))]) * b.length
		parts = append(parts, [2]simulation.Duration{from, from + length})
	}
	s := b.of.Spliced(parts)
	s.Duration = b.of.Duration
	if s.Duration == 0 {
		s.Duration = b.all
	}
	return s
}
