package slots

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Hold is a reason why a [Set] creates fewer objects than it is asked for. The rules are:
//
//	unlisted    the objects have not been read
//	newTerm     a create of an earlier term may still arrive
//	pruned      a pruned object is still shown, or its delete is in doubt
//	draining    the history waits for creates in doubt
//	backedOff   the last creates failed
//	blocked     the lowest free number is refused, and may not be set aside yet
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

// Holds returns the reasons for which a poll now creates less than it asks for.
func (s *Set) Holds(w Want, now time.Time) (holds []Hold) {
	add := func(is bool, h Hold) {
		if is {
			holds = append(holds, h)
		}
	}
	if s.reads == 0 {
		add(true, Hold{Rule: "unlisted", Text: "the objects have not been read in this term", All: true})
	} else if !s.fresh() {
		add(true, Hold{"newTerm", "creates of an earlier term may still arrive; the objects are read again after that", true})
	}
	if len(s.deletes) > 0 && !s.options.Keyed {
		text := fmt.Sprintf("%d deleted objects are still shown", len(s.deletes))
		for _, d := range s.deletes {
			if d.unsure {
				text = "a delete was not answered and may still arrive"
			}
		}
		add(true, Hold{"pruned", text, true})
	}
	if len(s.flights) > 0 {
		if n := s.unanswered(); n > 0 {
			text := fmt.Sprintf("%d creates were not answered and take capacity", n)
			if s.unread {
				text += "; reading them failed"
			}
			add(true, Hold{"inDoubt", text, false})
		}
	}
	if !s.blocked.IsZero() {
		add(s.drains(now), Hold{"draining", "finished objects wait to be deleted until no create is in doubt", true})
	}
	add(now.Before(s.retry.until), Hold{"backedOff", "the last creates failed", true})
	if len(s.refused) > 0 {
		var until time.Time
		for _, r := range s.refused {
			if soon := r.soon(); until.IsZero() || soon.Before(until) {
				until = soon
			}
		}
		if s.options.Keyed || s.mayAside() && len(s.refused) < mostAside {
			add(true, Hold{"setAside", fmt.Sprintf("%d objects are refused and skipped", len(s.refused)), false})
		} else {
			add(now.Before(until), Hold{"blocked", "the create of the lowest free number is refused", true})
		}
	}
	if s.options.Keyed {
		switch {
		case w.List.of == nil:
			add(true, Hold{Rule: "noList", Text: "no list of items was given", All: true})
		case s.fresh() && s.stale(w.List):
			add(true, Hold{Rule: "staleList", Text: "the list of items is older than another one, or than the objects that were read", All: true})
		}
		_, repeated, back := s.listed(w.Items)
		if len(repeated) > 0 {
			add(true, Hold{Rule: "repeated", Text: fmt.Sprintf("%d items have no key or repeat one, such as %q", len(repeated), repeated[0])})
		}
		if len(back) > 0 {
			add(true, Hold{Rule: "wentBack", Text: fmt.Sprintf("%d items have a lower attempt than before, such as %q", len(back), back[0])})
		}
		if n, key := s.done(); n > 0 {
			add(true, Hold{Rule: "stillThere", Text: fmt.Sprintf("%d items stay listed though their objects have finished or are not ours, such as %q", n, key)})
		}
	}
	return holds
}

