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
// done occurrences have completed. A schedule that begins with the creation begins at From, if
// that is earlier.
func (b Backfill) Requests(s Schedule, created time.Time, id string, done int) (now []Request, all int) {
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
	due, at := occurrences(s, since), b.From.Add(-1)
	for ; all < limit; all++ {
		next, ok := due.Next(at)
		if at = interval.Clamp(next); !ok || !at.Before(b.To) {
			break
		}
		if all >= done && len(now) < most {
			now = append(now, Request{ID: id + "/" + at.Format(time.RFC3339Nano), Occurrence: at})
		}
	}
	return now, all
}
