package slots

import (
	"fmt"
	"time"
)

// A Reason is why a [Set] creates, or deletes, fewer objects than it is asked for.
type Reason string

// The reasons. The first six stop all creates.
const (
	NotListed         Reason = "NotListed"         // the objects have not been read
	EarlierTerm       Reason = "EarlierTerm"       // a create of an earlier term may still arrive
	DeletePending     Reason = "DeletePending"     // a deleted object is still shown
	DeleteUnanswered  Reason = "DeleteUnanswered"  // a delete was not answered, and may still arrive
	HistoryWaiting    Reason = "HistoryWaiting"    // finished objects wait for creates without an answer
	BackingOff        Reason = "BackingOff"        // the last creates failed
	NumberFailed      Reason = "NumberFailed"      // the lowest free number failed, and may not be skipped yet
	CreatesUnanswered Reason = "CreatesUnanswered" // creates without an answer take capacity
	NumbersSkipped    Reason = "NumbersSkipped"    // numbers whose creates fail are skipped
	DeletesPaused     Reason = "DeletesPaused"     // after a delete that was not answered, finished objects are kept for a while
	DeletesRefused    Reason = "DeletesRefused"    // objects whose deletes are refused are kept for a while
)

// A Hold is a reason, with what it is about.
type Hold struct {
	Reason       Reason
	Text         string
	Count        int  // of what it is about, such as creates
	StopsCreates bool // nothing at all is created
}

var gateTexts = map[Reason]string{
	NotListed:      "the objects have not been read in this term",
	EarlierTerm:    "creates of an earlier term may still arrive; the objects are read again after that",
	HistoryWaiting: "finished objects wait to be deleted until every create has an answer",
	BackingOff:     "the last creates failed",
}

// gates returns the reasons that let nothing at all be created now.
func (s *Set) gates(now time.Time) (reasons []Reason) {
	switch {
	case s.read.IsZero():
		reasons = append(reasons, NotListed)
	case !s.fresh():
		reasons = append(reasons, EarlierTerm)
	}
	switch {
	case s.unsureDeletes() > 0:
		reasons = append(reasons, DeleteUnanswered)
	case len(s.deletes) > 0:
		reasons = append(reasons, DeletePending)
	}
	if s.drains(now) {
		reasons = append(reasons, HistoryWaiting)
	}
	if now.Before(s.createPause.until) {
		reasons = append(reasons, BackingOff)
	}
	return reasons
}

// Holds returns the reasons why a poll now creates less than it asks for.
func (s *Set) Holds(now time.Time) (holds []Hold) {
	for _, reason := range s.gates(now) {
		h := Hold{reason, gateTexts[reason], 1, true}
		switch reason {
		case DeleteUnanswered:
			h.Count = s.unsureDeletes()
			h.Text = counted(h.Count, "1 delete was not answered and may still arrive", "%d deletes were not answered and may still arrive")
		case DeletePending:
			h.Count = len(s.deletes)
			h.Text = counted(h.Count, "1 deleted object is still shown", "%d deleted objects are still shown")
		case BackingOff:
			h.Count = s.createPause.failures
		}
		holds = append(holds, h)
	}
	if n := s.pending(unanswered); n > 0 {
		text := counted(n, "1 create was not answered and takes capacity", "%d creates were not answered and take capacity")
		if s.readFailed {
			text += "; reading them failed"
		}
		holds = append(holds, Hold{CreatesUnanswered, text, n, false})
	}
	return s.holdsOfDeletes(s.holdsOfNumbers(holds, now), now)
}

// holdsOfDeletes adds the holds about deletes that failed. They hold no creates up.
func (s *Set) holdsOfDeletes(holds []Hold, now time.Time) []Hold {
	if now.Before(s.deletePause.until) && s.unsureDeletes() == 0 {
		n := s.deletePause.failures
		holds = append(holds, Hold{DeletesPaused, counted(n, "the last delete was not answered", "the last %d deletes were not answered"), n, false})
	}
	refused := 0
	for _, b := range s.undeleted {
		if now.Before(b.until) {
			refused++
		}
	}
	if refused > 0 {
		holds = append(holds, Hold{DeletesRefused, counted(refused, "1 delete is refused", "%d deletes are refused"), refused, false})
	}
	return holds
}

func (s *Set) unsureDeletes() (n int) {
	for _, d := range s.deletes {
		if d.unsure {
			n++
		}
	}
	return n
}

// counted returns the text for one, or the format for more with their number.
func counted(n int, single, format string) string {
	if n == 1 {
		return single
	}
	return fmt.Sprintf(format, n)
}

// holdsOfNumbers adds the holds about failed numbers. A number that waits holds up all others
// until it may be skipped.
func (s *Set) holdsOfNumbers(holds []Hold, now time.Time) []Hold {
	skipped := 0
	for _, f := range s.failed {
		if f.skipped && s.maySkip() {
			skipped++
		}
	}
	if skipped > 0 {
		holds = append(holds, Hold{NumbersSkipped, counted(skipped, "1 number whose create fails is skipped", "%d numbers whose creates fail are skipped"), skipped, false})
	}
	if failed := len(s.failed) - skipped; failed > 0 {
		text := counted(failed, "the create of the lowest free number failed", "the creates of %d numbers failed; the lowest is tried again")
		holds = append(holds, Hold{NumberFailed, text, failed, !s.lowestDue(now)})
	}
	return holds
}

// lowestDue reports whether the lowest free number may be tried now.
func (s *Set) lowestDue(now time.Time) bool {
	used := s.usedNumbers()
	for number := int64(1); ; number++ {
		f := s.failed[number]
		switch {
		case used[number], f != nil && f.skipped && s.maySkip():
		default:
			return f == nil || !now.Before(f.retryTime())
		}
	}
}

// NextCheck returns the earliest time at which another poll can do something that this one
// could not, without an event. The zero time means there is none.
func (s *Set) NextCheck(now time.Time) (next time.Time) {
	l, history := s.options.RequestLifetime, len(s.poll.queues[pruning]) > 0
	check := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, c := range s.creates {
		switch c.state {
		case unanswered, occupied:
			check(c.replied.Add(l))
		case accepted:
			check(c.replied.Add(s.options.ObservationLag))
		}
	}
	for _, d := range s.deletes {
		if !d.replied.IsZero() {
			check(d.replied.Add(l))
		}
	}
	for _, f := range s.failed {
		check(f.retryTime())
		check(f.until)
	}
	check(s.createPause.until)
	if s.options.Marked || len(s.failed) > 0 || history {
		check(s.past())
	}
	if history {
		check(s.deletePause.until)
		check(s.historyWaits.Add(l))
	}
	return next
}