// done counts the items that are listed, and are not run again.
func (s *Set) done() (n int, first string) {
	note := func(slot Slot) {
		if attempt, is := s.items[slot.Key]; is && attempt <= slot.Number {
			if n++; n == 1 || slot.Key < first {
				first = slot.Key
			}
		}
	}
	for _, o := range s.objects {
		if o.Finished && !(o.Failed && o.Number < lastAttempt(s.items[o.Key], s.retries)) {
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

func (s *Set) unanswered() (n int) {
	for _, f := range s.flights {
		if f.state == unanswered {
			n++
		}
	}
	return n
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

// Fingerprint returns everything that the set's future depends on. Two sets with one
// fingerprint behave alike, if their times are compared with now. A model that explores a
// program keeps one state for each fingerprint.
func (s *Set) Fingerprint(now time.Time) string {
	most := max(s.options.Late, s.options.Unshown)
	age := func(t time.Time) int64 {
		if t.IsZero() {
			return -1
		}
		return int64(min(most, now.Sub(t)))
	}
	left := func(t time.Time) int64 { return int64(max(0, t.Sub(now))) }
	rank := s.ranks()
	var b []byte
	bit := func(is bool) {
		b = append(b, '0')
		if is {
			b[len(b)-1] = '1'
		}
	}
	num := func(ns ...int64) {
		for _, n := range ns {
			b = appendInt(b, n)
		}
	}
	slot := func(at Slot) { b = append(b, at.Key...); num(at.Number) }
	request := func(q Request) {
		num(int64(q.Kind))
		slot(q.Slot)
		b = append(b, q.UID...)
		bit(q.Finished)
		f := s.flights[q.Slot]
		bit(f != nil && f.id == q.id)
		bit(q.round == s.work.round)
	}
	num(age(s.options.Start), rank(s.reads), age(s.read), rank(s.list), s.revision, rank(s.listing), left(s.retry.until), int64(s.retry.n), s.retries, left(s.resting.until), int64(s.resting.n), age(s.blocked))
	bit(s.marked)
	bit(s.unread)
	bit(s.reads > 0 && s.fresh())
	bit(s.read.Before(s.options.Start.Add(s.options.Late)))
	for _, uid := range sorted(s.objects) {
		o := s.objects[uid]
		b = append(append(b, ";o"...), uid...)
		slot(o.Slot)
		bit(o.Finished)
		bit(o.Failed)
		bit(o.Deleting)
		if s.options.Keyed {
			num(rank(o.ended))
		}
	}
	for _, at := range sortedSlots(s.flights) {
		f := s.flights[at]
		b = append(b, ";f"...)
		slot(at)
		num(int64(f.state), age(f.at))
		b = append(append(append(b, f.uid...), ' '), f.shown...)
	}
	for _, uid := range sorted(s.deletes) {
		d := s.deletes[uid]
		b = append(append(b, ";d"...), uid...)
		num(age(d.sent), age(d.at))
		bit(d.unsure)
	}
	for _, uid := range sorted(s.held) {
		b = append(append(b, ";h"...), uid...)
		num(int64(s.held[uid].n), left(s.held[uid].until))
	}
	for _, at := range sortedSlots(s.refused) {
		b = append(b, ";r"...)
		slot(at)
		num(int64(s.refused[at].n), left(s.refused[at].until))
	}
	for _, key := range sorted(s.items) {
		b = append(append(b, ";i"...), key...)
		num(s.items[key])
	}
	for _, key := range sorted(s.known) {
		b = append(append(b, ";k"...), key...)
		num(rank(s.known[key]))
	}
	w := &s.work
	b = append(b, ";w"...)
	num(int64(w.stage), int64(w.size), w.max, w.left, int64(w.passed))
	bit(w.failed)
	bit(w.made)
	for _, at := range w.items {
		slot(at)
	}
	for _, queue := range w.queues {
		b = append(b, ';')
		for _, q := range queue {
			request(q)
		}
	}
	b = append(b, ";s"...)
	for _, q := range s.out {
		request(q)
	}
	return string(b)
}

// ranks returns a function that numbers the events that matter in their order.
func (s *Set) ranks() func(int64) int64 {
	if !s.options.Keyed {
		return func(n int64) int64 { return min(n, 1) }
	}
	all := []int64{0, s.reads, s.list, s.listing}
	for _, o := range s.objects {
		all = append(all, o.ended)
	}
	for _, at := range s.known {
		all = append(all, at)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return func(n int64) int64 { i, _ := slices.BinarySearch(all, n); return int64(i) }
}

func appendInt(b []byte, n int64) []byte { return append(append(b, itoa(n)...), ' ') }

func sorted[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func sortedSlots[V any](m map[Slot]V) []Slot {
	if len(m) == 0 {
		return nil
	}
	keys := make([]Slot, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Slot) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Number, b.Number)) })
	return keys
}
