package slots

import (
	"maps"
)

// What tests break: each method removes a rule.

// ForgetDeletes lets creates go on while a deleted object is shown.
func (s *Set) ForgetDeletes() { clear(s.deletes) }

// ForgetCreates forgets the creates in flight.
func (s *Set) ForgetCreates() { clear(s.creates) }

// HasRead reports whether the objects have been read.
func (s *Set) HasRead() bool { return !s.read.IsZero() }

// EndCreates ends the creates that match: whether they were answered, and whether their number is
// shown.
func (s *Set) EndCreates(matches func(answered, shown bool) bool) {
	maps.DeleteFunc(s.creates, func(_ int64, c *create) bool {
		return c.state != sending && matches(c.state > unanswered, c.shownUID != "")
	})
}

// PretendAnswered lets finished objects be deleted beside creates in a state: as if those were answered.
func (s *Set) PretendAnswered(sendingToo bool) (restore func()) {
	changed := map[*create]state{}
	for _, c := range s.creates {
		if c.state == unanswered || (sendingToo && c.state == sending) {
			changed[c] = c.state
			c.state, c.uid = accepted, "nobody"
		}
	}
	return func() {
		for c, before := range changed {
			if c.state == accepted && c.uid == "nobody" {
				c.state, c.uid = before, ""
			}
		}
	}
}

// DropReads drops the reads that are to be sent: of deleted objects, or of numbers.
func (s *Set) DropReads(deleted bool) {
	var kept []Request
	for _, q := range s.poll.queues[reading] {
		if q.Verb != Read || (q.UID != "") != deleted {
			kept = append(kept, q)
		}
	}
	s.poll.queues[reading] = kept
}

// UseHigherNumbers lets creates use the numbers above the highest only.
func (s *Set) UseHigherNumbers() (restore func()) {
	highest := int64(0)
	for number := range s.usedNumbers() {
		highest = max(highest, number)
	}
	added := map[int64]bool{}
	for number := range highest {
		if !s.usedNumbers()[number] && number > 0 {
			added[number] = true
			s.creates[number] = &create{state: occupied}
		}
	}
	return func() {
		for number := range added {
			delete(s.creates, number)
		}
	}
}

// StartEarlier lets the term begin L before.
func (s *Set) StartEarlier() { s.options.Start = s.options.Start.Add(-s.options.RequestLifetime) }

// SkipFreely lets numbers be skipped from the beginning.
func (s *Set) SkipFreely() { s.marked = true; s.StartEarlier() }

// ReadLater pretends that the objects were read after L, or in the term.
func (s *Set) ReadLater() { s.read = s.options.Start.Add(s.options.RequestLifetime) }

// PretendMarked pretends that the lease is marked.
func (s *Set) PretendMarked() { s.marked = true }
