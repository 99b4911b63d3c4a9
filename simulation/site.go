package simulation

import (
	"cmp"
	"slices"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A site is a cluster in a run.
type site struct {
	phased
	capacity int64 // -1 is no limit
	pods     int64 // that hold room
	line     deque[ref]
	outages  []Outage
	delay    Duration // age of the list of Jobs
	// outages in which it does not answer, in which no pod starts, and in which it
	// rejects creates
	silent, stopped, rejecting int

	current  view
	views    deque[view] // of later polls
	finished []jobs.Job  // that are not deleted, for a policy that reads them
	rejected bool        // a create, since the last poll

	created    int64
	most       int64
	used, idle podTime
}

func newSite(c Cluster) site {
	s := site{capacity: -1, outages: c.Outages, delay: c.ListAge}
	if c.Capacity != nil {
		s.capacity = *c.Capacity
	}
	return s
}

// phased counts the Jobs in each phase.
type phased struct{ phase [phases]int64 }

func (p *phased) pending() int64 {
	return p.phase[unscheduled] + p.phase[starting] + p.phase[backingOff]
}
func (p *phased) running() int64 {
	return p.pending() + p.phase[working] + p.phase[looking] + p.phase[completing]
}
func (p *phased) unfinished() int64 { return p.running() + p.phase[terminating] }
func (p *phased) idlePods() int64 {
	return p.phase[starting] + p.phase[looking] + p.phase[terminating]
}

// total adds up the numbers of the sites.
func (w *world) total(count func(*site) int64) (n int64) {
	for i := range w.sites {
		n += count(&w.sites[i])
	}
	return n
}

// queueUp puts a Job without room at the end of the line.
func (w *world) queueUp(slot int32) {
	j := &w.jobs[slot]
	w.sites[j.site].line.pushBack(ref{slot, j.epoch})
	w.fill(j.site)
}

// fill starts the pods that there is room for.
func (w *world) fill(at int32) {
	s := &w.sites[at]
	for s.line.n > 0 && s.stopped == 0 && (s.capacity < 0 || s.pods < s.capacity) {
		r := s.line.popFront()
		if w.jobs[r.slot].epoch != r.epoch {
			continue
		}
		s.pods++
		w.enter(r.slot, starting)
		w.tell("scheduled", nil, r.slot)
		w.agenda.add(w.now+w.startup.draw(), dutyStarted, r.slot, w.jobs[r.slot].epoch)
	}
}

// schedule enters the outages of a cluster: their beginnings as even numbers, their
// ends as odd ones.
func (w *world) schedule(at int32, outages []Outage) {
	for i, o := range outages {
		w.agenda.add(o.From, dutyOutage, at, uint32(2*i))
		w.agenda.add(o.Until, dutyOutage, at, uint32(2*i+1))
	}
}

func (w *world) outage(at int32, which uint32) {
	s := &w.sites[at]
	kind, begins, by := s.outages[which/2].Kind, which%2 == 0, 1
	e := Event{Kind: "outage started", Cluster: int(at)}
	if !begins {
		by, e.Kind = -1, "outage ended"
	}
	w.observe(e)
	switch kind {
	case unreachable:
		s.silent += by
	case noStart:
		s.stopped += by
	case rejects:
		s.rejecting += by
	default:
		s.silent += by
		s.stopped += by
	}
	switch {
	case !begins:
		w.fill(at)
	case s.stopped > 0 && kind != unreachable && kind != rejects:
		w.stop(at, kind != noStart)
	}
}

// stop puts pods that are starting back into the line, and lets those that run fail,
// if they do.
func (w *world) stop(at int32, fail bool) {
	here := slices.DeleteFunc(slices.Clone(w.live), func(slot int32) bool { return w.jobs[slot].site != at })
	slices.SortFunc(here, func(a, b int32) int { return cmp.Compare(w.jobs[b].number, w.jobs[a].number) })
	for _, slot := range here {
		j := &w.jobs[slot]
		switch {
		case j.phase == starting:
			w.vacate(slot, unscheduled)
			w.tell("unscheduled", nil, slot)
			w.sites[at].line.pushFront(ref{slot, j.epoch})
		case fail && (j.phase == working || j.phase == looking):
			w.failPod(slot)
		}
	}
	w.offer()
}
