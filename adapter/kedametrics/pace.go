package kedametrics

import (
	"time"

	"github.com/scaledjob/scaledjob/scaling"
)

const (
	// nextTry is the least time between two reads of a metric.
	nextTry = time.Second
	// leastStale is the least time after which a value with the same timestamp is unreadable.
	leastStale = 2 * time.Minute
	// slowPolls is the number of late polls of KEDA in a row after which a reading says so.
	slowPolls = 3
)

// A sample is the answer to one read of a metric.
type sample struct {
	value  float64
	stamp  time.Time // KEDA's, in whole seconds; compared with KEDA's earlier ones only
	reason Reason    // why there is no value, or ""
}

// A series holds what is known of a metric of KEDA.
type series struct {
	name    string // KEDA's
	trigger string
	target  float64
	cron    bool // read by KEDA at each GET, so that its timestamp tells nothing

	sample
	poll    time.Time // timestamp of KEDA's last poll that was read
	changed time.Time // when it was first seen
	asked   time.Time
	fresh   bool // has a value of a poll of KEDA that no decision has used
	late    int  // polls of KEDA in a row that came late
	period  time.Duration
}

// A pace decides what to read of an owner and when, and which readings are new. It has no clock:
// now is monotonic, and differs from KEDA's times.
type pace struct {
	interval time.Duration
	all      []*series
	seen     time.Time       // when a new timestamp was seen last; at first, when reading began
	decided  time.Time       // when a reading was complete last
	active   map[string]bool // KEDA's verdicts at that time
	// known says that the first poll that is seen may have been decided on by another process.
	known bool
}

// A round is one attempt to complete a reading.
type round struct {
	now    time.Time
	hurry  bool // KEDA has changed its verdict on the owner: what could not be read may be read now
	read   func(*series) sample
	active func() map[string]bool // KEDA's verdicts, asked after the values are read
}

// do reads what is due. decide reports whether there is a reading to decide on, and next is the time of
// the next round.
func (p *pace) do(r round) (decide bool, next time.Time) {
	due := p.decided.IsZero() || r.now.Sub(p.decided) >= p.interval-nextTry/2
	for _, s := range p.all {
		if s.fresh && r.now.Sub(s.changed) >= p.interval {
			s.fresh = false // KEDA has polled again meanwhile
		}
		if !s.cron && s.reason == "" && !s.fresh {
			p.ask(s, &r)
		}
	}
	if fresh, pending := p.count(); pending == 0 && (fresh > 0 || due || r.hurry) {
		for _, s := range p.all { // those that fail are read once in a poll, far from KEDA's next
			if s.cron || s.reason != "" {
				p.ask(s, &r)
			}
		}
	}
	fresh, pending := p.count()
	active := r.active()
	switch {
	case pending == 0 && (fresh > 0 || due):
		p.complete(r.now, active)
		return true, r.now.Add(p.interval)
	case p.activated(active):
		p.active = active
		return true, p.retry(&r)
	case pending == 0: // nothing can be read
		return false, p.decided.Add(p.interval)
	}
	return false, p.retry(&r)
}

// ask reads a metric, but not twice in a second.
func (p *pace) ask(s *series, r *round) {
	if !s.asked.IsZero() && r.now.Sub(s.asked) < nextTry {
		return
	}
	s.asked, s.sample = r.now, r.read(s)
	switch {
	case s.reason != "":
		s.fresh, s.late = false, 0
	case s.cron:
	case !s.stamp.Equal(s.poll):
		p.advance(s, r.now)
	case r.now.Sub(s.changed) >= max(3*p.interval, leastStale):
		s.reason = Stale
	}
}

// advance takes over a value of a new poll of KEDA.
func (p *pace) advance(s *series, now time.Time) {
	slow := p.interval + max(p.interval/2, 2*time.Second)
	s.period = s.stamp.Sub(s.poll)
	if s.poll.IsZero() || s.period < slow {
		s.late = 0
	} else {
		s.late++
	}
	s.fresh = !s.poll.IsZero() || !p.known
	s.poll, s.changed = s.stamp, now
	p.seen = now
}

// count returns the number of metrics with a new value, and of those that KEDA has not polled yet.
func (p *pace) count() (fresh, pending int) {
	for _, s := range p.all {
		switch {
		case s.cron || s.reason != "":
		case s.fresh:
			fresh++
		default:
			pending++
		}
	}
	return fresh, pending
}

func (p *pace) complete(now time.Time, active map[string]bool) {
	for _, s := range p.all {
		s.fresh = false
	}
	p.decided, p.active = now, active
}

// activated reports whether KEDA has found a metric active since the last reading: its verdict may
// become visible after its value.
func (p *pace) activated(active map[string]bool) bool {
	if p.decided.IsZero() {
		return false
	}
	for _, s := range p.all {
		if !s.cron && s.reason == "" && active[s.name] && !p.active[s.name] {
			return true
		}
	}
	return false
}

// retry returns the time of the next round of a poll of KEDA that has not come: in a second around the
// time at which it is due, and later the longer it is overdue.
func (p *pace) retry(r *round) time.Time {
	overdue := r.now.Sub(p.seen) - p.interval
	wait := min(max(overdue/4, nextTry), p.interval)
	if overdue < 0 && !r.hurry {
		wait = max(wait, -overdue)
	}
	return r.now.Add(max(wait, nextTry))
}

// metrics returns the last values with KEDA's verdicts.
func (p *pace) metrics() (all []scaling.Metric) {
	for _, s := range p.all {
		m := scaling.Metric{Name: s.trigger, Value: s.value, Target: s.target, Activity: scaling.Inactive, Failed: s.reason != ""}
		if p.active[s.name] || (s.cron && s.value > 0) {
			m.Activity = scaling.Active
		}
		all = append(all, m)
	}
	return all
}

// slow returns the time between KEDA's polls, if it is longer than asked.
func (p *pace) slow() (period time.Duration) {
	for _, s := range p.all {
		if s.late >= slowPolls {
			period = max(period, s.period)
		}
	}
	return period
}
