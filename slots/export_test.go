package slots

import (
	"maps"
	"time"
)

// What the tests break.

func (s *Set) ForgetPruned()  { s.deletes = nil }
func (s *Set) ForgetFlights() { s.flights = nil }
func (s *Set) HasRead() bool  { return s.reads > 0 }

// EndFlights ends the flights that match: whether they were answered, whether the
// slot was shown, and for how long they have waited.
func (s *Set) EndFlights(which func(answered, shown bool, age time.Duration) bool, now time.Time) {
	maps.DeleteFunc(s.flights, func(_ Slot, f *flight) bool {
		return f.state != sending && which(f.state > unanswered, f.shown != "", now.Sub(f.at))
	})
}

// PretendAnswered makes creates that were not answered free to be sent again.
func (s *Set) PretendAnswered() (restore func()) {
	var changed []*flight
	for _, f := range s.flights {
		if f.state == unanswered {
			f.state, f.uid = accepted, "nobody"
			changed = append(changed, f)
		}
	}
	return func() {
		for _, f := range changed {
			f.state, f.uid = unanswered, ""
		}
	}
}

// DropReads drops the reads that are to be sent: of UIDs, or of slots.
func (s *Set) DropReads(ofUID bool) {
	var kept []Request
	for _, q := range s.work.queues[reading] {
		if q.Verb != "read" || (q.UID != "") != ofUID {
			kept = append(kept, q)
		}
	}
	s.work.queues[reading] = kept
}

func (s *Set) NoStart()          { s.options.Start = s.options.Start.Add(-s.options.Late) }
func (s *Set) AlwaysAside()      { s.marked = true; s.options.Start = s.options.Start.Add(-s.options.Late) }
func (s *Set) AsideWithoutRead() { s.read = s.options.Start.Add(s.options.Late) }
func (s *Set) AnyRead()          { s.read = s.options.Start.Add(time.Hour) }
func (s *Set) Marked()           { s.marked = true }
func (s *Set) PruneAll(uids []string) {
	for _, uid := range uids {
		if o := s.objects[uid]; o != nil && o.ended > 0 && s.deletes[uid] == nil {
			s.work.queues[pruning] = append(s.work.queues[pruning], Request{Verb: "delete", UID: uid, Slot: o.Slot, Finished: true})
		}
	}
}
func (s *Set) ForgetKnown() { s.known = nil }
func (s *Set) EarlyEnds() {
	for _, o := range s.objects {
		o.ended = min(o.ended, 1)
	}
}
func (s *Set) NoWait()  { s.options.Clean = true }
func (s *Set) AnyList() { s.reads = 1 }
