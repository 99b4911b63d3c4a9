package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// A shape is the kind of a distribution.
type shape string

const (
	fixed       shape = "constant"  // always the mean
	exponential shape = "exp"       // memoryless; the standard deviation is the mean
	logNormal   shape = "lognormal" // most short, a few very long
	recorded    shape = "recorded"  // the values in turn, and from the first again
)

// A Distribution is a distribution of times: of the work on an item, or of the start of a
// pod. Its text is:
//
//	30s                  always, or constant:30s
//	exp:30s              exponential, of that mean
//	lognormal:30s,1m     log-normal, of that mean and that standard deviation
//	recorded:12s,30s,5s  these values, in turn
//
// The zero value is always 0.
type Distribution struct {
	shape     shape // "" is fixed
	mean      Duration
	deviation Duration   // the standard deviation, of logNormal
	values    []Duration // of recorded
}

// Fixed returns a distribution of a single time.
func Fixed(d time.Duration) Distribution { return Distribution{mean: Duration(d)} }

// Exp returns an exponential distribution.
func Exp(mean time.Duration) Distribution {
	return Distribution{shape: exponential, mean: Duration(mean)}
}

// LogNormal returns a log-normal distribution with a mean and a standard deviation.
func LogNormal(mean, deviation time.Duration) Distribution {
	return Distribution{shape: logNormal, mean: Duration(mean), deviation: Duration(deviation)}
}

// Recorded returns a distribution of measured times, which come in turn, and from the
// first again.
func Recorded(times ...time.Duration) Distribution {
	d := Distribution{shape: recorded}
	for _, t := range times {
		d.values = append(d.values, Duration(t))
	}
	return d
}

// String returns the distribution as it is written.
func (d Distribution) String() string {
	switch d.shape {
	case "", fixed:
		return d.mean.String()
	case logNormal:
		return fmt.Sprintf("%s:%s,%s", d.shape, d.mean, d.deviation)
	case recorded:
		values := make([]string, len(d.values))
		for i, v := range d.values {
			values[i] = v.String()
		}
		return string(d.shape) + ":" + strings.Join(values, ",")
	}
	return fmt.Sprintf("%s:%s", d.shape, d.mean)
}

// MarshalText returns String.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a distribution. Whether its numbers make sense is
// [Scenario.Validate]'s to say.
func (d *Distribution) UnmarshalText(text []byte) error {
	kind, rest, found := strings.Cut(string(text), ":")
	if !found {
		kind, rest = string(fixed), kind
	}
	values, err := parseDurations(rest)
	if err != nil {
		return err
	}
	parsed := Distribution{shape: shape(kind)}
	switch parsed.shape {
	case fixed, exponential:
		if len(values) == 1 {
			parsed.mean = values[0]
			*d = parsed
			return nil
		}
	case logNormal:
		if len(values) == 2 {
			parsed.mean, parsed.deviation = values[0], values[1]
			*d = parsed
			return nil
		}
	case recorded:
		parsed.values = values
		*d = parsed
		return nil
	}
	return fmt.Errorf("%q is no distribution: want a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s", text)
}

func parseDurations(text string) (all []Duration, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var d Duration
		if err := d.UnmarshalText([]byte(strings.TrimSpace(part))); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// A sampler draws from a distribution.
type sampler struct {
	Distribution
	random    *rand.Rand
	mu, sigma float64 // of the logarithm of a log-normal time
	k         int
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
		v := s.values[s.k%len(s.values)]
		s.k++
		return v
	}
	return s.mean
}
