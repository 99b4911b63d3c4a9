package simulation

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Level says how much of the maximum a workload needs.
type Level string

const (
	Fine      Level = "fine"      // the maximum is enough
	Critical  Level = "critical"  // above 90 % of the maximum on average, or above all of it at the peak of a day
	Saturated Level = "saturated" // the queue grows for as long as items arrive
)

// A Capacity compares the work that arrives with the Jobs that may exist. Every policy
// with the same maximum and the same polling interval has the same capacity. All values
// are means over the time in which items arrive, and at least over a polling interval.
//
// A Job occupies its place from its creation until the first poll after its end, since
// no other Job can be created earlier. The places that a workload needs are the rate of
// new Jobs times that period (Little's law).
type Capacity struct {
	Arrivals    float64 `json:"arrivals"`    // items per second
	Service     float64 `json:"service"`     // seconds of work for each item, repeated work after failures included
	Startup     float64 `json:"startup"`     // seconds for each Job
	ItemsPerJob int64   `json:"itemsPerJob"` // 0: a Job works until the queue is empty
	Interval    float64 `json:"interval"`    // seconds from poll to poll
	// Busy is the number of Jobs that work at the same time: Arrivals times Service.
	Busy float64 `json:"busy"`
	// Needed is the number of Jobs that work or start at the same time.
	Needed float64 `json:"needed"`
	// Places is Needed, with the Jobs that have ended and are not replaced before the
	// next poll.
	Places float64 `json:"places"`
	// Max is the most Jobs that can run at the same time: the maximum of the policy, or
	// the pods for which the clusters have capacity, if these are fewer.
	Max int64 `json:"max"`
	// Utilization is Places by Max. It is 0 without arrivals, and infinite if Max is 0.
	Utilization float64 `json:"-"`
	Level       Level   `json:"level"`
	// Growth is the number of items by which the queue grows each second, if saturated.
	Growth float64 `json:"growth"`
	// SufficientMax is the smallest maximum of which this workload uses at most 90 %.
	SufficientMax int64 `json:"sufficientMax"`
}

// sufficient is the share of the maximum above which a workload is critical.
const sufficient = 0.9

