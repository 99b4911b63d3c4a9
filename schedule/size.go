package schedule

import (
	"encoding/json"
	"slices"
	"time"
)

// The state takes at most about maxState bytes as JSON. No run starts while more than
// startBelow bytes are taken by other lists than Completed.
const (
	maxState   = 58 << 10
	startBelow = 50 << 10
)

const (
	mostPending   = 20 // scheduled runs in Pending; the others are in Backlog
	mostRequested = 20 // requested runs that wait; other requests wait where they are
	// mostUnanswered is the number of completed runs whose requests are not answered. No other
	// request is taken up then.
	mostUnanswered = 100
	remembered     = 200 // requested runs that history has dropped, and that nobody asks for any more
	mostReason     = 300 // bytes of a reason of the API server
)

// full reports whether the state has no room for another active run. A job without Jobs may
// start one.
func (d *decider) full() bool {
	s := &d.state
	return len(s.Running)+len(s.PendingDeletion) > 0 && d.rough(0) > startBelow && d.fixed() > startBelow
}

// rough returns a size of the state with a number of completed runs that it does not exceed.
func (d *decider) rough(completed int) int {
	s, n := &d.state, 4<<10+40*(len(d.state.Requested)+len(d.state.PendingDeletion))
	for i := range s.Pending {
		if n += 40; s.Pending[i].Tag != "" {
			n += 660
		}
	}
	return n + 700*(len(s.Running)+completed)
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

// fit lets history drop the oldest completed runs until the state is small enough. The run of
// a request that is not answered stays.
func (d *decider) fit() {
	s := &d.state
	if d.rough(len(s.Completed)) < maxState {
		return
	}
	size := d.fixed()
	for _, r := range slices.Backward(s.Completed) {
		data, _ := json.Marshal(r)
		size += len(data) + 1
	}
	for i := 0; i < len(s.Completed) && size > maxState; i++ {
		if r := &s.Completed[i]; !d.unanswered(r.Tag) {
			data, _ := json.Marshal(*r)
			size -= len(data) - len(r.Tag) - 2
			d.drop(i)
		}
	}
	d.compact()
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

// pack puts the scheduled runs behind the first into the backlog, except those that were
// tried.
func (d *decider) pack() {
	s, n := &d.state, 0
	for i := range s.Pending {
		if r := &s.Pending[i]; !r.OnDemand && r.Attempts == 0 {
			if n++; n <= mostPending {
				d.named(r)
			} else if r.Tag == "" || r.Tag == scheduledTag(d.spec.UID, r.Due) {
				s.Backlog = append(s.Backlog, r.Due)
				*r = Run{}
			}
		}
	}
	s.Pending = slices.DeleteFunc(s.Pending, func(r Run) bool { return r == Run{} })
}

// short returns the start of a text.
func short(text string) string {
	if len(text) <= mostReason {
		return text
	}
	n := mostReason - len("…")
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
