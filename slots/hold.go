package slots

import (
	"fmt"
	"time"
)

// A Hold is a reason why a [Set] creates fewer objects than it is asked for. The rules are:
//
//	unlisted    the objects have not been read
//	newTerm     a create of an earlier term may still arrive
//	pruned      a pruned object is still shown, or its delete is in doubt
//	draining    the history waits for creates in doubt
//	backedOff   the last creates had no effect, or the refusals were as many as a poll may have
//	blocked     the lowest free number is refused, and may not be set aside yet; or 64 numbers are
//	inDoubt     creates that were not answered take capacity
//	setAside    slots whose creates are refused are skipped
//	noList      keyed: no list of items was given
//	staleList   keyed: the list began before the objects were read or before another list, or
//	            has a lower revision
//	repeated    keyed: items without a key, or with the key of an item before them, are skipped
//	wentBack    keyed: items with a lower attempt than in the list before are skipped
//	stillThere  keyed: items whose object has finished, or is not ours
type Hold struct {
	Rule string
	Text string
	All  bool // nothing at all is created
}

var gateTexts = map[string]string{
	"unlisted":  "the objects have not been read in this term",
	"newTerm":   "creates of an earlier term may still arrive; the objects are read again after that",
	"draining":  "finished objects wait to be deleted until no create is in doubt",
	"backedOff": "the last creates failed",
}

// gates returns the rules that let nothing at all be created now.
func (s *Set) gates(now time.Time) (rules []string) {
	switch {
	case s.reads == 0:
		rules = append(rules, "unlisted")
	case !s.fresh():
		rules = append(rules, "newTerm")
	}
	if len(s.deletes) > 0 && !s.options.Keyed {
		rules = append(rules, "pruned")
	}
	if s.drains(now) {
		rules = append(rules, "draining")
	}
	if now.Before(s.retry.until) {
		rules = append(rules, "backedOff")
	}
	return rules
}

// Holds returns the reasons why a poll now creates less than it asks for.
func (s *Set) Holds(w Want, now time.Time) (holds []Hold) {
	for _, rule := range s.gates(now) {
		text := gateTexts[rule]
		if rule == "pruned" {
			text = fmt.Sprintf("%d deleted objects are still shown", len(s.deletes))
			for _, d := range s.deletes {
				if d.unsure {
					text = "a delete was not answered and may still arrive"
				}
			}
		}
		holds = append(holds, Hold{rule, text, true})
	}
	if n := s.doubts(unanswered); n > 0 {
		text := fmt.Sprintf("%d creates were not answered and take capacity", n)
		if s.unread {
			text += "; reading them failed"
		}
		holds = append(holds, Hold{"inDoubt", text, false})
	}
	holds = s.holdsOfRefused(holds, now)
	if s.options.Keyed {
		holds = s.holdsOfItems(holds, &w)
	}
	return holds
}

func (s *Set) holdsOfRefused(holds []Hold, now time.Time) []Hold {
	n, due := len(s.refused), false
	for _, r := range s.refused {
		due = due || !now.Before(r.soon())
	}
	switch {
	case n == 0:
	case s.options.Keyed || s.mayAside() && n < mostAside:
		holds = append(holds, Hold{"setAside", fmt.Sprintf("%d objects are refused and skipped", n), false})
	case n >= mostAside:
		holds = append(holds, Hold{"blocked", fmt.Sprintf("%d numbers are refused; one is tried again in each poll", n), !due})
	case !due:
		holds = append(holds, Hold{"blocked", "the create of the lowest free number is refused", true})
	}
	return holds
}

func (s *Set) holdsOfItems(holds []Hold, w *Want) []Hold {
	switch {
	case w.of == nil:
		holds = append(holds, Hold{"noList", "no list of items was given", true})
	case s.fresh() && s.stale(w):
		return append(holds, Hold{"staleList", "the list of items is older than another one, or than the objects that were read", true})
	}
	some := func(rule, text string, n int, first string) {
		if n > 0 {
			holds = append(holds, Hold{rule, fmt.Sprintf(text+", such as %q", n, first), false})
		}
	}
	items, repeated, back := s.listed(w.Items)
	some("repeated", "%d items have no key or repeat one", len(repeated), first(repeated))
	some("wentBack", "%d items have a lower attempt than before", len(back), first(back))
	n, key := s.done(attempts(items), w)
	some("stillThere", "%d items stay listed though their objects have finished or are not ours", n, key)
	return holds
}

func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// done counts the items that are not run again, though a list has them that began after the end was shown.
func (s *Set) done(items map[string]int64, w *Want) (n int, first string) {
	note := func(slot Slot) {
		if attempt, is := items[slot.Key]; is && attempt <= slot.Number {
			if n++; n == 1 || slot.Key < first {
				first = slot.Key
			}
			delete(items, slot.Key) // it counts once
		}
	}
	for _, o := range s.objects {
		if 0 < o.ended && o.ended < w.at && !(o.failed && o.Number < lastAttempt(items[o.Key], w.Retries)) {
			note(o.Slot)
		}
	}
	for slot, f := range s.flights {
		if f.state >= taken {
			note(slot)
		}
	}
	return n, first
}

// NextCheck returns the earliest time at which another poll can do something that this one
// could not, without an event. The zero time means there is none.
func (s *Set) NextCheck(now time.Time) (next time.Time) {
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, f := range s.flights {
		switch f.state {
		case unanswered, taken:
			at(f.at.Add(s.options.Late))
		case accepted:
			at(f.at.Add(s.options.Unshown))
		}
	}
	for _, d := range s.deletes {
		if !d.at.IsZero() {
			at(d.at.Add(s.options.Late))
		}
	}
	for _, r := range s.refused {
		at(r.soon())
		at(r.until)
	}
	at(s.retry.until)
	if s.waits() || len(s.refused) > 0 || len(s.work.queues[pruning]) > 0 {
		at(s.options.Start.Add(s.options.Late))
	}
	if len(s.work.queues[pruning]) > 0 {
		at(s.resting.until)
		if !s.blocked.IsZero() {
			at(s.blocked.Add(s.options.Late))
		}
	}
	return next
}
