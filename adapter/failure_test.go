package adapter

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A failingOwner is an owner whose Jobs end, and a controller that polls every 30 s and when a Job ends.
type failingOwner struct {
	FailureBackoff
	checkpoint FailureCheckpoint
	revision   rollout.Revision
	jobs       []Job
	length     float64
	limit      int64                                   // of unfinished Jobs
	lasts      func(number int) (seconds int, p Phase) // of a Job
	created    []int                                   // seconds at which Jobs were created
}

var failingStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// play plays seconds from to until, of which the first is a poll.
func (f *failingOwner) play(t *testing.T, from, until int) {
	poll := from
	for second := from; second < until; second++ {
		now, ended, unfinished := failingStart.Add(time.Duration(second)*time.Second), false, int64(0)
		for i := range f.jobs {
			j := &f.jobs[i]
			if seconds, phase := f.lasts(i); j.Phase == Running && now.Sub(j.Created) >= time.Duration(seconds)*time.Second {
				j.Phase, j.Finished, ended = phase, now, true
			}
			if j.Phase == Running {
				unfinished++
			}
		}
		if second != poll && !ended {
			continue
		}
		poll = second + 30
		observation := FailureObservation{Jobs: f.jobs, Metrics: []scaling.Metric{{Value: f.length, Target: 1}}, Revision: f.revision, Now: now}
		create, hold, checkpoint := f.Decide(f.limit-unfinished, f.checkpoint, observation)
		require.Equal(t, create < f.limit-unfinished || checkpoint.Failures > 0, hold != nil, "at %d", second)
		again, _, same := f.Decide(f.limit-unfinished, checkpoint, observation)
		require.Equal(t, create, again, "decided again")
		require.Equal(t, checkpoint, same)
		stored, err := json.Marshal(checkpoint)
		require.NoError(t, err)
		f.checkpoint = FailureCheckpoint{}
		require.NoError(t, json.Unmarshal(stored, &f.checkpoint))
		for range create {
			f.jobs = append(f.jobs, Job{Name: fmt.Sprint(len(f.jobs)), Created: now, Revision: f.revision})
			f.created = append(f.created, second)
		}
	}
}

func failsAfter(seconds int) func(int) (int, Phase) {
	return func(int) (int, Phase) { return seconds, Failed }
}

// Depth 1, a Job at a time, each of which fails after a second: 60 Jobs a minute without a backoff.
func TestFailureBackoff(t *testing.T) {
	f := &failingOwner{length: 1, limit: 1, lasts: failsAfter(1)}
	f.play(t, 0, 600)
	require.Len(t, f.created, 600, "the zero value is off")

	f = &failingOwner{FailureBackoff: NewFailureBackoff(30 * time.Second), length: 1, limit: 1, lasts: failsAfter(1)}
	f.play(t, 0, 3600)
	require.Equal(t, []int{0, 31, 62, 123, 214, 395, 726, 1087, 1448}, f.created[:9], "10, 20, 40, 80 … 360 s after the failure, at a poll of every 30 s")
}

// What ends the backoff.
func TestFailureBackoffEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*failingOwner)
		ends   bool
	}{
		"nothing":     {func(*failingOwner) {}, false},
		"growth":      {func(f *failingOwner) { f.length = 90 }, false},
		"an edit":     {func(f *failingOwner) { f.revision.Generation = 2 }, true},
		"a success":   {func(f *failingOwner) { f.lasts = func(int) (int, Phase) { return 5, Succeeded } }, true},
		"a long run":  {func(f *failingOwner) { f.lasts = func(int) (int, Phase) { return 9999, Failed } }, true},
		"shorter now": {func(f *failingOwner) { f.length = 9 }, true},
	} {
		f := &failingOwner{FailureBackoff: NewFailureBackoff(30 * time.Second), length: 10, limit: 5, lasts: failsAfter(2)}
		f.play(t, 0, 600)
		require.Equal(t, 5, len(f.created)-countAfter(f.created, 0), "the first poll creates all")
		before := len(f.created)
		require.Less(t, before, 5+10, "%s: one at a time: %v", name, f.created)
		c.change(f)
		f.play(t, 600, 1200)
		atOnce := 0
		for _, second := range f.created[before:] {
			n := 0
			for _, other := range f.created[before:] {
				if other == second {
					n++
				}
			}
			atOnce = max(atOnce, n)
		}
		require.Equal(t, c.ends, atOnce > 1, "%s: %v", name, f.created)
	}
}

func countAfter(seconds []int, second int) (n int) {
	for _, s := range seconds {
		if s > second {
			n++
		}
	}
	return n
}

// A Job that never starts holds up the others no longer than the longest delay.
func TestFailureBesideAPendingJob(t *testing.T) {
	b, now := NewFailureBackoff(30*time.Second), failingStart.Add(time.Hour)
	failed := Job{Phase: Failed, Created: failingStart, Finished: failingStart.Add(time.Second)}
	observation := FailureObservation{Now: now, Metrics: []scaling.Metric{{Value: 50, Target: 1}}}
	_, _, checkpoint := b.Decide(50, FailureCheckpoint{}, FailureObservation{Now: failed.Finished, Jobs: []Job{failed}})
	for pending, want := range map[time.Duration]int64{b.Max: 0, b.Max + time.Second: 1} {
		observation.Jobs = []Job{failed, {Phase: Pending, PendingSince: now.Add(-pending)}}
		create, hold, _ := b.Decide(50, checkpoint, observation)
		require.Equal(t, want, create, pending)
		require.Equal(t, want == 0, hold.StopsCreates)
	}
}

// Workers that run for hours keep the creates going while another fails again and again.
func TestFailureBesideWorkers(t *testing.T) {
	f := &failingOwner{FailureBackoff: NewFailureBackoff(30 * time.Second), length: 50, limit: 5, lasts: func(number int) (int, Phase) {
		if number < 4 {
			return 99999, Succeeded
		}
		return 3, Failed
	}}
	f.play(t, 0, 600)
	require.Greater(t, len(f.created), 100)
}
