package simulation

import (
	"math"
	"slices"
	"sort"
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
		return q.Arrivals.rate(0, max(1, arrivals)) * share, service
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

// rate returns the items per second on average, for a time from an instant on.
func (a *Arrivals) rate(from, length Duration) float64 {
	switch {
	case len(a.rates) == 0:
		return 0
	case a.pattern == bursts:
		return math.Ceil(float64(length)/float64(a.rates[0].per)) * a.rates[0].items / length.seconds()
	case a.pattern != daily:
		return a.rates[0].perNanosecond() * float64(second)
	}
	return (a.until(float64(from+length)) - a.until(float64(from))) / length.seconds()
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

// average returns the mean in seconds.
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

// A window is a part of the time of a trace.
type window struct{ from, until Duration }

// Spliced returns the scenario with these parts of its traces, from a time until another, one
// after the other.
func (s Scenario) Spliced(parts [][2]Duration) Scenario {
	s.Queues = slices.Clone(s.Queues)
	length := Duration(0)
	windows := make([]window, len(parts))
	for i, p := range parts {
		windows[i] = window{p[0], p[1]}
		length += p[1] - p[0]
	}
	s.Duration = length
	for i := range s.Queues {
		s.Queues[i].Trace = unroll(sorted(s.Queues[i].Trace), windows, length, 1)
	}
	return s
}

// unroll returns the rows in the windows, one window after the other and from the first again, until
// a time. The items of a row are scaled; a fraction is carried to the next row.
func unroll(trace []Arrival, windows []window, until Duration, scale float64) (rows []Arrival) {
	owed, start := 0.0, Duration(0)
	for start < until {
		for _, w := range windows {
			for _, a := range trace[firstRow(trace, w.from):firstRow(trace, w.until)] {
				a.At += start - w.from
				owed += float64(max(1, a.Items)) * scale
				n := math.Floor(owed + 1e-9)
				owed -= n
				if a.Items = int64(n); n > 0 && a.At < until {
					rows = append(rows, a)
				}
			}
			start += w.until - w.from
		}
	}
	return rows
}

// firstRow returns the first row at or after a time.
func firstRow(trace []Arrival, time Duration) int {
	return sort.Search(len(trace), func(i int) bool { return trace[i].At >= time })
}

// maxReadings is the number of metrics that the polls of a measurement read at most.
const maxReadings = 100_000

// Repeated returns the scenario for a measurement of its capacity: load times as many items
// arrive, of at most so many in total, and nothing fails at fixed times. Traces begin again
// at their end. A day or a trace with more than a tenth of the items is shortened: a curve
// is compressed, and of a trace parts at even distances are left.
//
// The cycle is the time after which the rate of arrivals repeats; 0 means that it is
// constant. The work is the mean seconds of service that arrive in a second.
func (s Scenario) Repeated(load float64, items int64) (r Scenario, cycle Duration, work float64) {
	arrivals, _ := s.times()
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
	longestCycle := max(shortest, Duration(min(float64(items)/10/perSecond, longest.seconds())*float64(second)))
	for i := range r.Queues {
		q := &r.Queues[i]
		q.Outages = nil
		length, seconds := Duration(0), 0.0
		if len(q.Trace) > 0 {
			c := newCycle(q, load, max(arrivals, interval), min(longestCycle, arrivals), shortest)
			q.Trace = unroll(c.trace, c.windows, r.Duration, c.scale)
			length, seconds = c.length(), c.work()/c.length().seconds()
		} else {
			length, seconds = q.repeat(r.Duration, longestCycle, shortest, load)
		}
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
		q.Trace = unroll([]Arrival{{Items: int64(burst.items)}}, []window{{0, burst.per}}, until, load)
		q.Arrivals = Arrivals{}
		return burst.per, burst.items * load / burst.per.seconds() * q.Service.average()
	case a.pattern == daily && longestDay <= shortestDay:
		a.pattern, a.rates = poisson, []rate{{a.rate(0, Duration(a.dayLength())), second}}
	}
	for i := range a.rates {
		a.rates[i].items *= load
	}
	if a.pattern == daily {
		a.day = min(time.Duration(a.dayLength()), time.Duration(longestDay))
		length = Duration(a.day)
	}
	return length, a.rate(0, max(1, clip(a.dayLength()))) * q.Service.average()
}

// A cycle is a trace that begins again at its end, with its items scaled.
type cycle struct {
	trace   []Arrival
	service float64 // seconds, of rows without their own
	windows []window
	scale   float64
}

// newCycle returns the cycle of a trace. Of a trace that is too long, parts of at most the length of
// a block are kept, at even distances.
func newCycle(q *Queue, load float64, length, limit, block Duration) cycle {
	c := cycle{sorted(q.Trace), q.Service.average(), []window{{0, length}}, load}
	if length <= limit {
		return c
	}
	total := c.work()
	every := (length + limit - 1) / limit
	block = min(block, limit/10)
	c.windows = nil
	for from := Duration(0); from+block <= length; from += every * block {
		c.windows = append(c.windows, window{from, from + block})
	}
	if kept := c.work(); kept > 0 {
		c.scale *= total / length.seconds() / (kept / c.length().seconds())
	}
	return c
}

func (c *cycle) length() (sum Duration) {
	for _, w := range c.windows {
		sum += w.until - w.from
	}
	return sum
}

// work returns the seconds of service of the items.
func (c *cycle) work() (seconds float64) {
	for _, w := range c.windows {
		for _, a := range c.trace[firstRow(c.trace, w.from):firstRow(c.trace, w.until)] {
			n, each := float64(max(1, a.Items))*c.scale, a.Service.seconds()
			if each == 0 {
				each = c.service
			}
			seconds += n * each
		}
	}
	return seconds
}
