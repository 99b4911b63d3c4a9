package schedule

import "slices"

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
	for _, tag := range s.Asked {
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
		if !known[r.Tag] {
			known[r.Tag] = true
			s.Asked = append(s.Asked, r.Tag)
			s.Pending = append(s.Pending, r)
		}
	}
	slices.SortFunc(s.Pending, byDue)
}

// asked returns the runs that requests and completions ask for, in the order in
// which runs wait.
func (d *decider) asked(seen Observed) []Run {
	var runs []Run
	for _, r := range seen.Requests {
		run := Run{Tag: requestTag(d.spec.UID, r.ID), Request: r.ID, Due: utc(r.Asked)}
		if run.Due.IsZero() {
			run.Due = d.now
		}
		runs = append(runs, run)
	}
	for _, c := range seen.Completions {
		if d.follows(c) {
			runs = append(runs, Run{Tag: completionTag(d.spec.UID, c), Request: c.Tag, Due: utc(c.Completed)})
		}
	}
	for i := range runs {
		runs[i].OnDemand, runs[i].Status, runs[i].Created = true, Pending, d.now
	}
	slices.SortFunc(runs, byDue)
	return runs
}

// follows reports whether a run of another job asks for one of this.
func (d *decider) follows(c Completion) bool {
	return slices.ContainsFunc(d.state.After, func(a Connection) bool {
		ended := c.Outcome == Succeeded || c.Outcome == Failed
		return a.Job == c.Job && ended && (a.Outcome == c.Outcome || a.Outcome == Any) && !c.Completed.Before(a.Since)
	})
}

// forgetAsked forgets the oldest runs on demand that nobody lists.
func (d *decider) forgetAsked() {
	excess := -remembered
	for _, tag := range d.state.Asked {
		if !d.listed[tag] {
			excess++
		}
	}
	d.state.Asked = slices.DeleteFunc(d.state.Asked, func(tag string) bool {
		if excess <= 0 || d.listed[tag] {
			return false
		}
		excess--
		return true
	})
}
