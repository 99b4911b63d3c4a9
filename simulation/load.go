package simulation

import (
	"math"
	"slices"
	"time"
)

// A Load is the work that arrives, without regard to the policy. Rates are in items per
// second; zero means that no item arrives.
type Load struct {
	// Arrivals is the mean over the time in which items arrive, and at least over a polling
	// interval.
	Arrivals float64 `json:"arrivals"`
	Service  float64 `json:"service"` // seconds of work for each item, without repetition after failures
	// Busy is the number of Jobs at work: Arrivals times Service (Little's law).
	Busy float64 `json:"busy"`
	// Max is the most Jobs that can run at the same time: the maximum of the policy, or the
	// pods for which the clusters have capacity, if these are fewer.
	Max int64 `json:"max"`

	Length Duration `json:"-"` // how long items arrive
	Burst  Duration `json:"-"` // longest time from a burst to the next; 0 without bursts
	Random bool     `json:"-"` // whether runs under several seeds differ
}

// Load returns the load of the scenario. It has no meaning if [Scenario.Validate] returns
// an error.
func (s *Scenario) Load() Load {
	l := Load{Max: s.maxJobs(), Random: s.random()}
	l.Length, _ = s.times()
	for i := range s.Queues {
		rate, service := s.loadOf(&s.Queues[i])
		l.Arrivals += rate
		l.Busy += rate * service
		if a := &s.Queues[i].Arrivals; a.pattern == bursts {
			l.Burst = max(l.Burst, a.rates[0].per)
		}
	}
	if l.Arrivals > 0 {
		l.Service = l.Busy / l.Arrivals
	}
	return l
}

// maxJobs returns the most Jobs that can run at the same time.
func (s *Scenario) maxJobs() int64 {
	limit, capacity := s.settings().Max, int64(0)
	for _, c := range s.clusterList() {
		if c.Capacity == nil {
			return limit
		}
		capacity += min(*c.Capacity, limit)
	}
	return min(limit, capacity)
}

// loadOf returns the arrivals of a queue in items per second, and the mean seconds of work for an item.
func (s *Scenario) loadOf(q *Queue) (rate, service float64) {
	service = q.Service.average()
	arrivals, _ := s.times()
	settings := s.settings()
	length := max(arrivals, settings.interval())
	if len(q.Trace) == 0 {
		share := arrivals.seconds() / length.seconds()
		return q.Arrivals.rate(max(1, arrivals)) * share, service
	}
	items, work := 0.0, 0.0
	for _, a := range q.Trace {
		if a.At >= arrivals {
			continue
		}
		n, each := float64(max(1, a.Items)), service
		if a.Service > 0 {
			each = a.Service.seconds()
		}
		items += n
		work += n * each
	}
	if items == 0 {
		return 0, service
	}
	return items / length.seconds(), work / items
}

func (a *Arrivals) rate(length Duration) float64 {
	switch {
	case len(a.rates) == 0:
		return 0
	case a.pattern == bursts:
		return math.Ceil(float64(length)/float64(a.rates[0].per)) * a.rates[0].items / length.seconds()
	case a.pattern != daily:
		return a.rates[0].perNanosecond() * float64(second)
	}
	return a.until(float64(length)) / length.seconds()
}

// until returns the items of a daily curve from the start until a time.
func (a *Arrivals) until(time float64) (items float64) {
	day := a.dayLength()
	step := day / float64(len(a.rates))
	area := func(from, to float64) float64 {
		if from >= to {
			return 0
		}
		middle := (from + to) / 2 // the curve is straight
		return a.curve(middle) * (to - from)
	}
	days, hours := math.Floor(time/day), math.Mod(time, day)
	for i := range a.rates {
		from, to := float64(i)*step, float64(i+1)*step
		items += days*area(from, to) + area(from, min(to, hours))
	}
	return items
}

// Mean returns the mean of the times.
func (d Distribution) Mean() time.Duration {
	return time.Duration(math.Round(d.average() * float64(time.Second)))
}

