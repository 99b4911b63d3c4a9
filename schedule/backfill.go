package schedule

import (
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Backfill requests the runs of the occurrences in a span of time, such as the occurrences before the
// creation of a job or of an outage.
type Backfill struct {
	From time.Time `json:"from"` // the first occurrence is not before it
	To   time.Time `json:"to"`   // the last occurrence is before it
	// Limit is the number of occurrences; the earliest count. 0 means 100.
	Limit int32 `json:"limit,omitempty"`
	// Together lets up to ten runs be unfinished at a time, as far as Concurrency allows. If it is
	// false, each run waits for the one before.
	Together bool `json:"together,omitempty"`
}

// The most runs of a backfill, if it has no limit, and at a time.
const (
	mostBackfill = 100
	together     = 10
)

// Requests returns the requests of a backfill for which runs may start, and the number of all
// occurrences, for a job with a creation time. id is the id of the backfill. The runs of the first
// done occurrences have completed, the latest at the time last; the zero time if there are none. A
// schedule that begins with the creation begins at From, if that is earlier.
//
// The cost does not depend on the number of occurrences if the schedule is an interval. Else each is
// counted, up to the limit.
func (b Backfill) Requests(s Schedule, created time.Time, id string, done int, last time.Time) (now []Request, all int) {
	since := created
	if b.From.Before(since) {
		since = b.From
	}
	limit, most := int(b.Limit), 1
	if limit <= 0 {
		limit = mostBackfill
	}
	if b.Together {
		most = together
	}
	due, at := occurrences(s, since), latest(b.From.Add(-1), last)
	next := func() bool {
		n, ok := due.Next(at)
		at = interval.Clamp(n)
		return ok && at.Before(b.To)
	}
	for len(now) < min(most, limit-done) && next() {
		now = append(now, Request{ID: id + "/" + at.Format(time.RFC3339Nano), Occurrence: at})
	}
	if at = b.From.Add(-1); quick(due) && b.From.Before(b.To) {
		return now, int(min(int64(limit), due.Count(interval.Span{After: at, Until: b.To.Add(-1)})))
	}
	for all < limit && next() {
		all++
	}
	return now, all
}

// quick reports whether occurrences are counted in constant time.
func quick(c Counter) bool {
	switch c := c.(type) {
	case stepwise:
		return false
	case until:
		return quick(c.Counter)
	case jitter:
		return quick(c.Counter)
	}
	return true
}
