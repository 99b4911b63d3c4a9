package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// An Occurrence is a time of a schedule. Its run is due at Time + Delay. The zero value means none.
type Occurrence struct {
	Time  time.Time `json:"time"`           // in the zone of the schedule
	Delay Duration  `json:"delay,omitzero"` // by Policy.Jitter
}

// Due returns the time at which the run is due.
func (o Occurrence) Due() time.Time { return o.Time.Add(time.Duration(o.Delay)) }

// Next returns the first occurrence whose Time is later than a time, and false if there is none. begin is
// when the policy began to hold: [Checkpoint.Begin], or the creation of the job.
func (p Policy) Next(begin, after time.Time) (Occurrence, bool) {
	line := p.timeline(begin)
	t, ok := line.next(after)
	return line.occurrence(t), ok
}

// A timeline has the occurrences of a policy, up to its end.
type timeline struct {
	counter counter
	policy  Policy
	zone    *time.Location
}

func (p Policy) timeline(begin time.Time) timeline {
	line := timeline{interval.Occurrences{}, p, time.UTC}
	if p.Schedule != nil {
		line.counter, line.zone = occurrences(p.Schedule, begin), p.Schedule.Zone()
	}
	if p.UID == "" {
		line.policy.Jitter = 0
	}
	return line
}

// occurrence returns the occurrence at a time. The zero time gives the zero value.
func (l timeline) occurrence(t time.Time) Occurrence {
	if t.IsZero() {
		return Occurrence{}
	}
	return Occurrence{Time: inZone(t, l.zone), Delay: l.delay(t)}
}

// delay returns the delay of the run of an occurrence.
func (l timeline) delay(t time.Time) Duration {
	room := time.Duration(l.policy.Jitter)
	if room <= 0 {
		return 0
	}
	if next, ok := l.counter.Next(t); ok {
		room = min(room, next.Sub(t))
	}
	if !l.policy.End.IsZero() {
		room = min(room, max(1, l.policy.End.Sub(t)))
	}
	sum := sha256.Sum256([]byte(l.policy.UID + t.UTC().Format(time.RFC3339Nano)))
	delay := time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(room))
	return Duration(delay.Truncate(time.Second))
}

func (l timeline) next(after time.Time) (time.Time, bool) {
	t, ok := l.counter.Next(after)
	if !ok || (!l.policy.End.IsZero() && t.After(l.policy.End)) {
		return time.Time{}, false
	}
	return t, true
}

// last returns the last occurrence that is not later than a time.
func (l timeline) last(until time.Time) (time.Time, bool) {
	return l.counter.Last(earliest(until, l.policy.End))
}

// lastDue returns the last occurrence whose run is due at a time.
func (l timeline) lastDue(now time.Time) (time.Time, bool) {
	t, ok := l.last(now)
	if ok && l.occurrence(t).Due().After(now) { // no delay reaches beyond the next occurrence
		t, ok = l.last(t.Add(-1))
	}
	return t, ok
}

// count returns the number of occurrences in a span, at most limit. It takes a call of Next for each
// only if the schedule cannot count.
func (l timeline) count(in interval.Span, limit int64) int64 {
	in.Until = earliest(in.Until, l.policy.End)
	if !in.Until.After(in.After) {
		return 0
	}
	if s, ok := l.counter.(stepwise); ok {
		return s.countUpTo(in, limit)
	}
	return min(limit, l.counter.Count(in))
}

// inZone returns a time with the offset of a zone, in the one form that survives JSON.
func inZone(t time.Time, zone *time.Location) time.Time {
	t = interval.Clamp(t)
	if _, offset := t.In(zone).Zone(); offset != 0 {
		return t.In(time.FixedZone("", offset))
	}
	return t
}
