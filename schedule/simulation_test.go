package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestSecondBySecond(t *testing.T) {
	premise.CheckN(t, 500, propSecondBySecond, premise.Least{"runs start": 0.4, "runs wait": 0.1, "runs are missed": 0.1, "runs on demand start": 0.3})
}
func FuzzSecondBySecond(f *testing.F) { premise.Fuzz(f, propSecondBySecond) }

// A play is a job, what its runs do, and when runs are asked for. Times are seconds
// since the creation.
type play struct {
	first, step, times   int // of the schedule
	skip, block, overlap bool
	maxWaiting           int
	lengths              []int  // the n-th run that starts takes lengths[n%len]
	failures             []bool // likewise
	requests             []int
	seconds              int
}

// A begin is the start of a run.
type begin struct {
	at       int
	due      float64
	onDemand bool
}

type tally struct{ due, missed, waiting int64 }

var drawPlay = rapid.Custom(func(t *rapid.T) play {
	return play{
		first: rapid.IntRange(-40, 100).Draw(t, "first"), step: rapid.IntRange(1, 60).Draw(t, "step"), times: rapid.IntRange(0, 30).Draw(t, "times"),
		skip: rapid.Bool().Draw(t, "skip"), block: rapid.Bool().Draw(t, "block"), overlap: rapid.Bool().Draw(t, "overlap"),
		maxWaiting: rapid.IntRange(1, 4).Draw(t, "maxWaiting"),
		lengths:    rapid.SliceOfN(rapid.IntRange(1, 90), 1, 8).Draw(t, "lengths"),
		failures:   rapid.SliceOfN(rapid.Bool(), 1, 8).Draw(t, "failures"),
		requests:   rapid.SliceOfN(rapid.IntRange(1, 500), 0, 6).Draw(t, "requests"),
		seconds:    600,
	}
})

// naively goes through every second, with nothing but lists.
func (p play) naively() (begins []begin, total tally) {
	type run struct {
		due      float64
		onDemand bool
		ends     int
		failed   bool
	}
	var waiting, running []run
	blocked := false
	for now := 0; now <= p.seconds; now++ {
		slices.SortFunc(running, func(a, b run) int { return int(1e6 * (a.due - b.due)) })
		var still []run
		for _, r := range running {
			if r.ends == now {
				blocked = p.block && r.failed
			} else {
				still = append(still, r)
			}
		}
		running = still

		if k := now - p.first; k >= 0 && k%p.step == 0 && k/p.step < p.times {
			total.due++
			var others []run
			scheduled := 0
			for _, r := range waiting {
				if !r.onDemand {
					scheduled++
				}
			}
			for _, r := range waiting {
				switch {
				case r.onDemand:
					others = append(others, r)
				case p.skip:
					total.missed++
				case scheduled == p.maxWaiting:
					total.missed++
					scheduled--
				default:
					others = append(others, r)
				}
			}
			waiting = append(others, run{due: float64(now)})
		}
		for i, at := range p.requests {
			if at == now {
				waiting = append(waiting, run{due: float64(at) - float64(i+1)/1000, onDemand: true})
			}
		}

		slices.SortFunc(waiting, func(a, b run) int { return int(1e6 * (a.due - b.due)) })
		var wait []run
		for _, r := range waiting {
			if blocked && !r.onDemand || !p.overlap && len(running) > 0 {
				wait = append(wait, r)
				continue
			}
			r.ends = now + p.lengths[len(begins)%len(p.lengths)]
			r.failed = p.failures[len(begins)%len(p.failures)]
			running = append(running, r)
			begins = append(begins, begin{now, r.due, r.onDemand})
		}
		waiting = wait
	}
	for _, r := range waiting {
		if !r.onDemand {
			total.waiting++
		}
	}
	return begins, total
}

// decided decides when there is reason to: a request, a Job that has finished, or
// NextCheck.
func (p play) decided(t *rapid.T) (begins []begin, total tally) {
	start := created.Add(time.Duration(p.first) * time.Second)
	w := newCluster(schedule.Policy{
		UID: "2f6a", Created: created,
		Schedule:     schedule.ISO8601(parse(t, fmt.Sprintf("R%d/%s/PT%dS", p.times, start.Format(time.RFC3339), p.step)), nil),
		SkipOutdated: p.skip, BlockOnFailure: p.block, Concurrency: concurrency(p.overlap), MaxWaiting: int64(p.maxWaiting),
		History: history.Policy{Succeeded: history.Keep(2), Failed: history.Keep(1)},
	})
	type end struct {
		at      time.Time
		outcome schedule.Outcome
	}
	ends := map[string]end{}
	last := created.Add(time.Duration(p.seconds) * time.Second)
	for {
		for tag, e := range ends {
			if !e.at.After(w.now) {
				w.finish(tag, e.outcome)
				delete(ends, tag)
			}
		}
		d := w.decide()
		w.do(t, d)
		for _, r := range d.Start {
			n := len(begins)
			e := end{w.now.Add(time.Duration(p.lengths[n%len(p.lengths)]) * time.Second), schedule.Succeeded}
			if p.failures[n%len(p.failures)] {
				e.outcome = schedule.Failed
			}
			ends[r.Tag] = e
			begins = append(begins, begin{int(w.now.Sub(created).Seconds()), r.Due.Sub(created).Seconds(), r.OnDemand})
		}
		s := d.Checkpoint
		total = tally{s.Due, s.Missed + s.Dropped, s.PendingScheduled()}
		for _, r := range s.Pending {
			if !r.OnDemand && !r.Tried.IsZero() {
				total.waiting-- // its Job is there
			}
		}

		next := last.Add(time.Second)
		sooner := func(at time.Time) {
			if at.After(w.now) && at.Before(next) {
				next = at
			}
		}
		sooner(d.NextCheck)
		for _, e := range ends {
			sooner(e.at)
		}
		for _, at := range p.requests {
			sooner(created.Add(time.Duration(at) * time.Second))
		}
		if next.After(last) {
			return begins, total
		}
		w.now = next
		for i, at := range p.requests {
			if asked := created.Add(time.Duration(at) * time.Second); asked.Equal(next) {
				w.requests = append(w.requests, schedule.Request{ID: fmt.Sprint(i), RequestedAt: asked.Add(-time.Duration(i+1) * time.Millisecond)})
			}
		}
	}
}

// The same runs start, at the same seconds, in the same order; and as many are
// missed, dropped, and wait in the end.
func propSecondBySecond(t *rapid.T, c *premise.Counts) {
	p := drawPlay.Draw(t, "play")
	want, wantTotal := p.naively()
	c.Note("runs start", len(want) > 0)
	c.Note("runs on demand start", slices.ContainsFunc(want, func(b begin) bool { return b.onDemand }))
	c.Note("runs wait", wantTotal.waiting > 0)
	c.Note("runs are missed", wantTotal.missed > 0)
	got, total := p.decided(t)
	require.Equal(t, len(want), len(got), "%v\n%v", want, got)
	for i := range want {
		require.InDelta(t, want[i].due, got[i].due, 1e-6)
		want[i].due = got[i].due
	}
	require.Equal(t, want, got)
	require.Equal(t, wantTotal, total)
}

func concurrency(overlap bool) schedule.Concurrency {
	if overlap {
		return schedule.Allow
	}
	return schedule.Wait
}
