package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// A worldJob is a Job of the oracle.
type worldJob struct{ item, ends int }

// A world is the oracle of plays: a queue, and Jobs of one item each, second by second.
type world struct {
	arrive, take []int // when each item arrives, and how long its Job works, in seconds
	counts       bool  // the metric counts in-progress items
	idle         bool  // Jobs wait for items
	create       func(t, running, pending int) int
	polls        int
	max          int // of the manifest
	startup      int // seconds in which a Job is pending

	log                 []string
	created, most, left int // left is items for which no Job is created yet
}

// run polls every 30 s.
func (w *world) run() {
	var waiting []int
	var working []worldJob // item -1 has none yet
	next := 0
	for now := 0; now <= 30*(w.polls-1); now++ {
		working = slices.DeleteFunc(working, func(j worldJob) bool { return j.item >= 0 && j.ends <= now })
		for ; next < len(w.arrive) && w.arrive[next] <= now; next++ {
			waiting = append(waiting, next)
		}
		serve := func() {
			for i := range working {
				if j := &working[i]; j.item < 0 && j.ends <= now && len(waiting) > 0 { // ends is when it starts
					j.item, j.ends, waiting = waiting[0], now+w.take[waiting[0]], waiting[1:]
				}
			}
		}
		serve()
		if !w.idle {
			working = slices.DeleteFunc(working, func(j worldJob) bool { return j.item < 0 && j.ends < now })
		}
		if now%30 != 0 {
			continue
		}
		busy, pending := 0, 0
		for _, j := range working {
			if j.item >= 0 {
				busy++
			}
			if j.item < 0 && j.ends > now {
				pending++
			}
		}
		t := len(waiting)
		if w.counts {
			t += busy
		}
		n := w.create(t, len(working), pending)
		w.log = append(w.log, fmt.Sprintf("2026-01-02T10:%02d:%02dZ\tDEBUG\tscale_handler\tScaler Metric value\t{\"scaledJob.Name\": \"a\", \"isTriggerActive\": %v, \"s0-x\": %d, \"targetAverageValue\": 1}", now/60, now%60, t > 0, t),
			fmt.Sprintf("2026-01-02T10:%02d:%02dZ\tDEBUG\tscalemetrics\tChecking if ScaleJob Scalers are active\t{\"scaledJob.Name\": \"a\", \"isActive\": %v, \"maxValue\": %d}", now/60, now%60, t > 0, min(t, w.max)))
		lines := pollLines(now, "a", len(working), pending, n)
		if t == 0 {
			lines = lines[:2]
		}
		w.log = append(w.log, lines...)
		for range n {
			working = append(working, worldJob{-1, now + w.startup})
		}
		serve()
		w.created += n
		w.most, w.left = max(w.most, len(working)), len(waiting)
		for _, j := range working {
			if j.item < 0 {
				w.left = max(0, w.left-1)
			}
		}
	}
}

// subtracting is the strategy default of KEDA without a minimum, and ignoring the strategy accurate, in the
// words of its documentation.
func subtracting(most int) func(t, r, p int) int {
	return func(t, r, _ int) int { return max(0, min(t, most)-r) }
}

func ignoring(most int) func(t, r, p int) int {
	return func(t, r, p int) int { return max(0, min(t-p, most-r)) }
}

// TestPlayAgreesWithOracle makes logs of a world, and simulates them with another policy. The oracle runs the
// same world with it.
func TestPlayAgreesWithOracle(t *testing.T) {
	steady := func(n, each, take int) (arrive, takes []int) {
		for i := range n {
			arrive, takes = append(arrive, i*each), append(takes, take)
		}
		return arrive, takes
	}
	slow, slowTakes := steady(40, 30, 120)
	mixed, mixedTakes := steady(40, 20, 90)
	for i := range mixedTakes {
		mixedTakes[i] += i % 3 * 60
	}
	burst := slices.Repeat([]int{0}, 20)
	burst = append(burst, slices.Repeat([]int{300}, 20)...)
	for name, c := range map[string]struct {
		spec, trigger, with, agree string
		near                       float64
		w                          world
		now, then                  func(t, r, p int) int
	}{
		"maximum":       {"maxReplicaCount: 5, ", redisTrigger, "maxReplicaCount 10", "20 of 20", 0, world{arrive: burst, take: slices.Repeat([]int{120}, 40), polls: 20, max: 5}, subtracting(5), subtracting(10)},
		"waiting items": {"maxReplicaCount: 50, ", redisTrigger, "strategy accurate", "31 of 31", 0, world{arrive: slow, take: slowTakes, polls: 31, max: 50}, subtracting(50), ignoring(50)},
		"mixed times":   {"maxReplicaCount: 50, ", redisTrigger, "strategy accurate", "31 of 31", 1, world{arrive: mixed, take: mixedTakes, polls: 31, max: 50}, subtracting(50), ignoring(50)},
		"pending":       {"maxReplicaCount: 50, ", redisTrigger, "strategy accurate", "31 of 31", 0, world{arrive: slow, take: slowTakes, startup: 60, polls: 31, max: 50}, subtracting(50), ignoring(50)},
		"all items":     {"maxReplicaCount: 30, scalingStrategy: {strategy: accurate}, ", pipelinesTrigger, "strategy default", "31 of 31", 0, world{arrive: slow, take: slowTakes, counts: true, idle: true, polls: 31, max: 30}, ignoring(30), subtracting(30)},
	} {
		now, then := c.w, c.w
		now.create, then.create = c.now, c.then
		now.run()
		then.run()
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a, namespace: shop}\nspec: {" + c.spec + "jobTargetRef: {template: {}}, triggers: [" + c.trigger + "]}\n"
		r := Explain(Read(strings.Join(now.log, "\n")), Question{Simulate: true, Release: "2.18", Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(text))[0].ScaledJob}})
		played := r.Subjects[0].Played
		require.Len(t, played, 2, "%s: %s", name, r.Subjects[0].Answer)
		_, told, found := strings.Cut(played[0], " polls) ")
		require.True(t, found && strings.HasPrefix(played[0], "with "+c.with+" from 10:00:00"), played[0])
		var got [6]int
		_, err := fmt.Sscanf(told, "%d Jobs created instead of %d, at most %d at a time instead of %d, and at the end the work of %d Jobs has no Job instead of that of %d",
			&got[0], &got[1], &got[2], &got[3], &got[4], &got[5])
		require.NoError(t, err, told)
		for i, want := range []int{then.created, now.created, then.most, now.most, then.left, now.left} {
			require.InDelta(t, want, got[i], c.near, "%s, number %d: %s %s", name, i, told, played[1])
		}
		require.NotEqual(t, then.created, now.created, name)
		require.Contains(t, played[1], c.agree+" polls")
	}
}

const (
	redisTrigger     = `{type: redis, metadata: {listLength: "1"}}`
	pipelinesTrigger = `{type: azure-pipelines, metadata: {poolName: p}}`
)
