package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// takeUp is rule 4. Requests and completions are taken up as far as there is room; the others wait
// where they are.
func (d *decider) takeUp(seen Observed) {
	s := &d.State
	known := tagsOf(slices.Concat(s.PendingDeletion, s.Requested), s.Pending, s.Running, s.Completed)
	add := func(r Run) {
		known[r.Tag] = true
		s.Pending = append(s.Pending, r)
	}
	unanswered := 0
	for _, r := range s.Completed {
		if d.unanswered(r.Tag) {
			unanswered++
		}
	}
	room := d.room(mostRequested, requestPrefix, seen.Cancelled)
	for _, r := range d.requests {
		if known[r.Tag] || d.answered[r.Tag] || room <= 0 || unanswered >= mostUnanswered {
			continue
		}
		add(r)
		unanswered++
		if !slices.Contains(seen.Cancelled, r.Tag) {
			room--
		}
	}
	for _, r := range d.follow(seen.Upstreams, d.room(min(d.spec.MaxWaiting, 2*mostRequested), "", seen.Cancelled)) {
		if !known[r.Tag] {
			add(r)
		}
	}
	slices.SortFunc(s.Pending, byDue)
}

// room returns how many of at most n requested runs of a kind may be added. A waiting run that
// is cancelled takes none. Where nothing else can make the state smaller, one may: it can end a block.
func (d *decider) room(n int, prefix string, cancelled []string) int {
	stuck := len(d.State.Running)+len(d.State.PendingDeletion) == 0
	for _, r := range d.State.Pending {
		if r.OnDemand && strings.HasPrefix(r.Tag, prefix) && (r.tried() || !slices.Contains(cancelled, r.Tag)) {
			n--
		}
		stuck = stuck && !r.OnDemand && !r.tried()
	}
	if stuck {
		return max(d.fits(n), min(1, n))
	}
	return d.fits(n)
}

// read reads the requests, in the order of the queue.
func (d *decider) read(seen Observed) {
	for _, r := range seen.Requests {
		if r.ID == "" {
			continue
		}
		run := Run{Tag: RequestTag(d.spec.UID, r.ID), Request: r.ID, OnDemand: true, Status: Pending,
			Due: cmp.Or(utc(r.RequestedAt), d.now), Occurrence: utc(r.Occurrence), Created: d.now}
		d.answered[run.Tag] = r.Answered
		d.requests = append(d.requests, run)
	}
	slices.SortFunc(d.requests, byDue)
}

// follow returns a run for each completion that the dependencies have not answered,
// as far as there is room.
func (d *decider) follow(upstreams []Upstream, room int) (runs []Run) {
	for i := range d.State.After {
		c := &d.State.After[i]
		for _, u := range upstreams {
			if u.Job != c.Job {
				continue
			}
			c.meet(u)
			for _, outcome := range []Outcome{Succeeded, Failed, Lost} {
				answered, all := c.of(outcome), *u.of(outcome)
				if c.Outcome != outcome && c.Outcome != Any {
					*answered = max(*answered, all)
				}
				for ; *answered < all && room > 0; room-- {
					*answered++
					runs = append(runs, d.answer(u, outcome, *answered))
				}
			}
		}
	}
	return runs
}

// answer returns the run for the n-th completion of an outcome.
func (d *decider) answer(u Upstream, outcome Outcome, n int64) Run {
	r := Run{Tag: completionTag(d.spec.UID, u, outcome, n), Due: d.now, OnDemand: true, Status: Pending, Created: d.now}
	recent := slices.DeleteFunc(slices.Clone(u.Recent), func(r Run) bool { return r.Outcome() != outcome })
	if i := int64(len(recent)) - 1 - (*u.of(outcome) - n); 0 <= i && i < int64(len(recent)) {
		r.Request, r.Due = recent[i].Tag, utc(recent[i].Completed)
	}
	return r
}

// meet begins to follow a job at the first sight of it, and of another by its name.
// Completions since the dependency holds count: all of a job that is no older.
func (c *Connection) meet(u Upstream) {
	if c.UID == u.UID {
		return
	}
	c.UID, c.Counts = u.UID, u.Counts
	if !u.Created.Before(c.Since) {
		c.Counts = Counts{}
		return
	}
	for _, r := range u.Recent {
		if n := c.of(r.Outcome()); n != nil && !r.Completed.Before(c.Since) {
			*n = max(0, *n-1)
		}
	}
}

// forgetRequested forgets the oldest runs on demand that nobody lists, or whose requests are
// answered: they ask for no run.
func (d *decider) forgetRequested() {
	excess := len(d.State.Requested) - remembered
	d.State.Requested = slices.DeleteFunc(d.State.Requested, func(tag string) bool {
		excess--
		return excess >= 0 && !d.unanswered(tag)
	})
}
