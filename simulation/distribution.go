package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Shape is the kind of a distribution.
type Shape string

const (
	Fixed       Shape = "constant"  // always the mean
	Exponential Shape = "exp"       // memoryless; the standard deviation is the mean
	LogNormal   Shape = "lognormal" // most short, a few very long
	Recorded    Shape = "recorded"  // the values one after the other, and from the first again
)

// A Distribution is of times: how long an item takes, or a start. It is written as
// text:
//
//	30s                  always, or constant:30s
//	exp:30s              exponential, of that mean
//	lognormal:30s,1m     log-normal, of that mean and that standard deviation
//	recorded:12s,30s,5s  these values, in turn
//
// The zero value is always 0.
type Distribution struct {
	Shape     Shape // "" is Fixed
	Mean      Duration
	Deviation Duration   // the standard deviation, of LogNormal
	Values    []Duration // of Recorded
}

// String returns the distribution as it is written.
func (d Distribution) String() string {
	switch d.Shape {
	case "", Fixed:
		return d.Mean.String()
	case LogNormal:
		return fmt.Sprintf("%s:%s,%s", d.Shape, d.Mean, d.Deviation)
	case Recorded:
		values := make([]string, len(d.Values))
		for i, v := range d.Values {
			values[i] = v.String()
		}
		return string(d.Shape) + ":" + strings.Join(values, ",")
	}
	return fmt.Sprintf("%s:%s", d.Shape, d.Mean)
}

// MarshalText returns String.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a distribution. Whether its numbers make sense is
// [Scenario.Validate]'s to say.
func (d *Distribution) UnmarshalText(text []byte) error {
	shape, rest, found := strings.Cut(string(text), ":")
	if !found {
		shape, rest = string(Fixed), shape
	}
	values, err := parseDurations(rest)
	if err != nil {
		return err
	}
	parsed := Distribution{Shape: Shape(shape)}
	switch parsed.Shape {
	case Fixed, Exponential:
		if len(values) == 1 {
			parsed.Mean = values[0]
			*d = parsed
			return nil
		}
	case LogNormal:
		if len(values) == 2 {
			parsed.Mean, parsed.Deviation = values[0], values[1]
			*d = parsed
			return nil
		}
	case Recorded:
		parsed.Values = values
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
	if d.Shape == LogNormal && d.Mean > 0 {
		variation := float64(d.Deviation) / float64(d.Mean)
		square := math.Log1p(variation * variation)
		s.mu, s.sigma = math.Log(float64(d.Mean))-square/2, math.Sqrt(square)
	}
	return s
}

func (s *sampler) draw() Duration {
	switch s.Shape {
	case Exponential:
		return clip(s.random.ExpFloat64() * float64(s.Mean))
	case LogNormal:
		return clip(math.Exp(s.mu + s.sigma*s.random.NormFloat64()))
	case Recorded:
		v := s.Values[s.k%len(s.Values)]
		s.k++
		return v
	}
	return s.Mean
}
