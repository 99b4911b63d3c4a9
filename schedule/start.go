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

// maxTries is the number of tries without an observed Job after which runs start one
// at a time. Caches may lag behind for fewer.
const maxTries = 3

// tried reports whether a pending run is active: its Job may have been created.
func (r Run) tried() bool { return r.Status == Pending && !r.Tried.IsZero() }

// reject takes note of rejected creates: a run waits again if no create may arrive, and creates wait.
func (d *decider) reject() {
	c := &d.Checkpoint
	for _, rejected := range d.observation.Rejected {
		for i := range c.Pending {
			r := &c.Pending[i]
			isLatest := r.Tag == rejected.Tag && r.Attempts == rejected.Attempt
			if !r.tried() || !isLatest {
				continue
			}
			if !rejected.MayArrive {
				r.Tried = time.Time{}
			}
			d.rejected = true
			c.Rejected = short(cmp.Or(rejected.Reason, "no reason"), maxReason)
			if c.Tries < maxTries { // or else the time has been set by the create, and stays if this is repeated
				d.wait(maxTries)
			}
		}
	}
}

// wait lets creates wait after a number of tries of 1 or more.
func (d *decider) wait(tries int64) {
	delay := min(lastRetry, firstRetry<<min(tries-1, 16))
	d.Checkpoint.Tries, d.Checkpoint.RetryAt = tries, interval.Clamp(d.now.Add(delay))
}

// start is rules 6 and 7: it asks for the Jobs of runs that may start, and again for Jobs
// that should have been observed.
func (d *decider) start() {
	c := &d.Checkpoint
	repeated := d.candidates(d.mayRepeat)
	fresh, held := d.startable()
	d.Held = held
	if d.single() && (len(repeated) > 0 || !d.mayRetry()) {
		fresh = nil
	}
	starts := fresh
	if d.mayRetry() {
		starts = append(starts, repeated...)
	}
	if len(starts) == 0 {
		return
	}
	slices.Sort(starts)
	if d.single() {
		starts = d.first(starts)
	}
	for len(starts) > 0 {
		for _, i := range starts {
			d.Start = append(d.Start, d.try(&c.Pending[i]))
		}
		starts = nil
		if d.Held == StateFull && !d.single() { // they took less room than was kept for them
			starts, d.Held = d.startable()
		}
	}
	d.wait(plus(c.Tries, 1))
}

// try notes that the create of a run is decided.
func (d *decider) try(r *Run) Run {
	c := &d.Checkpoint
	if !r.tried() {
		r.Tried, r.CatchUp = latest(d.now, c.Last.Completed), d.isLate(*r)
	}
	if !r.OnDemand && !d.isLate(*r) {
		c.LastMissed = ""
	}
	r.Attempts = plus(r.Attempts, 1)
	return *r
}

// single reports whether one Job is created at a time.
func (d *decider) single() bool { return d.Checkpoint.Tries >= maxTries }

// first returns the first of the pending runs. If one Job is created at a time, it has the fewest attempts,
// so that a run whose Job is always rejected does not keep others from starting.
func (d *decider) first(indexes []int) []int {
	if d.single() && len(indexes) > 0 {
		pending := d.Checkpoint.Pending
		return []int{slices.MinFunc(indexes, func(a, b int) int { return cmp.Compare(pending[a].Attempts, pending[b].Attempts) })}
	}
	return indexes[:min(1, len(indexes))]
}

// candidates returns the indexes of some pending runs.
func (d *decider) candidates(which func(Run) bool) (indexes []int) {
	for i, r := range d.Checkpoint.Pending {
		if which(r) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// mayRepeat reports whether the create of a run may be repeated.
func (d *decider) mayRepeat(r Run) bool { return r.tried() && !d.isFuture(r) }

// mayStart reports whether nothing but rejected creates and limits keeps a run from starting.
func (d *decider) mayStart(r Run) bool {
	if r.tried() || d.isFuture(r) || d.holds(r) {
		return false
	}
	return d.policy.Concurrency == Allow || !d.active()
}

// isLate reports whether a later scheduled run is due.
func (d *decider) isLate(r Run) bool { return !r.OnDemand && r.Due.Before(d.Checkpoint.Handled) }

// startable returns the runs that may start within the limits, and the limit that leaves out others.
func (d *decider) startable() (fresh []int, held Reason) {
	fresh = d.candidates(d.mayStart)
	if d.policy.Concurrency != Allow {
		fresh = d.first(fresh)
	}
	room := d.policy.MaxCatchUp - d.catchingUp()
	fresh = slices.DeleteFunc(fresh, func(i int) bool {
		if !d.isLate(d.Checkpoint.Pending[i]) {
			return false
		}
		if room--; room < 0 {
			held = CatchingUp
		}
		return room < 0
	})
	fits := d.fits(len(fresh))
	if !d.active() && len(d.Checkpoint.PendingDeletion) == 0 {
		fits = max(fits, min(1, len(fresh)))
	}
	if fits < len(fresh) {
		return fresh[:fits], StateFull
	}
	return fresh, held
}

// catchingUp returns the number of unfinished runs that started late.
func (d *decider) catchingUp() (n int64) {
	for _, r := range slices.Concat(d.Checkpoint.Running, d.Checkpoint.Pending) {
		if started := r.Status == Running || r.tried(); started && r.CatchUp {
			n++
		}
	}
	return n
}

// holds reports whether the schedule keeps a run from starting.
func (d *decider) holds(r Run) bool {
	return !r.OnDemand && (d.blocked() || d.policy.Suspended)
}

// active reports whether a run has a Job, or may have it.
func (d *decider) active() bool {
	return len(d.Checkpoint.Running) > 0 || slices.ContainsFunc(d.Checkpoint.Pending, Run.tried) || len(d.Stop) > 0
}

// mayRetry reports whether it is time for another create. A time that lies too far
// ahead was set by a clock that has gone back since.
func (d *decider) mayRetry() bool {
	wait := d.Checkpoint.RetryAt.Sub(d.now)
	return wait <= 0 || wait > lastRetry
}

// nextTry returns when a create is to be tried, and the zero time if none is.
func (d *decider) nextTry() time.Time {
	fresh, _ := d.startable()
	waitsForTry := d.single() && len(fresh) > 0
	if len(d.candidates(d.mayRepeat)) == 0 && !waitsForTry {
		return time.Time{}
	}
	return d.Checkpoint.RetryAt
}
