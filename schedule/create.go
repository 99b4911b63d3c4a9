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

// reject takes note of rejected creates: a run waits again if no create may arrive, and creates wait.
func (d *decider) reject(all []Rejection) {
	for _, rejected := range all {
		for i := range d.State.Pending {
			r := &d.State.Pending[i]
			if r.tried() && r.Tag == rejected.Tag && r.Attempts == rejected.Attempt {
				if !rejected.MayArrive {
					r.Tried = time.Time{}
				}
				d.rejected = true
				d.State.Rejected = short(cmp.Or(rejected.Reason, "no reason"), mostReason)
				if d.State.Tries < failing { // or else the time has been set by the create, and stays if this is repeated
					d.wait(failing)
				}
			}
		}
	}
}

// wait lets creates wait after a number of tries of 1 or more.
func (d *decider) wait(tries int64) {
	delay := min(lastRetry, firstRetry<<min(tries-1, 16))
	d.State.Tries, d.State.RetryAt = tries, interval.Clamp(d.now.Add(delay))
}

// start is rules 6 and 7: it asks for the Jobs of runs that may start, and again for Jobs
// that should have been observed.
func (d *decider) start() {
	s := &d.State
	single := s.Tries >= failing
	again, starts := d.candidates(Run.tried), d.bounded(d.candidates(d.mayStart))
	switch {
	case single && (len(again) > 0 || !d.mayRetry()):
		starts = nil
	case !single && d.spec.Concurrency != Allow:
		starts = starts[:min(1, len(starts))]
	}
	if d.mayRetry() {
		starts = append(starts, again...)
	}
	if len(starts) == 0 {
		return
	}
	slices.Sort(starts)
	if single { // a run with a Job that is always rejected does not keep others from starting
		fewest := slices.MinFunc(starts, func(a, b int) int { return cmp.Compare(s.Pending[a].Attempts, s.Pending[b].Attempts) })
		starts = []int{fewest}
	}
	for _, i := range starts {
		r := &s.Pending[i]
		if !r.tried() {
			r.Tried, r.CatchUp = latest(d.now, s.Last.Completed), d.late(*r)
		}
		r.Attempts = plus(r.Attempts, 1)
		d.Start = append(d.Start, *r)
	}
	d.wait(plus(s.Tries, 1))
}

// candidates returns the indexes of some pending runs.
func (d *decider) candidates(of func(Run) bool) (indexes []int) {
	for i, r := range d.State.Pending {
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
func (d *decider) late(r Run) bool { return !r.OnDemand && r.Due.Before(d.State.Handled) }

// bounded leaves out runs that would catch up above the limit, and all runs if the state is
// full.
func (d *decider) bounded(fresh []int) []int {
	d.Held = ""
	room := d.spec.MaxCatchUp
	for _, runs := range [][]Run{d.State.Running, d.State.Pending} {
		for _, r := range runs {
			if r.CatchUp && (r.Status == Running || r.tried()) {
				room--
			}
		}
	}
	fresh = slices.DeleteFunc(fresh, func(i int) bool {
		if !d.late(d.State.Pending[i]) {
			return false
		}
		if room--; room < 0 {
			d.Held = CatchingUp
		}
		return room < 0
	})
	fits := d.fits(len(fresh))
	if len(d.State.Running)+len(d.State.PendingDeletion) == 0 {
		fits = max(fits, min(1, len(fresh)))
	}
	if fits < len(fresh) {
		d.Held, fresh = StateFull, fresh[:fits]
	}
	return fresh
}

// holds reports whether the schedule keeps a run from starting.
func (d *decider) holds(r Run) bool {
	return !r.OnDemand && (d.State.Blocked || d.spec.Suspended)
}

// active reports whether a run has a Job, or may have it.
func (d *decider) active() bool {
	return len(d.State.Running) > 0 || slices.ContainsFunc(d.State.Pending, Run.tried) || len(d.Stop) > 0
}

// mayRetry reports whether it is time for another create. A time that lies too far
// ahead was set by a clock that has gone back since.
func (d *decider) mayRetry() bool {
	wait := d.State.RetryAt.Sub(d.now)
	return wait <= 0 || wait > lastRetry
}

// nextTry returns when a create is to be tried, and the zero time if none is.
func (d *decider) nextTry() time.Time {
	if len(d.candidates(Run.tried)) == 0 && (d.State.Tries < failing || len(d.bounded(d.candidates(d.mayStart))) == 0) {
		return time.Time{}
	}
	return d.State.RetryAt
}
