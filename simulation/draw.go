package simulation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The streams of random numbers. Each has its own, so that what an autoscaler does has no
// effect on the items that it meets.
const (
	streamStartup    = 1 << 32
	streamArrival    = 2 << 32
	streamService    = 3 << 32
	streamFailure    = 4 << 32
	streamCompletion = 6 << 32 // study resamples traces with 5
	streamWarmUp     = 7 << 32
)

// The draws of a run are its sources of chance, but for failures, which depend on the item.
type draws struct {
	startup, warmUp, completion sampler
	queues                      []queueDraws
}

type queueDraws struct {
	source  *source
	service sampler
}

func (s *Scenario) draws() draws {
	stream := func(number uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, number)) }
	d := draws{
		startup:    newSampler(s.Jobs.Startup, stream(streamStartup)),
		warmUp:     newSampler(s.Jobs.WarmUp, stream(streamWarmUp)),
		completion: newSampler(s.Jobs.Completion, stream(streamCompletion)),
	}
	for i := range s.Queues {
		q, number := &s.Queues[i], uint64(i)
		d.queues = append(d.queues, queueDraws{newSource(q, stream(streamArrival+number)), newSampler(q.Service, stream(streamService+number))})
	}
	return d
}

// A source yields the arrivals of a queue in the order of time.
type source struct {
	Arrivals
	trace  []Arrival
	random *rand.Rand
	count  int64   // of rows or draws so far
	now    float64 // of the last draw, in nanoseconds
}

func newSource(q *Queue, random *rand.Rand) *source {
	return &source{Arrivals: q.Arrivals, trace: sorted(q.Trace), random: random}
}

// sorted returns the rows in the order of time, and shares those that are.
func sorted(trace []Arrival) []Arrival {
	order := func(a, b Arrival) int { return cmp.Compare(a.At, b.At) }
	if slices.IsSortedFunc(trace, order) {
		return trace
	}
	return slices.SortedStableFunc(slices.Values(trace), order)
}

// next returns the next arrival, and false if there is none before the end.
func (s *source) next(end Duration) (a Arrival, ok bool) {
	switch {
	case int(s.count) < len(s.trace):
		a = s.trace[s.count]
		a.Items = max(1, a.Items)
	case len(s.trace) > 0 || len(s.rates) == 0:
		return a, false
	default:
		s.now = s.draw(float64(end))
		a = Arrival{At: clip(s.now), Items: 1}
		if s.pattern == bursts {
			a.Items = int64(s.rates[0].items)
		}
	}
	s.count++
	return a, a.At < end
}

// draw is when the next items arrive, or a time from the end on.
func (s *source) draw(end float64) float64 {
	rate := s.rates[0]
	switch s.pattern {
	case constant:
		return float64(s.count) * float64(rate.per) / rate.items
	case bursts:
		return float64(s.count) * float64(rate.per)
	case poisson:
		return s.now + s.random.ExpFloat64()*float64(rate.per)/rate.items
	}
	return s.thin(end)
}

// thin draws from the highest rate of the curve, and keeps as much as the rate at that
// time is of it.
func (s *source) thin(end float64) float64 {
	highest := 0.0
	for _, r := range s.rates {
		highest = max(highest, r.perNanosecond())
	}
	for time := s.now; ; {
		time += s.random.ExpFloat64() / highest
		if time >= end || s.random.Float64()*highest < s.curve(time) {
			return time
		}
	}
}

// A sampler draws from a distribution.
type sampler struct {
	Distribution
	random    *rand.Rand
	mu, sigma float64 // of the logarithm of a log-normal time
	count     int     // of recorded times so far
}

func newSampler(d Distribution, random *rand.Rand) sampler {
	s := sampler{Distribution: d, random: random}
	if d.shape == logNormal && d.mean > 0 {
		variation := float64(d.deviation) / float64(d.mean)
		square := math.Log1p(variation * variation)
		s.mu, s.sigma = math.Log(float64(d.mean))-square/2, math.Sqrt(square)
	}
	return s
}

func (s *sampler) draw() Duration {
	switch s.shape {
	case exponential:
		return clip(s.random.ExpFloat64() * float64(s.mean))
	case logNormal:
		return clip(math.Exp(s.mu + s.sigma*s.random.NormFloat64()))
	case recorded:
		v := s.values[s.count%len(s.values)]
		s.count++
		return v
	}
	return s.mean
}

// clip makes a drawn number of nanoseconds a duration.
func clip(ns float64) Duration { return Duration(min(max(ns, 0), float64(longest))) }
