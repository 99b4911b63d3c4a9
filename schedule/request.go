package schedule

import (
	"slices"
	"strings"
)

// takeUp is rules 4 and 5. Requests and completions are taken up as far as there is room; the others wait
// where they are.
func (d *decider) takeUp() {
	unanswered := 0
	for _, r := range d.Checkpoint.Completed {
		if d.unanswered(r.Tag) {
			unanswered++
		}
	}
	for changed := true; changed; { // they take less room than is kept for them, and cancelled runs make room
		before := len(d.Checkpoint.Pending)
		d.takeUpSome(&unanswered)
		changed = len(d.Checkpoint.Pending) > before
		changed = d.cancel() || changed
	}
	slices.SortFunc(d.Checkpoint.Pending, byDue)
}

func (d *decider) takeUpSome(unanswered *int) {
	c, cancelled := &d.Checkpoint, d.observation.Cancelled
	listed := tagsOf(slices.Concat(c.PendingDeletion, c.Requested), c.Pending, c.Running, c.Completed)
	add := func(r Run) {
		listed[r.Tag] = true
		c.Pending = append(c.Pending, r)
	}
	room := 0
	if len(d.requests) > 0 {
		room = d.room(maxRequested, requestPrefix)
	}
	for _, r := range d.requests {
		if settled := listed[r.Tag] || d.answered[r.Tag]; settled || room <= 0 || *unanswered >= maxUnanswered {
			continue
		}
		add(r)
		*unanswered++
		if !slices.Contains(cancelled, r.Tag) {
			room--
		}
	}
	if len(d.observation.Upstreams) > 0 {
		for _, r := range d.follow(d.room(min(int(d.policy.MaxWaiting), 2*maxRequested), "")) {
			if !listed[r.Tag] {
				add(r)
			}
		}
	}
}

// room returns how many of at most n requested runs of a kind may be added. A waiting run that
// is cancelled takes none. Where nothing else can make the state smaller, one may: it can end a block.
func (d *decider) room(n int, prefix string) int {
	stuck := len(d.Checkpoint.Running)+len(d.Checkpoint.PendingDeletion) == 0
	for _, r := range d.Checkpoint.Pending {
		isKind := r.OnDemand && strings.HasPrefix(r.Tag, prefix)
		if isKind && (r.tried() || !slices.Contains(d.observation.Cancelled, r.Tag)) {
			n--
		}
		stuck = stuck && !r.OnDemand && !r.tried()
	}
	if stuck {
		return max(d.fits(n), min(1, n))
	}
	return d.fits(n)
}

// readRequests reads the requests, in the order of the queue.
func (d *decider) readRequests() {
	for _, r := range d.observation.Requests {
		if r.ID == "" {
			continue
		}
		run := Run{Tag: RequestTag(d.policy.UID, r.ID), Request: r.ID, OnDemand: true, Status: Pending,
			Due: earliest(utc(r.RequestedAt), d.now), Created: d.now}
		if !r.Occurrence.IsZero() {
			run.Occurrence = inZone(r.Occurrence, d.line.zone)
		}
		d.answered[run.Tag] = r.Answered
		d.requests = append(d.requests, run)
	}
	slices.SortFunc(d.requests, byDue)
}

// follow returns a run for each completion that the dependencies have not answered,
// as far as there is room.
func (d *decider) follow(room int) (runs []Run) {
	for i := range d.Checkpoint.After {
		connection := &d.Checkpoint.After[i]
		for _, u := range d.observation.Upstreams {
			if u.Job != connection.Job {
				continue
			}
			connection.meet(u)
			for _, outcome := range outcomes {
				answered, completed := connection.count(outcome), *u.count(outcome)
				if connection.Outcome != outcome && connection.Outcome != Any {
					*answered = max(*answered, completed)
				}
				for ; *answered < completed && room > 0; room-- {
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
	r := Run{Tag: completionTag(d.policy.UID, u, outcome, n), Due: d.now, OnDemand: true, Status: Pending, Created: d.now}
	recent := slices.DeleteFunc(slices.Clone(u.Recent), func(r Run) bool { return r.Outcome() != outcome })
	if i := int64(len(recent)) - 1 - (*u.count(outcome) - n); 0 <= i && i < int64(len(recent)) {
		r.Request, r.Due = recent[i].Tag, earliest(utc(recent[i].Completed), d.now)
	}
	return r
}

// meet begins to follow a job when it is first observed, and of another by its name.
// Completions since the dependency holds count: all of a job that is no older.
func (c *Connection) meet(u Upstream) {
	if c.UID == u.UID {
		return
	}
	c.UID, c.Counts = u.UID, u.Counts
	if !u.Created.Before(c.Begin) {
		c.Counts = Counts{}
		return
	}
	for _, r := range u.Recent {
		if n := c.count(r.Outcome()); n != nil && !r.Completed.Before(c.Begin) {
			*n = max(0, *n-1)
		}
	}
}

// forgetRequested forgets the oldest runs on demand that nobody lists, or whose requests are
// answered: they ask for no run.
func (d *decider) forgetRequested() {
	excess := len(d.Checkpoint.Requested) - rememberedRequests
	d.Checkpoint.Requested = slices.DeleteFunc(d.Checkpoint.Requested, func(tag string) bool {
		excess--
		return excess >= 0 && !d.unanswered(tag)
	})
}
