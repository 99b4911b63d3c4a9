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
	return until{Schedule: s, end: interval.Clamp(end)}
}

// An until is both the schedule and, with a start, its occurrences.
type until struct {
	Schedule
	Counter // of the schedule, without the end
	end     time.Time
}

func (u until) String() string {
	return fmt.Sprintf("%s until %s", u.Schedule, u.end.Format(time.RFC3339Nano))
}

func (u until) From(since time.Time) Occurrences {
	u.Counter = occurrences(u.Schedule, since)
	return u
}

func (u until) Next(after time.Time) (time.Time, bool) {
	if t, ok := u.Counter.Next(after); ok && !t.After(u.end) {
		return t, true
	}
	return time.Time{}, false
}

func (u until) Last(until time.Time) (time.Time, bool) {
	if u.end.Before(until) {
		until = u.end
	}
	return u.Counter.Last(until)
}

func (u until) Count(in interval.Span) int64 {
	in.Until = earliest(in.Until, u.end)
	return u.Counter.Count(in)
}

// Jitter returns the schedule with each occurrence later by less than a duration, so that jobs
// with the same schedule do not start together. The delay is whole seconds, ends before the next
// occurrence of s, and depends only on the occurrence and the seed, such as the UID of the job. Without a seed there is none.
// A run is due at the delayed time. A job whose jitter changes starts anew, by rule 1 of the package
// comment: an occurrence before the change does not start again, and is left out if its delay has
// not passed.
func Jitter(s Schedule, most time.Duration, seed string) Schedule {
	if s == nil || most <= 0 || seed == "" {
		return s
	}
	return jitter{Schedule: s, most: most, seed: seed}
}

// A jitter is both the schedule and, with a start, its occurrences.
type jitter struct {
	Schedule
	Counter // of the schedule, without delays
	most    time.Duration
	seed    string
}

func (j jitter) String() string { return fmt.Sprintf("%s jitter %v", j.Schedule, j.most) }

func (j jitter) From(since time.Time) Occurrences {
	j.Counter = occurrences(j.Schedule, since)
	return j
}

// delay returns an occurrence, if any, with its delay.
func (j jitter) delay(t time.Time, ok bool) (time.Time, bool) {
	if !ok {
		return t, false
	}
	room := j.most
	if next, ok := j.Counter.Next(t); ok {
		room = min(room, next.Sub(t))
	}
	sum := sha256.Sum256([]byte(j.seed + t.Format(time.RFC3339Nano)))
	delay := time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(room))
	return interval.Clamp(t.Add(delay.Truncate(time.Second))), true
}

// over returns the occurrence with its delay of the last that is not after a time without one, if
// the delay leads beyond that time.
func (j jitter) over(until time.Time) (time.Time, bool) {
	t, ok := j.delay(j.Counter.Last(until))
	return t, ok && t.After(until)
}

func (j jitter) Next(after time.Time) (time.Time, bool) {
	if t, ok := j.over(after); ok {
		return t, true
	}
	return j.delay(j.Counter.Next(after))
}

func (j jitter) Count(in interval.Span) int64 {
	if !in.Until.IsZero() && !in.Until.After(in.After) {
		return 0
	}
	n := j.Counter.Count(in)
	if _, ok := j.over(in.After); ok {
		n++
	}
	if _, ok := j.over(in.Until); ok && !in.Until.IsZero() {
		n--
	}
	return n
}

func (j jitter) Last(until time.Time) (time.Time, bool) {
	t, ok := j.Counter.Last(until)
	if _, over := j.over(until); over {
		t, ok = j.Counter.Last(t.Add(-1))
	}
	return j.delay(t, ok)
}
