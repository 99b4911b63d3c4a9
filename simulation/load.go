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
	// Peak is the highest mean over PeakSeconds. It equals Arrivals, and PeakSeconds is 0, if
	// the rate of arrivals does not depend on the time.
	Peak        float64 `json:"peak"`
	PeakSeconds float64 `json:"peakSeconds"`
	Service     float64 `json:"service"` // seconds of work for each item, without repetition after failures
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
		rate, peak, window, service := s.loadOf(&s.Queues[i])
		l.Arrivals += rate
		l.Peak += peak
		l.PeakSeconds = max(l.PeakSeconds, window)
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
	most, capacity := s.settings().Max, int64(0)
	for _, c := range s.clusters() {
		if c.Capacity == nil {
			return most
		}
		capacity += min(*c.Capacity, most)
	}
	return min(most, capacity)
}

// loadOf returns the arrivals of a queue in items per second, on average and over the
// busiest window of so many seconds, and the mean seconds of work for an item.
func (s *Scenario) loadOf(q *Queue) (rate, peak, window, service float64) {
	service = q.Service.average()
	arrivals, _ := s.times()
	settings := s.settings()
	lasts := max(arrivals, settings.interval())
	if len(q.Trace) == 0 {
		share := arrivals.seconds() / lasts.seconds()
		rate = q.Arrivals.over(0, max(1, arrivals)) * share
		if q.scale > 0 {
			rate *= q.scale
		}
		if q.Arrivals.pattern != daily {
			return rate, rate, 0, service
		}
		peak, window = q.Arrivals.busiest(arrivals)
		return rate, max(rate, peak), window, service
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
		return 0, 0, 0, service
	}
	rate = items / lasts.seconds()
	peak, window = busiest(sorted(q.Trace), arrivals, settings.interval())
	return rate, max(rate, peak), window, work / items
}

// busiest returns the highest rate of a trace over a twelfth of a day, or over 20 polls if
// it is shorter than a day.
func busiest(trace []Arrival, until, interval Duration) (peak, window float64) {
	over := 20 * interval
	if until >= 24*hour {
		over = max(over, 2*hour)
	}
	if over >= until {
		return 0, 0
	}
	first, sum := 0, 0.0
	for i := range trace {
		if trace[i].At >= until {
			break
		}
		sum += float64(max(1, trace[i].Items))
		for ; trace[first].At <= trace[i].At-over; first++ {
			sum -= float64(max(1, trace[first].Items))
		}
		peak = max(peak, sum)
	}
	return peak / over.seconds(), over.seconds()
}

// busiest returns the highest rate over a twelfth of a day.
func (a *Arrivals) busiest(until Duration) (peak, window float64) {
	over := min(until, Duration(a.length()/12))
	for i := range 24 * 12 {
		if from := Duration(a.length() / 288 * float64(i)); i == 0 || from+over <= until {
			peak = max(peak, a.over(from, over))
		}
	}
	return peak, over.seconds()
}

// over returns the items per second on average, for a time from an instant on.
func (a *Arrivals) over(from, lasts Duration) float64 {
	switch {
	case len(a.rates) == 0:
		return 0
	case a.pattern == bursts:
		return math.Ceil(float64(lasts)/float64(a.rates[0].per)) * a.rates[0].items / lasts.seconds()
	case a.pattern != daily:
		return a.rates[0].perNanosecond() * float64(second)
	}
	return (a.until(float64(from+lasts)) - a.until(float64(from))) / lasts.seconds()
}

// until returns the items of a daily curve from the start until a time.
func (a *Arrivals) until(at float64) (items float64) {
	day := a.length()
	step := day / float64(len(a.rates))
	area := func(from, to float64) float64 {
		if from >= to {
			return 0
		}
		middle := (from + to) / 2 // the curve is straight
		return a.curve(middle) * (to - from)
	}
	days, rest := math.Floor(at/day), math.Mod(at, day)
	for i := range a.rates {
		from, to := float64(i)*step, float64(i+1)*step
		items += days*area(from, to) + area(from, min(to, rest))
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
	return d.shape == exponential && d.mean > 0 || d.shape == logNormal && d.deviation > 0
}

func (s *Scenario) random() bool {
	return s.Jobs.FailureProbability > 0 || s.Jobs.Startup.varies() || s.Jobs.Completion.varies() || slices.ContainsFunc(s.Queues, func(q Queue) bool {
		return q.Service.varies() || len(q.Arrivals.rates) > 0 && (q.Arrivals.pattern == poisson || q.Arrivals.pattern == daily)
	})
}

// Spliced returns the scenario with these parts of its traces, from a time until another, one
// after the other.
func (s Scenario) Spliced(parts [][2]Duration) Scenario {
	s.Queues = slices.Clone(s.Queues)
	length := Duration(0)
	for _, p := range parts {
		length += p[1] - p[0]
	}
	s.Duration = length
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Trace, q.parts = sorted(q.Trace), nil
		at := Duration(0)
		for _, p := range parts {
			q.parts = append(q.parts, part{firstAt(q.Trace, p[0]), firstAt(q.Trace, p[1]), at - p[0]})
			at += p[1] - p[0]
		}
	}
	return s
}

