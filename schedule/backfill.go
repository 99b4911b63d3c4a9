package schedule

import (
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Backfill requests the runs of the occurrences in a span of time, such as the occurrences before the
// creation of a job or of an outage.
type Backfill struct {
	From time.Time `json:"from"` // the first occurrence is not before it
	To   time.Time `json:"to"`   // the last occurrence is before it; with a To that is not after From there is none
	// Limit is the number of occurrences; the earliest count. 0 or less means 100.
	Limit int32 `json:"limit,omitempty"`
	// Together lets up to ten runs be unfinished at a time, as far as Concurrency allows. If it is
	// false, each run waits for the one before.
	Together bool `json:"together,omitempty"`
}

const (
	defaultBackfill = 100 // runs of a backfill without a limit
	together        = 10  // runs of a backfill at a time
)

// A Progress is how far a backfill is. The zero value has begun with nothing.
type Progress struct {
	ID          string    // of the backfill
	RequestedAt time.Time // occurrences whose runs are due later are left to the schedule
	Done        int64     // number of the first runs, all of which have completed
	Last        time.Time // the occurrence of the last of these
}

// A BackfillPlan holds the runs of a backfill.
type BackfillPlan struct {
	Requests []Request // of the runs that may start
	Runs     int64     // number of all runs
	// Later is the number of occurrences in the span that were due after Progress.RequestedAt. The
	// schedule runs them.
	Later int64
}

// Plan returns the runs of a backfill at a time, for a policy that has held since begin. A schedule that
// begins with the creation begins at From, if that is earlier.
//
// The cost does not depend on the number of occurrences if the schedule is an interval. Else each is
// counted, up to the limit.
func (b Backfill) Plan(policy Policy, begin time.Time, progress Progress, now time.Time) (plan BackfillPlan) {
	line := policy.timeline(earliest(b.From, begin))
	limit, unfinished := int64(b.Limit), int64(1)
	if limit <= 0 {
		limit = defaultBackfill
	}
	if b.Together {
		unfinished = together
	}
	span := interval.Span{After: b.From.Add(-1), Until: b.To.Add(-1)}
	until, ok := line.lastDue(earliest(span.Until, progress.RequestedAt))
	if ok {
		plan.Runs = line.count(interval.Span{After: span.After, Until: until}, limit)
	}
	plan.Later = line.count(span, limit) - plan.Runs
	t, ok := line.next(latest(span.After, progress.Last))
	for ; ok && int64(len(plan.Requests)) < min(unfinished, plan.Runs-progress.Done); t, ok = line.next(t) {
		if t.After(until) || line.occurrence(t).Due().After(now) { // the schedule may have changed
			break
		}
		plan.Requests = append(plan.Requests, Request{ID: progress.ID + "/" + t.UTC().Format(time.RFC3339Nano), Occurrence: t})
	}
	return plan
}
