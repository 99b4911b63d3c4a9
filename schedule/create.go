package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A create is tried again after a second, and then after twice the time each, up to
// five minutes.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// failing is the number of tries without an observed Job after which runs start one
// at a time. Caches may lag behind for fewer.
const failing = 3

// tried reports whether a pending run is active: its Job may have been created.
func (r Run) tried() bool { return r.Status == Pending && !r.Tried.IsZero() }

// reject takes note of rejected creates. A run waits again if no create may arrive.
func (d *decider) reject(all []Rejection) {
	for _, rejected := range all {
		for i := range d.state.Pending {
			r := &d.state.Pending[i]
			if r.tried() && r.Tag == rejected.Tag && r.Attempts == rejected.Attempt {
				if !rejected.MayArrive {
					r.Tried = time.Time{}
				}
				d.rejected = short(cmp.Or(rejected.Reason, "no reason"), mostReason)
				d.state.Rejected = d.rejected
			}
		}
	}
}

// backOff lets creates wait after a rejection, also if the Job of another run was observed with it.
func (d *decider) backOff() {
	if s := &d.state; d.rejected != "" {
		s.Rejected, s.Tries = d.rejected, max(s.Tries, failing)
		s.RetryAt = interval.Clamp(d.now.Add(retry(s.Tries)))
	}
}

// retry returns the time to wait after a number of tries of 1 or more.
func retry(tries int64) time.Duration {
	return min(lastRetry, firstRetry<<min(tries-1, 16))
}

// start is rules 6 and 7: it asks for the Jobs of runs that may start, and again for Jobs
// that should have been observed.
func (d *decider) start() {
	s := &d.state
	again := slices.DeleteFunc(d.candidates(Run.tried), func(int) bool { return !d.mayRetry() })
	fresh := d.bounded(d.candidates(d.mayStart))
	switch {
	case s.Tries < failing && d.spec.Concurrency != Allow:
		fresh = fresh[:min(1, len(fresh))]
	case s.Tries < failing:
	case len(d.candidates(Run.tried)) > 0 || !d.mayRetry():
		fresh = nil
	default:
		fresh = d.fewestAttempts(fresh)
	}
	if s.Tries >= failing {
		again = d.fewestAttempts(again)
	}
	if len(again)+len(fresh) == 0 {
		return
	}
	for _, i := range slices.Sorted(slices.Values(slices.Concat(again, fresh))) {
		r := &s.Pending[i]
		if !r.tried() {
			r.Tried, r.CatchUp = latest(d.now, s.Last.Completed), d.late(*r)
		}
		r.Attempts = plus(r.Attempts, 1)
		d.starts = append(d.starts, *r)
	}
	s.Tries = plus(s.Tries, 1)
	s.RetryAt = interval.Clamp(d.now.Add(retry(s.Tries)))
}

// candidates returns the indexes of some pending runs.
func (d *decider) candidates(of func(Run) bool) (indexes []int) {
	for i, r := range d.state.Pending {
		if of(r) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// mayStart reports whether nothing but rejected creates and the size of the state keeps a
// run from starting.
func (d *decider) mayStart(r Run) bool {
	return !r.tried() && !d.holds(r) && (d.spec.Concurrency == Allow || !d.active())
}

// late reports whether a later scheduled run is due.
func (d *decider) late(r Run) bool { return !r.OnDemand && r.Due.Before(d.state.Handled) }

// bounded leaves out runs that would catch up above the limit, and all runs if the state is
// full.
func (d *decider) bounded(fresh []int) []int {
	d.waits = ""
	room := d.spec.MaxCatchUp
	for _, runs := range [][]Run{d.state.Running, d.state.Pending} {
		for _, r := range runs {
			if r.CatchUp && (r.Status == Running || r.tried()) {
				room--
			}
		}
	}
	fresh = slices.DeleteFunc(fresh, func(i int) bool {
		if !d.late(d.state.Pending[i]) {
			return false
		}
		if room--; room < 0 {
			d.waits = CatchingUp
		}
		return room < 0
	})
	fits := d.fits(len(fresh))
	if len(d.state.Running)+len(d.state.PendingDeletion) == 0 {
		fits = max(fits, min(1, len(fresh)))
	}
	if fits < len(fresh) {
		d.waits, fresh = StateFull, fresh[:fits]
	}
	return fresh
}

// holds reports whether the schedule keeps a run from starting.
func (d *decider) holds(r Run) bool {
	return !r.OnDemand && (d.state.Blocked || d.spec.Suspended)
}

// active reports whether a run has a Job, or may have one.
func (d *decider) active() bool {
	return len(d.state.Running) > 0 || slices.ContainsFunc(d.state.Pending, Run.tried) || len(d.again) > 0
}

// mayRetry reports whether it is time for another create. A time that lies too far
// ahead was set by a clock that has gone back since.
func (d *decider) mayRetry() bool {
	wait := d.state.RetryAt.Sub(d.now)
	return wait <= 0 || wait > lastRetry
}

// fewestAttempts returns the first of the runs that were tried the least, so that a run
// with a Job that is always rejected does not keep others from starting.
func (d *decider) fewestAttempts(indexes []int) []int {
	if len(indexes) == 0 {
		return nil
	}
	return []int{slices.MinFunc(indexes, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.state.Pending[a].Attempts, d.state.Pending[b].Attempts), a-b)
	})}
}

// nextTry returns when a create is to be tried, and the zero time if none is.
func (d *decider) nextTry() time.Time {
	if len(d.candidates(Run.tried)) == 0 && (d.state.Tries < failing || len(d.bounded(d.candidates(d.mayStart))) == 0) {
		return time.Time{}
	}
	return d.state.RetryAt
}
