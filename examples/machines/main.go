// Machines decides how many machines serve two queues, and which of them are drained: with a
// maximum for both queues, a cooldown, machines outside the pool, and a hand-shake that deletes no
// busy machine. The machines are in memory; pool.go is the part to copy.
package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/scaling"
)

func main() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}}
	cooldown := scaling.Cooldown{Period: time.Minute}
	pool, checkpoint := newFleet(1), scaling.CooldownCheckpoint{}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for poll := range 18 {
		if poll == 1 {
			pool.queues = [2]int64{5, 7}
		}
		if poll == 9 {
			pool.queues[1] = 9
		}
		d := decide(policy, cooldown, Observation{Now: now, Queues: pool.metrics(), Machines: pool.machines, External: int64(len(pool.external))}, checkpoint)
		checkpoint = d.Drain.Checkpoint
		pool.apply(d)
		fmt.Printf("%s  waiting %2d  machines %d  create %d  mark %d  take back %d  delete %d  (%s)\n", now.Format("15:04:05"),
			pool.queues[0]+pool.queues[1], len(pool.machines), d.Create, len(d.Mark), len(d.Unmark), len(d.Delete), d.Scaling.Desired.Reason.Text())
		pool.work()
		now = now.Add(20 * time.Second)
	}
}

// A fleet is a pool of machines in memory, with two queues. It stands for a cloud and for the workers:
// a worker takes an item only while it is not marked, and answers a mark when it has none.
type fleet struct {
	machines []Machine
	external []Machine      // outside the pool
	left     map[string]int // polls until a busy machine has done its item
	queues   [2]int64       // waiting items
	created  int
	lost     int // items on machines that were deleted: the hand-shake keeps it at 0
}

// work is what the workers do between two polls. An item takes three of them.
func (f *fleet) work() {
	for _, machines := range [][]Machine{f.external, f.machines} {
		for i := range machines {
			f.serve(&machines[i])
		}
	}
}

func (f *fleet) serve(m *Machine) {
	if m.Busy {
		f.left[m.Name]--
		m.Busy = f.left[m.Name] > 0
	}
	for q := range f.queues {
		if !m.Busy && !m.Mark && f.queues[q] > 0 {
			f.queues[q]--
			m.Busy, f.left[m.Name] = true, 3
		}
	}
	m.Answered = m.Mark && !m.Busy
}

// metrics counts the items in progress with the first queue: the sum is what decides.
func (f *fleet) metrics() []scaling.Metric {
	busy := int64(0)
	for _, m := range slices.Concat(f.machines, f.external) {
		if m.Busy {
			busy++
		}
	}
	return []scaling.Metric{
		{Name: "builds", Value: float64(f.queues[0] + busy), Target: 1},
		{Name: "tests", Value: float64(f.queues[1]), Target: 1},
	}
}

func newFleet(external int) *fleet {
	f := &fleet{left: map[string]int{}}
	for i := range external {
		f.external = append(f.external, Machine{Name: fmt.Sprint("external-", i)})
	}
	return f
}

func (f *fleet) apply(d Decision) {
	for i := range f.machines {
		m := &f.machines[i]
		m.Mark = (m.Mark || slices.Contains(d.Mark, m.Name)) && !slices.Contains(d.Unmark, m.Name)
	}
	kept := f.machines[:0]
	for _, m := range f.machines {
		switch {
		case !slices.Contains(d.Delete, m.Name):
			kept = append(kept, m)
		case m.Busy:
			f.lost++
		}
	}
	f.machines = kept
	for range d.Create {
		f.created++
		f.machines = append(f.machines, Machine{Name: fmt.Sprintf("machine-%03d", f.created)})
	}
}