func (d *Distribution) average() float64 {
	if len(d.values) == 0 {
		return d.mean.seconds()
	}
	sum := 0.0
	for _, v := range d.values {
		sum += v.seconds()
	}
	return sum / float64(len(d.values))
}

func (d *Distribution) varies() bool {
	return (d.shape == exponential && d.mean > 0) || (d.shape == logNormal && d.deviation > 0)
}

// random reports whether runs under several seeds differ.
func (s *Scenario) random() bool {
	j := &s.Jobs
	if j.FailureProbability > 0 || j.Startup.varies() || j.WarmUp.varies() || j.Completion.varies() {
		return true
	}
	return slices.ContainsFunc(s.Queues, func(q Queue) bool {
		p := q.Arrivals.pattern
		return q.Service.varies() || (len(q.Arrivals.rates) > 0 && (p == poisson || p == daily))
	})
}

// maxReadings is the number of metrics that the polls of a measurement read at most.
const maxReadings = 100_000

// Repeated returns the scenario for a measurement of its capacity: load times as many items
// arrive, of at most so many in total, and nothing fails at fixed times. A day with more than a tenth
// of the items is compressed. Traces are left as they are.
//
// The cycle is the time after which the rate of arrivals repeats; 0 means that it is
// constant. The work is the mean seconds of service that arrive in a second.
func (s Scenario) Repeated(load float64, items int64) (r Scenario, cycle Duration, work float64) {
	settings := s.settings()
	interval := settings.interval()
	perSecond := s.Load().Arrivals * load
	r = s
	r.Queues, r.Clusters, r.Drain = slices.Clone(s.Queues), slices.Clone(s.Clusters), new(Duration(0))
	for i := range r.Clusters {
		r.Clusters[i].Outages = nil
	}
	polls := max(200, maxReadings/Duration(max(1, len(s.Queues))))
	r.Duration = max(interval, min(clip(float64(items)/perSecond*float64(time.Second)), polls*interval))
	shortest := 20 * interval
	longestDay := max(shortest, Duration(min(float64(items)/10/perSecond, longest.seconds())*float64(second)))
	for i := range r.Queues {
		q := &r.Queues[i]
		q.Outages = nil
		length, seconds := q.repeat(r.Duration, longestDay, shortest, load)
		cycle, work = max(cycle, length), work+seconds
	}
	return r, cycle, work
}

// repeat scales the arrivals, and returns the time after which they repeat, and the seconds of
// service that arrive in a second. A longer day than the longest becomes the longest, or a
// constant rate if that is too short for a day.
func (q *Queue) repeat(until, longestDay, shortestDay Duration, load float64) (length Duration, work float64) {
	a := &q.Arrivals
	a.rates = slices.Clone(a.rates)
	switch {
	case len(a.rates) == 0:
		return 0, 0
	case a.pattern == bursts:
		burst := a.rates[0]
		q.Arrivals, q.Trace = Arrivals{}, burst.repeat(until, load)
		return burst.per, burst.items * load / burst.per.seconds() * q.Service.average()
	case a.pattern == daily && longestDay <= shortestDay:
		a.pattern, a.rates = poisson, []rate{{a.rate(Duration(a.dayLength())), second}}
	}
	for i := range a.rates {
		a.rates[i].items *= load
	}
	if a.pattern == daily {
		a.day = min(time.Duration(a.dayLength()), time.Duration(longestDay))
		length = Duration(a.day)
	}
	return length, a.rate(max(1, clip(a.dayLength()))) * q.Service.average()
}

// repeat returns bursts until a time, with load times as many items. A fraction is carried to the next.
func (burst rate) repeat(until Duration, load float64) (rows []Arrival) {
	owed := 0.0
	for at := Duration(0); at < until; at += burst.per {
		owed += max(1, burst.items) * load
		if n := math.Floor(owed + 1e-9); n > 0 {
			owed -= n
			rows = append(rows, Arrival{At: at, Items: int64(n)})
		}
	}
	return rows
}
