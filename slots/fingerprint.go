package slots

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Fingerprint returns everything that the set's future depends on. Two sets with one
// fingerprint behave alike, if their times are compared with now. A model that explores a
// program keeps one state for each fingerprint.
func (s *Set) Fingerprint(now time.Time) string {
	p := printer{set: s, now: now, rank: s.ranks(), most: max(s.options.Late, s.options.Unshown)}
	p.clocks()
	p.shown()
	p.waiting()
	p.working()
	return string(p.text)
}

// A printer writes a fingerprint.
type printer struct {
	text []byte
	set  *Set
	now  time.Time
	rank func(int64) int64
	most time.Duration // the greatest age that matters
}

func (p *printer) numbers(all ...int64) {
	for _, n := range all {
		p.text = append(append(p.text, itoa(n)...), ' ')
	}
}

func (p *printer) bits(all ...bool) {
	for _, is := range all {
		bit := byte('0')
		if is {
			bit = '1'
		}
		p.text = append(p.text, bit)
	}
}

// begin begins an entry of a kind, with its key.
func (p *printer) begin(kind, key string) {
	p.text = append(append(p.text, kind...), key...)
}

func (p *printer) slot(kind string, at Slot) {
	p.begin(kind, at.Key)
	p.numbers(at.Number)
}

func (p *printer) requests(kind string, all []Request) {
	p.begin(kind, "")
	for _, q := range all {
		p.numbers(int64(q.Kind))
		p.slot("", q.Slot)
		f := p.set.flights[q.Slot]
		p.begin(q.UID, "")
		p.bits(q.Finished, f != nil && f.id == q.id, q.round == p.set.work.round)
	}
}

func (p *printer) age(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return int64(min(p.most, p.now.Sub(t)))
}

func (p *printer) left(t time.Time) int64 { return int64(max(0, t.Sub(p.now))) }

func (p *printer) clocks() {
	s := p.set
	p.numbers(p.age(s.options.Start), p.rank(s.reads), p.age(s.read), p.rank(s.list), s.revision, p.rank(s.listing),
		p.left(s.retry.until), int64(s.retry.n), s.retries, p.left(s.resting.until), int64(s.resting.n), p.age(s.blocked))
	p.bits(s.marked, s.unread, s.reads > 0 && s.fresh(), s.read.Before(s.options.Start.Add(s.options.Late)))
}

// shown writes the objects and the requests whose effects are awaited.
func (p *printer) shown() {
	s := p.set
	for _, uid := range sorted(s.objects) {
		o := s.objects[uid]
		p.begin(";o", uid)
		p.slot("", o.Slot)
		p.bits(o.Finished, o.Failed, o.Deleting)
		if s.options.Keyed {
			p.numbers(p.rank(o.ended))
		}
	}
	for _, at := range sortedSlots(s.flights) {
		f := s.flights[at]
		p.slot(";f", at)
		p.numbers(int64(f.state), p.age(f.at))
		p.begin(f.uid, " ")
		p.begin(f.shown, "")
	}
	for _, uid := range sorted(s.deletes) {
		d := s.deletes[uid]
		p.begin(";d", uid)
		p.numbers(p.age(d.sent), p.age(d.at))
		p.bits(d.unsure)
	}
}

// waiting writes what is not tried for a time, and the items.
func (p *printer) waiting() {
	s := p.set
	for _, uid := range sorted(s.held) {
		p.begin(";h", uid)
		p.numbers(int64(s.held[uid].n), p.left(s.held[uid].until))
	}
	for _, at := range sortedSlots(s.refused) {
		p.slot(";r", at)
		p.numbers(int64(s.refused[at].n), p.left(s.refused[at].until))
	}
	for _, key := range sorted(s.items) {
		p.begin(";i", key)
		p.numbers(s.items[key])
	}
	for _, key := range sorted(s.known) {
		p.begin(";k", key)
		p.numbers(p.rank(s.known[key]))
	}
}

// working writes the poll that is under way and the requests that are sent.
func (p *printer) working() {
	w := &p.set.work
	p.begin(";w", "")
	p.numbers(int64(w.stage), int64(w.size), w.max, w.left, int64(w.passed))
	p.bits(w.failed, w.made)
	for _, at := range w.items {
		p.slot("", at)
	}
	for _, queue := range w.queues {
		p.requests(";", queue)
	}
	p.requests(";s", p.set.out)
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

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sortedSlots[V any](m map[Slot]V) []Slot {
	return slices.SortedFunc(maps.Keys(m), func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Number, b.Number))
	})
}