// Capacity returns the capacity of the scenario. The result has no meaning if
// [Scenario.Validate] returns an error.
func (s *Scenario) Capacity() Capacity {
	c := Capacity{Startup: s.Jobs.Startup.mean(), Max: s.maxJobs()}
	settings := s.settings()
	c.Interval = settings.interval().seconds()
	if !s.Jobs.DrainQueue {
		c.ItemsPerJob = max(1, s.Jobs.ItemsPerJob)
	}
	work, peak := 0.0, 0.0 // seconds of work for each second
	for i := range s.Queues {
		q := &s.Queues[i]
		rate, highest, service := s.load(q)
		service *= s.Jobs.repetition()
		c.Arrivals += rate
		work += rate * service
		peak += highest * service
	}
	if c.Arrivals == 0 {
		c.Level = Fine
		return c
	}
	c.Busy, c.Service = work, work/c.Arrivals
	c.Needed, c.Places = c.Busy, c.Busy
	if c.ItemsPerJob > 0 {
		each := float64(c.ItemsPerJob)
		lasts := c.Startup + each*c.Service
		c.Needed = c.Arrivals / each * lasts
		c.Places = max(c.Needed, c.Arrivals/each*s.occupied(lasts, c.Interval)) // samples may miss long times
	}
	c.Utilization = c.Places / float64(c.Max)
	c.SufficientMax = int64(math.Ceil(min(c.Places/sufficient, math.MaxInt32) - 1e-9))
	switch {
	case c.Utilization > 1+1e-9:
		c.Level = Saturated
		c.Growth = c.Arrivals * (1 - 1/c.Utilization)
	case c.Utilization > sufficient || peak/c.Busy*c.Places > float64(c.Max):
		c.Level = Critical
	default:
		c.Level = Fine
	}
	return c
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

// load returns the arrivals of a queue in items per second, on average over the time in
// which items arrive and at the highest point of a day, and the mean seconds of work for an
// item. If that time is shorter than a polling interval, both rates are over the interval.
func (s *Scenario) load(q *Queue) (rate, highest, service float64) {
	service = q.Service.mean()
	arrivals, _ := s.times()
	settings := s.settings()
	lasts := max(arrivals, settings.interval())
	if len(q.Trace) == 0 {
		share := arrivals.seconds() / lasts.seconds()
		rate, highest = q.Arrivals.over(max(1, arrivals))
		return rate * share, highest * share, service
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
		return 0, 0, service
	}
	rate = items / lasts.seconds()
	return rate, rate, work / items
}

// repetition is the factor by which failures prolong the work on an item. A pod fails at
// a random point of the work, half of the way on average.
func (j *JobBehavior) repetition() float64 {
	p := j.FailureProbability
	if j.Acknowledge == AtStart {
		return 1 - p/2
	}
	return 1 + p/(1-min(p, 0.999))/2
}

// occupied returns the seconds from poll to poll for which a Job occupies its place,
// if it lasts so many seconds on average.
func (s *Scenario) occupied(lasts, interval float64) float64 {
	if s.Jobs.FailureProbability > 0 || s.Jobs.itemsPerJob() > 100 {
		return max(lasts+interval/2, interval)
	}
	samples := 1
	if s.varies() {
		samples = 2000
	}
	settings := s.settings()
	draw, every, polls := s.lifetimes(), settings.interval(), 0.0
	for range samples {
		polls += float64(max(1, (draw()+every-1)/every))
	}
	return interval * polls / float64(samples)
}

// lifetimes returns a function that draws the time for which a Job lasts. Its random
// numbers are the same for all seeds.
func (s *Scenario) lifetimes() func() Duration {
	random := rand.New(rand.NewPCG(1, 1))
	startup := newSampler(s.Jobs.Startup, random)
	arrivals, _ := s.times()
	services, rows, shares := make([]sampler, len(s.Queues)), make([][]float64, len(s.Queues)), make([]float64, len(s.Queues))
	all := 0.0
	for i := range s.Queues {
		q := &s.Queues[i]
		rate, _, _ := s.load(q)
		all += rate
		services[i], rows[i], shares[i] = newSampler(q.Service, random), q.rows(arrivals), all
	}
	return func() Duration {
		lasts := startup.draw()
		for range s.Jobs.itemsPerJob() {
			at := random.Float64() * all
			i := max(0, slices.IndexFunc(shares, func(share float64) bool { return at < share }))
			service := services[i].draw()
			if n := len(rows[i]); n > 0 {
				row, _ := slices.BinarySearch(rows[i], (1-random.Float64())*rows[i][n-1])
				service = cmp.Or(s.Queues[i].Trace[min(row, n-1)].Service, service)
			}
			lasts = min(lasts+service, longest)
		}
		return lasts
	}
}

// rows returns, for each row of the trace, the items of the row and of those before it that
// arrive until a time.
func (q *Queue) rows(until Duration) []float64 {
	sums, sum := make([]float64, len(q.Trace)), 0.0
	for i, a := range q.Trace {
		if a.At < until {
			sum += float64(max(1, a.Items))
		}
		sums[i] = sum
	}
	return sums
}

// varies reports whether Jobs do not all last the same time.
func (s *Scenario) varies() bool {
	if s.Jobs.FailureProbability > 0 || s.Jobs.Startup.varies() {
		return true
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		if q.Service.varies() || q.Service.mean() != s.Queues[0].Service.mean() {
			return true
		}
		for _, a := range q.Trace {
			if a.Service > 0 && a.Service != q.Service.Mean {
				return true
			}
		}
	}
	return false
}

// mean returns the mean in seconds.
func (d *Distribution) mean() float64 {
	if len(d.Values) == 0 {
		return d.Mean.seconds()
	}
	sum := 0.0
	for _, v := range d.Values {
		sum += v.seconds()
	}
	return sum / float64(len(d.Values))
}

func (d *Distribution) varies() bool {
	return d.Shape == Exponential && d.Mean > 0 || d.Shape == LogNormal && d.Deviation > 0 || len(d.Values) > 1
}

// String describes the capacity in two or three sentences.
func (c Capacity) String() string {
	if c.Arrivals == 0 {
		return "No items arrive."
	}
	text := fmt.Sprintf("Load: %s x %s = %s Jobs at work, %s with startup; maximum %d.",
		rate(c.Arrivals), seconds(c.Service), number(c.Busy), number(c.Needed), c.Max)
	if c.Places > c.Needed*1.01 {
		text += fmt.Sprintf(" A Job that ends is replaced at the next poll: %s places.", number(c.Places))
	}
	switch c.Level {
	case Saturated:
		text += fmt.Sprintf(" Saturated: the queue grows by %s items an hour; a maximum of %d is enough.", number(c.Growth*3600), c.SufficientMax)
	case Critical:
		text += fmt.Sprintf(" Critical: %.0f %% of the maximum is used on average; a maximum of %d leaves headroom.", c.Utilization*100, max(c.SufficientMax, c.Max+1))
	default:
		text += fmt.Sprintf(" Fine: %.0f %% of the maximum is used.", c.Utilization*100)
	}
	return text
}

// number formats a number to three digits, a larger number without decimals.
func number(n float64) string {
	if n >= 100 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.3g", n)
}

// rate formats items per second, minute or hour, in the largest unit that gives at
// least one item.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return number(perSecond) + "/s"
	case perSecond*60 >= 1:
		return number(perSecond*60) + "/m"
	}
	return number(perSecond*3600) + "/h"
}

func seconds(n float64) string { return clip(n * 1e9).rounded() }

// rounded formats the duration to three digits of a second, or to seconds.
func (d Duration) rounded() string {
	if d < 100*second {
		return number(d.seconds()) + "s"
	}
	return (d + second/2 - (d+second/2)%second).String()
}
