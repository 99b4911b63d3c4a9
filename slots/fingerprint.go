package slots

import (
	"fmt"
	"time"
)

// Fingerprint returns everything that the set's future depends on. Two sets with one
// fingerprint behave alike, if their times are compared with now. A model that explores a
// program keeps one state for each fingerprint.
func (s *Set) Fingerprint(now time.Time) string {
	type list = []any
	age := func(t time.Time) int64 {
		if t.IsZero() {
			return -1
		}
		return int64(min(max(s.options.RequestLifetime, s.options.ObservationLag), now.Sub(t)))
	}
	wait := func(b backoff) list { return list{b.failures, max(0, b.until.Sub(now))} }
	requests := func(queue []Request) (texts list) {
		for _, q := range queue {
			c := s.creates[q.Number]
			texts = append(texts, q.Verb, q.Number, q.UID, q.Finished, c != nil && c.id == q.id, q.round == s.poll.round, q.id == s.poll.first)
		}
		return texts
	}
	p := &s.poll
	parts := list{
		age(s.options.Start), age(s.read), s.fresh(), s.maySkip(), s.read.Before(s.past()), s.marked,
		wait(s.createPause), wait(s.deletePause), min(s.failedPolls, outagePolls), s.retried, age(s.historyWaits), s.readFailed,
		mapped(s.objects, func(o *object) any { return *o }),
		mapped(s.creates, func(c *create) any { return list{c.state, age(c.replied), c.uid, c.shownUID, c.id > p.round} }),
		mapped(s.deletes, func(d *deletion) any { return list{age(d.sent), age(d.replied), d.unsure} }),
		mapped(s.undeleted, func(b backoff) any { return wait(b) }),
		mapped(s.failed, func(f *failure) any {
			return list{wait(f.backoff), f.refused, f.skipped, f.round == p.round, min(f.times, outagePolls), s.created > f.create}
		}),
		p.stage, p.stopped, p.batch, p.max, p.remaining, p.first != 0, p.rejected, p.failures, p.created, p.worked, requests(s.sent),
	}
	for _, queue := range p.queues {
		parts = append(parts, requests(queue))
	}
	return fmt.Sprint(parts...)
}

// mapped returns a map with other values. Printed, it is in the order of its keys.
func mapped[K comparable, V any](values map[K]V, convert func(V) any) map[K]any {
	result := make(map[K]any, len(values))
	for key, value := range values {
		result[key] = convert(value)
	}
	return result
}
