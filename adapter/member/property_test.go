package member_test

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// What a create may come to.
var faults = map[string]func(func() error) error{
	"none": func(send func() error) error { return send() }, "reset": instead(errReset), "reset after success": after(errReset),
	"500": instead(status(500)), "500 after success": after(status(500)), "429": instead(status(429)), "quota": instead(errForbidden),
	"time-out after success": after(context.DeadlineExceeded), "late": func(send func() error) error {
		time.AfterFunc(9*time.Second, func() { _ = send() })
		return context.DeadlineExceeded
	},
}

// There are never more Jobs than the maximum if the plans' memory is kept: whatever
// becomes of creates, whichever members are away, however late their caches are, and
// whenever Jobs finish and members are registered anew. Once all is well there are as
// many Jobs as are asked for. The result reports whether a Job was ever in doubt.
func propNothingTwice(t *rapid.T, outer *testing.T) (doubt bool) {
	w := newWorld(outer, slow)
	var uids atomic.Int64
	names := []string{"a", "b", "c"}
	if rapid.Bool().Draw(t, "patience") {
		w.all.Patience = 500 * time.Millisecond
	}
	if rapid.Bool().Draw(t, "taints") {
		w.all.Taints = nil
	}
	defer func() {
		for _, name := range names {
			w.all.Remove(name)
		}
	}()
	total := func() (n int) {
		for _, name := range names {
			for _, j := range w.jobs(name) {
				if len(j.Status.Conditions) == 0 {
					n++
				}
			}
		}
		return n
	}
	name, fault := rapid.SampledFrom(names), rapid.SampledFrom(slices.Sorted(maps.Keys(faults)))
	for _, name := range names {
		w.sites[name] = newSite(name, &uids)
		w.sites[name].blind.Store(rapid.Bool().Draw(t, "blind"))
		w.sites[name].breaks(on("create", faults[fault.Draw(t, "fault of "+name)]))
		w.add(name, slow)
	}
	w.ready()
	w.policy.Scaling.Bounds.Max = int64(rapid.IntRange(1, 12).Draw(t, "max"))
	w.policy.History = history.Limits{Succeeded: history.Keep(1)}
	w.demand = rapid.Int64Range(1, 20).Draw(t, "demand")
	poll := func(t *rapid.T) {
		if rapid.Bool().Draw(t, "no taints") {
			w.checkpoint = withoutTaints(w.checkpoint)
		}
		w.poll()
	}
	t.Repeat(map[string]func(*rapid.T){
		"demand": func(t *rapid.T) { w.demand = rapid.Int64Range(0, 20).Draw(t, "demand") },
		"fault": func(t *rapid.T) {
			w.sites[name.Draw(t, "of")].breaks(on("create", faults[fault.Draw(t, "fault")]))
		},
		"away": func(t *rapid.T) {
			n := name.Draw(t, "of")
			w.sites[n].breaks(away)
			w.eventually("it is away", func() bool { return w.observe()[n].Reach != jobs.Reachable })
		},
		"restart": func(t *rapid.T) { w.add(name.Draw(t, "of"), slow) },
		"poll":    poll,
		"again":   poll,
		"finish":  func(t *rapid.T) { w.change(name.Draw(t, "of"), finishes) },
		"wait":    func(t *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 10).Draw(t, "seconds")) * time.Second) },
		"": func(t *rapid.T) {
			if n := total(); n > int(w.policy.Scaling.Bounds.Max) {
				t.Fatalf("%d Jobs, at most %d may be", n, w.policy.Scaling.Bounds.Max)
			}
			for _, c := range w.observe() {
				doubt = doubt || slices.ContainsFunc(c.Jobs, func(j jobs.Job) bool { return j.Unconfirmed })
			}
		},
	})
	time.Sleep(9 * time.Second) // until all creates have arrived
	w.all.Taints = &taint.Durations{}
	for _, n := range names {
		w.sites[n].breaks(nil)
		w.sites[n].blind.Store(false)
		w.add(n, slow)
	}
	w.checkpoint = jobs.Checkpoint{}
	w.ready()
	want := max(total(), int(min(w.demand, w.policy.Scaling.Bounds.Max)))
	for range 25 {
		w.poll()
		w.checkpoint = jobs.Checkpoint{}
		time.Sleep(time.Second)
	}
	if n := total(); n != want {
		t.Fatalf("%d Jobs, not %d: %+v %+v", n, want, w.observe(), w.decided)
	}
	return doubt
}

func TestNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doubts, runs := 0, 0
		rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // a bubble has no Deadline
			runs++
			if propNothingTwice(rt, t) {
				doubts++
			}
		})
		t.Logf("Jobs in doubt in %d of %d runs", doubts, runs)
		require.Greater(t, 10*doubts, runs)
	})
}
