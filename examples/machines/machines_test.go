package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/scaling"
)

// played returns the fleet after random bursts, the minimum, and how often a mark was taken back. change may break
// a decision.
func played(t *testing.T, seed uint64, change func(*Decision, *fleet)) (f *fleet, minimum, reactivated int) {
	r := rand.New(rand.NewPCG(seed, 0))
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: int64(r.IntN(3)), Max: 2 + int64(r.IntN(8))}}
	cooldown := scaling.Cooldown{Period: time.Duration(r.IntN(4)) * 20 * time.Second}
	f = newFleet(r.IntN(3))
	checkpoint, now, quiet := scaling.CooldownCheckpoint{}, time.Unix(0, 0), 0
	for poll := range 700 {
		if poll < 300 && r.IntN(8) == 0 {
			f.queues[r.IntN(2)] += int64(r.IntN(15))
		}
		d := decide(policy, cooldown, Observation{Now: now, Queues: f.metrics(), Machines: f.machines, External: int64(len(f.external))}, checkpoint)
		change(&d, f)
		checkpoint = d.Drain.Checkpoint
		if d.Scaling.Surplus.Jobs > 0 {
			quiet++
		} else {
			quiet = 0
		}
		if len(d.Mark) > 0 {
			require.Greater(t, time.Duration(quiet)*20*time.Second, cooldown.Period, "a surplus that was not steady")
		}
		reactivated += len(d.Unmark)
		f.apply(d)
		require.LessOrEqual(t, int64(len(f.machines)), policy.Bounds.Max)
		f.work()
		now = now.Add(20 * time.Second)
	}
	return f, int(policy.Bounds.Min), reactivated
}

// No busy machine is deleted, the maximum of the pool holds, machines are marked after a cooldown and
// taken back, and the minimum is left in the end.
func TestMachines(t *testing.T) {
	reactivated := 0
	for seed := range uint64(300) {
		f, minimum, n := played(t, seed, func(*Decision, *fleet) {})
		require.Zero(t, f.lost, "seed %d", seed)
		require.Equal(t, [2]int64{}, f.queues, "every item is served")
		require.Len(t, f.machines, minimum)
		reactivated += n
	}
	require.Greater(t, reactivated, 300)
}

// Without the hand-shake, a machine takes an item while it is deleted.
func TestHandShake(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		f, _, _ := played(t, seed, func(d *Decision, f *fleet) { d.Delete = append(d.Delete, d.Mark...) })
		lost += f.lost
	}
	require.Positive(t, lost)
}

// The smallest cases of each rule.
func TestDecide(t *testing.T) {
	policy := scaling.Policy{Bounds: scaling.Bounds{Max: 4}}
	items := func(builds, tests float64) []scaling.Metric {
		return []scaling.Metric{{Value: builds, Target: 1}, {Value: tests, Target: 1}}
	}
	marked := []Machine{{Name: "a"}, {Name: "b", Mark: true, Answered: true}, {Name: "c", Mark: true, Busy: true}}
	d := decide(policy, scaling.Cooldown{}, Observation{Queues: items(2, 7), Machines: marked}, scaling.CooldownCheckpoint{})
	require.Equal(t, []string{"b", "c"}, d.Unmark)
	require.EqualValues(t, 1, d.Create, "both queues share the maximum of 4")
	d = decide(policy, scaling.Cooldown{}, Observation{Queues: items(1, 0), Machines: marked}, scaling.CooldownCheckpoint{})
	require.Equal(t, []string{"b"}, d.Delete, "c has not answered")
	d = decide(policy, scaling.Cooldown{}, Observation{Queues: items(1, 1), Machines: marked, External: 1}, scaling.CooldownCheckpoint{})
	require.Zero(t, d.Create, "the external machine serves an item")
	d = decide(policy, scaling.Cooldown{}, Observation{Queues: items(1, 0), Machines: []Machine{{Name: "a", Busy: true}, {Name: "b"}}}, scaling.CooldownCheckpoint{})
	require.Equal(t, []string{"b"}, d.Mark, "the idle one")
	failed := []scaling.Metric{{Target: 1, Failed: true}}
	d = decide(policy, scaling.Cooldown{}, Observation{Queues: failed, Machines: marked}, scaling.CooldownCheckpoint{})
	require.Empty(t, d.Mark, "an unreadable queue drains nothing")
}