// firstAt returns the first row at or after a time.
func firstAt(trace []Arrival, at Duration) int {
	return sort.Search(len(trace), func(i int) bool { return trace[i].At >= at })
}

// mostProbed is the number of metrics that the polls of a measurement read.
const mostProbed = 100_000

// Repeated returns the scenario for a measurement of its capacity: load times as many items
// arrive, of at most so many in all, and nothing fails at fixed times. Traces begin again
// at their end. A day or a trace with more than a tenth of the items is shortened: a curve
// is compressed, and of a trace parts at even distances are left.
//
// The cycle is the time after which the rate of arrivals repeats; 0 means that it is
// constant. The work is the mean seconds of service that arrive in a second.
func (s Scenario) Repeated(load float64, items int64) (r Scenario, cycle Duration, work float64) {
	arrivals, _ := s.times()
	settings := s.settings()
	interval := settings.interval()
	per := s.Load().Arrivals * load
	r = s
	r.Queues, r.Clusters, r.Drain = slices.Clone(s.Queues), slices.Clone(s.Clusters), new(Duration(0))
	for i := range r.Clusters {
		r.Clusters[i].Outages = nil
	}
	shortest := 20 * interval
	longestCycle := max(shortest, Duration(min(float64(items)/10/per, longest.seconds())*float64(second)))
	for i := range r.Queues {
		q := &r.Queues[i]
		q.Outages = nil
		of := Duration(0)
		if len(q.Trace) > 0 {
			of = q.repeat(max(arrivals, interval), min(longestCycle, arrivals), shortest, load)
			work += q.work() / of.seconds()
		} else {
			of = q.Arrivals.repeat(longestCycle, shortest, load)
			if q.Arrivals.pattern == bursts {
				q.scale = load
				work += q.Arrivals.rates[0].items * load / q.Arrivals.rates[0].per.seconds() * q.Service.average()
			} else {
				work += q.Arrivals.over(0, max(1, clip(q.Arrivals.length()))) * q.Service.average()
			}
		}
		cycle = max(cycle, of)
	}
	polls := max(200, mostProbed/Duration(max(1, len(s.Queues))))
	r.Duration = max(interval, min(clip(float64(items)/per*float64(time.Second)), polls*interval))
	return r, cycle, work
}

// repeat scales the arrivals, and returns the time after which they repeat. A longer day
// than the longest becomes the longest, or a constant rate if that is too short for a day.
func (a *Arrivals) repeat(most, least Duration, load float64) Duration {
	a.rates = slices.Clone(a.rates)
	switch {
	case len(a.rates) == 0:
		return 0
	case a.pattern == bursts:
		return a.rates[0].per
	case a.pattern == daily && most <= least:
		a.pattern, a.rates = poisson, []rate{{a.over(0, Duration(a.length())), second}}
	}
	for i := range a.rates {
		a.rates[i].items *= load
	}
	if a.pattern != daily {
		return 0
	}
	a.day = min(time.Duration(a.length()), time.Duration(most))
	return Duration(a.day)
}

// repeat lets the trace begin again at its end, and returns the time after which it does.
// Of a longer trace than most, parts of the least length at even distances are left.
func (q *Queue) repeat(length, most, least Duration, load float64) Duration {
	q.Trace, q.scale = sorted(q.Trace), load
	q.parts, q.cycle = []part{{0, firstAt(q.Trace, length), 0}}, length
	if length <= most {
		return length
	}
	whole := q.work()
	every := (length + most - 1) / most
	block := min(least, most/10)
	q.parts, q.cycle = nil, 0
	for from := Duration(0); from+block <= length; from += every * block {
		q.parts = append(q.parts, part{firstAt(q.Trace, from), firstAt(q.Trace, from+block), q.cycle - from})
		q.cycle += block
	}
	if kept := q.work(); kept > 0 {
		q.scale *= whole / length.seconds() / (kept / q.cycle.seconds())
	}
	return q.cycle
}

// work returns the seconds of service of the items of the parts of a trace.
func (q *Queue) work() (seconds float64) {
	for _, p := range q.parts {
		for _, a := range q.Trace[p.first:p.last] {
			n, each := float64(max(1, a.Items))*q.scale, a.Service.seconds()
			if each == 0 {
				each = q.Service.average()
			}
			seconds += n * each
		}
	}
	return seconds
}
