package strategytest

import (
	"fmt"

	"github.com/scaledjob/scaledjob/strategy"
)

// Items says which items the target of a strategy counts.
type Items uint8

const (
	InProgress Items = 1 // waiting items and those that Jobs work on
	Waiting    Items = 2 // waiting items only
)

// String describes the items.
func (i Items) String() string {
	if i == Waiting {
		return "waiting items only"
	}
	return "items in progress too"
}

// QueueProperties returns the properties of a strategy beside a queue whose target counts these items. At
// first it has Target waiting items, and Running Jobs have an item each. A Job that is created in a
// poll takes an item before the next poll, or one poll later, and keeps it.
func QueueProperties(counted Items) []Property {
	return []Property{
		{"NoJobWithoutItem", "no more Jobs are created than there are items", func(s strategy.Strategy, l strategy.Load, _ int64) error {
			return eachStart(func(delay int) error {
				if jobs := play(s, l, counted, delay); jobs > plus(l.Target, l.Running) {
					return fmt.Errorf("%d items get %d Jobs, if a Job takes its item %d polls after its creation", l.Target+l.Running, jobs, delay+1)
				}
				return nil
			})
		}, false},
		{"ServesEachItem", "each item gets a Job in the end, up to the maximum", func(s strategy.Strategy, l strategy.Load, _ int64) error {
			return eachStart(func(delay int) error {
				if jobs := play(s, l, counted, delay); jobs < min(plus(l.Target, l.Running), l.Max) {
					return fmt.Errorf("%d items get %d Jobs in %d polls", l.Target+l.Running, jobs, polls)
				}
				return nil
			})
		}, false},
	}
}

// polls is the length of a play: a strategy may create a Job in every fourth poll.
const polls = 4 * small

func eachStart(check func(delay int) error) error {
	if err := check(0); err != nil {
		return err
	}
	return check(1)
}

// play returns the Jobs after all polls. They are pending in the polls before they take an item.
func play(s strategy.Strategy, l strategy.Load, counted Items, delay int) int64 {
	starting := make([]int64, delay) // Jobs by the polls since they were created, the newest last
	jobs, busy := l.Running, l.Running
	for range polls {
		pending := jobs - busy
		load := strategy.Load{Target: plus(l.Target, l.Running), Running: jobs, Pending: pending, Max: l.Max}
		if counted == Waiting {
			load.Target = max(0, load.Target-busy)
		}
		load.Target = min(load.Target, l.Max)
		created := propose(s, load).create()
		jobs += created
		starting = append(starting, created)
		busy += starting[0]
		starting = starting[1:]
	}
	return jobs
}
