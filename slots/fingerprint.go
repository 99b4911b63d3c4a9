package slots

import (
	"fmt"
	"slices"
	"time"
)

// Fingerprint returns everything that the set's future depends on. Two sets with one
// fingerprint behave alike, if their times are compared with now. A model that explores a
// program keeps one state for each fingerprint.
func (s *Set) Fingerprint(now time.Time) string {
	type list = []any
	rank := s.ranks()
	age := func(t time.Time) int64 {
		if t.IsZero() {
			return -1
		}
		return int64(min(max(s.options.Late, s.options.Unshown), now.Sub(t)))
	}
	left := func(b backoff) list { return list{b.n, max(0, b.until.Sub(now))} }
	requests := func(all []Request) (is list) {
		for _, q := range all {
			f := s.flights[q.Slot]
			is = append(is, q.Verb, q.Slot, q.UID, q.Finished, f != nil && f.id == q.id, q.round == s.work.round)
		}
		return is
	}
	w := &s.work
	is := list{
		age(s.options.Start), rank(s.reads), age(s.read), rank(s.list), s.revision, rank(s.asked), left(s.retry), s.retries, left(s.resting),
		age(s.blocked), s.marked, s.unread, s.reads > 0 && s.fresh(), s.read.Before(s.options.Start.Add(s.options.Late)),
		mapped(s.objects, func(o *object) any { return list{o.Slot, rank(o.ended), o.failed, o.deleting} }),
		mapped(s.flights, func(f *flight) any { return list{f.state, age(f.at), f.uid, f.shown} }),
		mapped(s.deletes, func(d *doubt) any { return list{age(d.sent), age(d.at), d.unsure} }),
		mapped(s.held, func(b backoff) any { return left(b) }), mapped(s.refused, func(b backoff) any { return left(b) }),
		s.items, mapped(s.known, func(at int64) any { return rank(at) }),
		w.stage, w.stopped, w.size, w.max, w.left, w.passed, w.made, w.some, s.tired, w.again, w.items, requests(s.out),
	}
	for _, queue := range w.queues {
		is = append(is, requests(queue))
	}
	return fmt.Sprint(is...)
}

// mapped returns a map with other values. Printed, it is in the order of its keys.
func mapped[K comparable, V any](m map[K]V, to func(V) any) map[K]any {
	is := make(map[K]any, len(m))
	for key, value := range m {
		is[key] = to(value)
	}
	return is
}

// ranks returns a function that numbers the events that matter in their order.
func (s *Set) ranks() func(int64) int {
	all := []int64{0, s.reads, s.list, s.asked}
	for _, o := range s.objects {
		all = append(all, o.ended)
	}
	for _, at := range s.known {
		all = append(all, at)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return func(n int64) int {
		if i, _ := slices.BinarySearch(all, n); s.options.Keyed {
			return i
		}
		return int(min(n, 1))
	}
}
