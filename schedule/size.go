package schedule

import (
	"encoding/json"
	"slices"
	"time"
)

// The state takes at most about maxState bytes as JSON. No run starts and no request is taken up
// while more than startBelow bytes are taken by other lists than Completed: an active run grows by
// about 150 bytes until it has completed.
const (
	maxState   = 58 << 10
	startBelow = 36 << 10
	largeRun   = 750 // bytes that a run does not exceed
	usualRun   = 400 // of a request
)

const (
	mostPending   = 20 // scheduled runs in Pending; the others are in Backlog
	mostRequested = 20 // requested runs that wait; other requests wait where they are
	// mostUnanswered is the number of completed runs whose requests are not answered. No other
	// request is taken up then.
	mostUnanswered = 100
	remembered     = 200 // requested runs that history has dropped, and that nobody asks for any more
	mostReason     = 300 // bytes of a reason of the API server
	mostName       = 60  // bytes of the name of a client
)

// fits returns how many of n runs the state has room for. A job without Jobs may start one.
func (d *decider) fits(n int) int {
	if d.rough(0)+n*largeRun > startBelow {
		n = min(n, max(0, (startBelow-d.fixed())/usualRun))
	}
	return n
}

// rough returns a size of the state with a number of completed runs that it does not exceed.
func (d *decider) rough(completed int) int {
	s, n := &d.state, 4<<10+40*(len(d.state.Requested)+len(d.state.PendingDeletion))
	for i := range s.Pending {
		if n += 40; s.Pending[i].Tag != "" {
			n += largeRun - 40
		}
	}
	return n + largeRun*(len(s.Running)+completed)
}

// fixed returns the size of the state without the completed runs.
func (d *decider) fixed() int {
	rest := d.state.clone()
	rest.Completed = nil
	for _, r := range rest.Pending {
		if r.Tag == "" {
			rest.Backlog = append(rest.Backlog, r.Due)
		}
	}
	rest.Pending = slices.DeleteFunc(rest.Pending, func(r Run) bool { return r.Tag == "" })
	data, _ := json.Marshal(rest) // all of its values can be marshaled
	return len(data)
}

// fit makes the state small enough. It drops the oldest completed runs, then the oldest runs of the
// backlog, and at last completed runs whose requests are not answered.
func (d *decider) fit() {
	s := &d.state
	d.nameFirst()
	if d.rough(len(s.Completed)) < maxState {
		return
	}
	size := d.fixed()
	for _, r := range slices.Backward(s.Completed) {
		data, _ := json.Marshal(r)
		size += len(data) + 1
	}
	dropRuns := func(all bool) {
		for i := 0; i < len(s.Completed) && size > maxState; i++ {
			if r := &s.Completed[i]; r.Tag != "" && (all || !d.unanswered(r.Tag)) {
				data, _ := json.Marshal(*r)
				size -= len(data) - 2*len(r.Tag) - 6
				d.drop(i)
			}
		}
	}
	dropRuns(false)
	size -= d.shed(size - maxState)
	dropRuns(true)
	d.compact()
}

// shed drops the oldest scheduled runs that wait, of which others are in the backlog, to save
// bytes. It returns the bytes saved.
func (d *decider) shed(bytes int) int {
	const entry = len(`"2026-01-01T00:00:00Z",`)
	n := min((bytes+entry-1)/entry, int(d.state.Waiting())-mostPending)
	if bytes <= 0 || n <= 0 {
		return 0
	}
	saved, left := n*entry, n
	d.dropped += d.discard(func(Run) bool {
		left--
		return left >= 0
	})
	d.nameFirst()
	return saved
}

// wanted returns the tags of scheduled runs that Jobs and cancellations name, by due time. Other
// waiting runs get a tag when they need one.
func wanted(uid string, seen Observed) map[time.Time]string {
	tags := map[time.Time]string{}
	add := func(tag string) {
		if due, ok := scheduledAt(uid, tag); ok {
			tags[due] = tag
		}
	}
	for _, tag := range seen.Cancelled {
		add(tag)
	}
	for i := range seen.Jobs {
		add(seen.Jobs[i].Tag)
	}
	return tags
}

// unpack puts the runs of the backlog into Pending for the decision.
func (d *decider) unpack() {
	s := &d.state
	for _, due := range s.Backlog {
		s.Pending = append(s.Pending, Run{Tag: d.tags[due], Status: Pending, Due: due, Created: due})
	}
	s.Backlog = nil
	slices.SortFunc(s.Pending, byDue)
}

// named gives a waiting scheduled run its tag.
func (d *decider) named(r *Run) {
	if r.Tag == "" {
		r.Tag = scheduledTag(d.spec.UID, r.Due)
	}
}

// first calls do for the scheduled runs that have not been tried, and whether they stay in Pending.
func (d *decider) first(do func(r *Run, stays bool)) {
	n := 0
	for i := range d.state.Pending {
		if r := &d.state.Pending[i]; !r.OnDemand && r.Attempts == 0 {
			n++
			do(r, n <= mostPending)
		}
	}
}

// nameFirst gives the runs that stay in Pending their tags.
func (d *decider) nameFirst() {
	d.first(func(r *Run, stays bool) {
		if stays {
			d.named(r)
		}
	})
}

// pack puts the scheduled runs behind the first into the backlog, except those that were
// tried.
func (d *decider) pack() {
	s := &d.state
	d.nameFirst()
	d.first(func(r *Run, stays bool) {
		if !stays && (r.Tag == "" || r.Tag == scheduledTag(d.spec.UID, r.Due)) {
			s.Backlog = append(s.Backlog, r.Due)
			*r = Run{OnDemand: true} // removed below
		}
	})
	s.Pending = slices.DeleteFunc(s.Pending, func(r Run) bool { return r == Run{OnDemand: true} })
}

// short returns the start of a text, of at most some bytes.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := most - len("…")
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
