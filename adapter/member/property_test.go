package member_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
)

// What a create may come to.
var faults = map[string]func(func() error) error{
	"none": func(send func() error) error { return send() }, "reset": instead(errReset), "reset after success": after(errReset),
	"500": instead(status(500)), "500 after success": after(status(500)), "429": instead(status(429)), "quota": instead(errForbidden),
	"time-out after success": after(context.DeadlineExceeded),
}

// Whatever becomes of creates, whichever members are away, however late their caches
// are, and whenever the process is restarted: there are never more Jobs than the
// maximum, as long as the plans' memory is kept, and once all is well there are as many as are asked for.
func propNothingTwice(t *rapid.T, outer *testing.T) {
	w := newWorld(outer, member.Options{})
	var uids atomic.Int64
	names := []string{"a", "b", "c"}
	defer func() {
		for _, name := range names {
			w.all.Remove(name)
		}
	}()
	total := func() (n int) {
		for _, name := range names {
			n += len(w.jobs(name))
		}
		return n
	}
	for _, name := range names {
		w.sites[name] = newSite(name, &uids)
		w.sites[name].blind.Store(rapid.Bool().Draw(t, "blind"))
		w.add(name, member.Options{})
	}
	w.ready()
	w.policy.Scaling.Max = int32(rapid.IntRange(1, 12).Draw(t, "max"))
	name := rapid.SampledFrom(names)
	t.Repeat(map[string]func(*rapid.T){
		"demand": func(t *rapid.T) { w.demand = rapid.Int64Range(0, 20).Draw(t, "demand") },
		"fault": func(t *rapid.T) {
			fault := faults[rapid.SampledFrom([]string{"none", "reset", "reset after success", "500", "500 after success", "429", "quota", "time-out after success"}).Draw(t, "fault")]
			w.sites[name.Draw(t, "of")].breaks(on("create", fault))
		},
		"away": func(t *rapid.T) {
			n := name.Draw(t, "of")
			w.sites[n].breaks(away)
			w.eventually("it is away", func() bool { return !w.observe()[n].Reachable })
		},
		"restart": func(t *rapid.T) { w.add(name.Draw(t, "of"), member.Options{}) },
		"untaint": func(*rapid.T) { w.memory = placement.Memory{Jobs: w.memory.Jobs} },
		"poll":    func(*rapid.T) { w.poll() },
		"": func(t *rapid.T) {
			if n := total(); n > int(w.policy.Scaling.Max) {
				t.Fatalf("%d Jobs, at most %d may be", n, w.policy.Scaling.Max)
			}
		},
	})
	for _, n := range names {
		w.sites[n].breaks(nil)
	}
	w.memory = placement.Memory{}
	w.ready()
	want := max(total(), int(min(w.demand, int64(w.policy.Scaling.Max))))
	w.eventually(fmt.Sprint(want, " Jobs"), func() bool {
		w.poll()
		w.memory = placement.Memory{}
		time.Sleep(time.Millisecond)
		return total() == want
	})
	for range 3 {
		w.poll()
	}
	require.Equal(t, want, total())
}

func TestNothingTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { propNothingTwice(rt, t) })
}
