package schedule

import (
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/field"
)

// remembered is how many runs on demand are remembered that nobody lists.
const remembered = 1000

// takeUp is rule 2.
func (d *decider) takeUp(seen Observed) {
	asked := d.asked(seen)
	if len(asked) == 0 {
		return
	}
	s := &d.state
	known := map[string]bool{}
	for _, tag := range s.Requested {
		known[tag] = true
	}
	for _, runs := range [][]Run{s.Pending, s.Running, s.Completed} {
		for _, r := range runs {
			known[r.Tag] = true
		}
	}
	d.listed = map[string]bool{}
	for _, r := range asked {
		d.listed[r.Tag] = true
		if !known[r.Tag] && !d.answered[r.Tag] {
			known[r.Tag] = true
			s.Requested = append(s.Requested, r.Tag)
			s.Pending = append(s.Pending, r)
		}
	}
	slices.SortFunc(s.Pending, byDue)
}

// asked returns the runs that requests and upstreams ask for, in the order in which
// runs wait.
func (d *decider) asked(seen Observed) []Run {
	var runs []Run
	for i, r := range seen.Requests {
		if r.ID == "" {
			d.problems.Add(field.Error{Path: fmt.Sprintf("Requests[%d].ID", i), Found: "nothing", Fix: "an ID unlike that of any other request, such as a UID"})
			continue
		}
		run := Run{Tag: requestTag(d.spec.UID, r.ID), Request: r.ID, Due: utc(r.RequestedAt)}
		d.answered[run.Tag] = r.Answered
		if run.Due.IsZero() {
			run.Due = d.now
		}
		runs = append(runs, run)
	}
	runs = append(runs, d.follow(seen.Upstreams)...)
	for i := range runs {
		runs[i].OnDemand, runs[i].Status, runs[i].Created = true, Pending, d.now
	}
	slices.SortFunc(runs, byDue)
	return runs
}

// follow returns a run for each completion that the dependencies have not answered,
// as far as there is room.
func (d *decider) follow(upstreams []Upstream) (runs []Run) {
	room := d.spec.MaxWaiting
	for _, r := range d.state.Pending {
		if r.OnDemand {
			room--
		}
	}
	for i := range d.state.After {
		c := &d.state.After[i]
		for _, u := range upstreams {
			if u.Job != c.Job {
				continue
			}
			c.meet(u)
			for _, side := range []struct {
				outcome  Outcome
				answered *int64
				all      int64
			}{{Succeeded, &c.Succeeded, u.Succeeded}, {Failed, &c.Failed, u.Failed}} {
				if c.Outcome != side.outcome && c.Outcome != Any {
					*side.answered = max(*side.answered, side.all)
				}
				for ; *side.answered < side.all && room > 0; room-- {
					*side.answered++
					runs = append(runs, d.answer(u, side.outcome, *side.answered))
				}
			}
		}
	}
	return runs
}

// answer returns the run for the n-th completion of an outcome.
func (d *decider) answer(u Upstream, outcome Outcome, n int64) Run {
	r := Run{Tag: completionTag(d.spec.UID, u, outcome, n), Due: d.now}
	behind := u.Succeeded - n
	if outcome == Failed {
		behind = u.Failed - n
	}
	for _, c := range slices.Backward(u.Recent) {
		if c.Outcome() != outcome {
			continue
		}
		if behind == 0 {
			r.Request, r.Due = c.Tag, utc(c.Completed)
			break
		}
		behind--
	}
	return r
}

// meet begins to follow a job at the first sight of it, and of another by its name.
// Completions since the dependency holds count: all of a job that is no older.
func (c *Connection) meet(u Upstream) {
	if c.UID == u.UID {
		return
	}
	c.UID, c.Succeeded, c.Failed = u.UID, u.Succeeded, u.Failed
	if !u.Created.Before(c.Since) {
		c.Succeeded, c.Failed = 0, 0
		return
	}
	for _, r := range u.Recent {
		switch {
		case r.Completed.Before(c.Since):
		case r.Outcome() == Succeeded:
			c.Succeeded = max(0, c.Succeeded-1)
		case r.Outcome() == Failed:
			c.Failed = max(0, c.Failed-1)
		}
	}
}

// forgetRequested forgets the oldest runs on demand that nobody lists.
func (d *decider) forgetRequested() {
	excess := -remembered
	for _, tag := range d.state.Requested {
		if !d.listed[tag] {
			excess++
		}
	}
	d.state.Requested = slices.DeleteFunc(d.state.Requested, func(tag string) bool {
		if excess <= 0 || d.listed[tag] {
			return false
		}
		excess--
		return true
	})
}
