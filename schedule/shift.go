package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// Until returns the schedule without its occurrences later than the end. The zero time is no end.
func Until(s Schedule, end time.Time) Schedule {
	if s == nil || end.IsZero() {
		return s
	}
	return until{s, interval.Clamp(end)}
}

type until struct {
	Schedule
	end time.Time
}

func (u until) String() string {
	return fmt.Sprintf("%s until %s", u.Schedule, u.end.Format(time.RFC3339Nano))
}

func (u until) From(since time.Time) Occurrences { return ended{occurrences(u.Schedule, since), u.end} }

// ended are the occurrences up to an end.
type ended struct {
	Counter
	end time.Time
}

func (e ended) Next(after time.Time) (time.Time, bool) {
	if t, ok := e.Counter.Next(after); ok && !t.After(e.end) {
		return t, true
	}
	return time.Time{}, false
}

func (e ended) Last(until time.Time) (time.Time, bool) {
	if e.end.Before(until) {
		until = e.end
	}
	return e.Counter.Last(until)
}

func (e ended) Count(in interval.Span) int64 {
	in.Until = earliest(in.Until, e.end)
	return e.Counter.Count(in)
}

// Jitter returns the schedule with each occurrence later by less than a duration, so that jobs
// with one schedule do not start together. The delay is whole seconds, ends before the next
// occurrence of s, and depends only on the occurrence and the seed, such as the UID of the job.
// A run is due at the delayed time. A job whose jitter changes starts anew, by rule 1 of the package
// comment: an occurrence before the change does not start again, and is left out if its delay has
// not passed.
func Jitter(s Schedule, most time.Duration, seed string) Schedule {
	if s == nil || most <= 0 {
		return s
	}
	return jitter{s, most, seed}
}

type jitter struct {
	Schedule
	most time.Duration
	seed string
}

func (j jitter) String() string { return fmt.Sprintf("%s jitter %v", j.Schedule, j.most) }

func (j jitter) From(since time.Time) Occurrences {
	return delayed{occurrences(j.Schedule, since), j.most, j.seed}
}

// delayed are the occurrences of a schedule, each with its delay.
type delayed struct {
	Counter
	most time.Duration
	seed string
}

// at returns an occurrence with its delay.
func (d delayed) at(t time.Time) time.Time {
	room := d.most
	if next, ok := d.Counter.Next(t); ok {
		room = min(room, next.Sub(t))
	}
	sum := sha256.Sum256([]byte(d.seed + t.Format(time.RFC3339Nano)))
	delay := time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(room))
	return interval.Clamp(t.Add(delay.Truncate(time.Second)))
}

// over returns the occurrence with its delay of the last that is not after a time without one, if
// the delay leads beyond that time.
func (d delayed) over(until time.Time) (time.Time, bool) {
	t, ok := d.Counter.Last(until)
	if ok {
		t = d.at(t)
	}
	return t, ok && t.After(until)
}

func (d delayed) Next(after time.Time) (time.Time, bool) {
	if t, ok := d.over(after); ok {
		return t, true
	}
	t, ok := d.Counter.Next(after)
	if ok {
		t = d.at(t)
	}
	return t, ok
}

func (d delayed) Count(in interval.Span) int64 {
	if !in.Until.IsZero() && !in.Until.After(in.After) {
		return 0
	}
	n := d.Counter.Count(in)
	if _, ok := d.over(in.After); ok {
		n++
	}
	if _, ok := d.over(in.Until); ok && !in.Until.IsZero() {
		n--
	}
	return n
}

func (d delayed) Last(until time.Time) (time.Time, bool) {
	t, ok := d.Counter.Last(until)
	if ok && d.at(t).After(until) {
		t, ok = d.Counter.Last(t.Add(-1))
	}
	if ok {
		t = d.at(t)
	}
	return t, ok
}
