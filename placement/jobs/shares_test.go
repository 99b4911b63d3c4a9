package jobs_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// A load is a way in which Jobs are wanted over steps, and end.
type load struct {
	name    string
	want    func(step, unfinished, hanging int) int   // Jobs to create
	lasts   func(number int, member, members int) int // steps
	weights func(step int, weights []int32) []int32   // nil if they stay
	away    func(step, member int) bool               // nil if all answer
	forgets func(step int) bool                       // the checkpoint is lost; nil if never
	bound   float64                                   // how far a member may be from its share of the Jobs created; 0 if there is no such bound
}

const forever = 1 << 30

func oneStep(int, int, int) int { return 1 }

// atOnce wants n Jobs at a time, beside those that hang.
func atOnce(n int) func(step, unfinished, hanging int) int {
	return func(_, unfinished, hanging int) int { return n + hanging - unfinished }
}

var loads = []load{
	{name: "trickle", want: atOnce(1), lasts: oneStep, bound: 2},
	{name: "two at a time", want: atOnce(2), lasts: oneStep, bound: 2},
	{name: "bursts of 10", want: atOnce(10), lasts: oneStep, bound: 4},
	{name: "long and short", want: atOnce(5), lasts: func(number, _, _ int) int { return 1 + 9*(int(uint32(number)*2654435761>>16)%2) }, bound: 12},
	{name: "first hangs", want: atOnce(1), lasts: func(_, member, _ int) int { return 1 + forever*(1-min(1, member)) }},
	{name: "last leaves, returns", want: atOnce(1), lasts: oneStep, away: func(step, member int) bool { return member == -1 && step >= 100 && step < 200 }},
	{name: "weights reversed", want: atOnce(1), lasts: oneStep, weights: func(step int, w []int32) []int32 {
		if step < 150 {
			return w
		}
		return reversed(w)
	}},
	{name: "checkpoint lost", want: atOnce(1), lasts: oneStep, forgets: func(step int) bool { return step%50 == 49 }},
}

func reversed(w []int32) (r []int32) {
	for i := range w {
		r = append(r, w[len(w)-1-i])
	}
	return r
}

// A choice returns the member of each of n new Jobs. held has the unfinished Jobs of each member.
type choice func(weights []int32, held []int, away []bool, n int) []int

// oldRule is that of before: each Job goes to the member with the fewest unfinished Jobs for its weight.
func oldRule(weights []int32, held []int, away []bool, n int) (chosen []int) {
	parties := make([]apportion.Party, len(weights))
	for i := range parties {
		if parties[i].Held = int32(held[i]); !away[i] {
			parties[i].Weight = weights[i]
		}
	}
	shares, _ := apportion.Webster(int32(n), parties)
	for i, share := range shares {
		for range share {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// decided is the rule of the package, with a checkpoint. forget loses it.
func decided(members int) (choose choice, forget func()) {
	var checkpoint jobs.Checkpoint
	choose = func(weights []int32, held []int, away []bool, n int) (chosen []int) {
		var names []string
		for i := range members {
			names = append(names, string(rune('a'+i)))
		}
		f := newFleet(names...)
		for i := range members {
			f.Members[i].Weight = weights[i]
			f.has(names[i], held[i], jobs.Running, 0)
			if away[i] {
				f.Clusters[i].Taint = taint.Taint{Level: taint.Hard, Until: at(1)}
			}
		}
		f.Checkpoint = checkpoint
		f.ask(int64(n))
		d := f.plan()
		checkpoint = d.Checkpoint
		for i, name := range names {
			for range f.created(d)[name] {
				chosen = append(chosen, i)
			}
		}
		return chosen
	}
	return choose, func() { checkpoint = jobs.Checkpoint{} }
}

const steps = 300

// play plays a load: the Jobs created on each member, and those unfinished on average.
func (l load) play(weights []int32, choose choice, forget func()) (created []int, unfinished []float64) {
	members := len(weights)
	created, unfinished = make([]int, members), make([]float64, members)
	ends, number := make([][]int, members), 0 // the steps at which unfinished Jobs end
	for step := range steps {
		held, away, total, hanging := make([]int, members), make([]bool, members), 0, 0
		for i := range members {
			var remaining []int
			for _, end := range ends[i] {
				if end > step {
					remaining = append(remaining, end)
				}
				if end > forever {
					hanging++
				}
			}
			ends[i], held[i] = remaining, len(remaining)
			total += held[i]
			away[i] = l.away != nil && l.away(step, i-members)
		}
		if l.forgets != nil && l.forgets(step) {
			forget()
		}
		present := weights
		if l.weights != nil {
			present = l.weights(step, weights)
		}
		for _, i := range choose(present, held, away, max(0, l.want(step, total, hanging))) {
			ends[i] = append(ends[i], step+l.lasts(number, i, members))
			created[i]++
			number++
		}
		for i := range members {
			unfinished[i] += float64(len(ends[i])) / steps
		}
	}
	return created, unfinished
}

// The Jobs that each member gets, by the old rule and by that of the package: the table is
// testdata/shares.txt. Run with UPDATE=1 to write it.
func TestSharesOfLoads(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %-8s | %-15s %-18s | %-15s %-18s\n", "load", "weights", "created before", "unfinished before", "created", "unfinished")
	for _, l := range loads {
		for _, weights := range [][]int32{{2, 3}, {1, 1}, {5, 3, 2}, {1, 100}, {49, 51}} {
			before, heldBefore := l.play(weights, oldRule, func() {})
			choose, forget := decided(len(weights))
			created, held := l.play(weights, choose, forget)
			fmt.Fprintf(&b, "%-22s %-8s | %-15s %-18s | %-15s %-18s\n", l.name, join("%d", weights),
				join("%d", before), join("%.1f", heldBefore), join("%d", created), join("%.1f", held))
			if l.bound == 0 {
				continue
			}
			var sum, total float64
			for i, w := range weights {
				sum, total = sum+float64(w), total+float64(created[i])
			}
			for i, n := range created {
				share := total * float64(weights[i]) / sum
				require.LessOrEqual(t, math.Abs(float64(n)-share), l.bound, "%s, %v: %v", l.name, weights, created)
			}
		}
	}
	const path = "testdata/shares.txt"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

func join[T any](format string, values []T) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf(format, v))
	}
	return strings.Join(all, ":")
}

// A create of a great many Jobs costs no more than one of some thousands, and follows the weights.
func TestManyJobsAtOnce(t *testing.T) {
	f := newFleet("a", "b")
	f.member("a").Weight, f.member("b").Weight = 1, 2
	f.Scaling.Bounds.Max = 3_000_000_000
	f.demand(3_000_000)
	require.Equal(t, map[string]int32{"a": 1_000_000, "b": 2_000_000}, f.created(f.plan()))
}
