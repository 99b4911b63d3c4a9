package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/simulation"
)

// An Estimate is the mean of a number over the runs, and its 95 % confidence interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Low and High are the ends of the interval, or Mean if there is none.
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Interval bool    `json:"interval"` // whether there is one
}

// A Word reports whether two policies differ in a number.
type Word string

const (
	Equal     Word = "equal"             // in each run
	Different Word = "different"         // the interval of the difference excludes 0
	TooClose  Word = "too close to call" // anything else
)

// A Difference is the number of one policy minus that of another, run by run.
type Difference struct {
	Estimate
	Word Word `json:"word"`
	// Needed is the number of seeds with which the interval of this mean would exclude 0, or how
	// many times as long the trace would have to be if it was shuffled. It is 0 unless Word is
	// TooClose, or if no number would. Without an interval it is the number that an interval needs.
	Needed int `json:"needed,omitempty"`
}

// Estimate estimates a number of the policy at an index.
func (s *Study) Estimate(policy int, value func(*simulation.Summary) float64) Estimate {
	sample := &s.Samples[policy]
	return s.estimate(numbers(sample.Runs, value), numbers(sample.Resampled, value))
}

// Difference estimates a number of policy a minus that of policy b.
func (s *Study) Difference(a, b int, value func(*simulation.Summary) float64) Difference {
	one, other := &s.Samples[a], &s.Samples[b]
	runs := minus(numbers(one.Runs, value), numbers(other.Runs, value))
	resampled := minus(numbers(one.Resampled, value), numbers(other.Resampled, value))
	d := Difference{Estimate: s.estimate(runs, resampled), Word: TooClose}
	nonzero := func(v float64) bool { return v != 0 }
	switch {
	case !slices.ContainsFunc(runs, nonzero) && !slices.ContainsFunc(resampled, nonzero):
		d.Word = Equal
	case d.Interval && (d.Low > 0 || d.High < 0):
		d.Word = Different
	default:
		d.Needed = s.needed(d.Estimate)
	}
	return d
}

func numbers(runs []simulation.Summary, value func(*simulation.Summary) float64) []float64 {
	values := make([]float64, len(runs))
	for i := range runs {
		values[i] = value(&runs[i])
	}
	return values
}

func minus(a, b []float64) []float64 {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

// needed returns the number with which the half width would be below the mean, since it falls
// with the square root of that number.
func (s *Study) needed(e Estimate) int {
	if !e.Interval {
		return minSeeds
	}
	have := float64(s.Seeds)
	if s.Blocks > 0 {
		have = 1
	}
	half := (e.High - e.Low) / 2
	if n := have * half * half / e.Mean / e.Mean; e.Mean != 0 && n < 1e6 {
		return max(int(have)+1, int(math.Ceil(n)))
	}
	return 0
}

// estimate returns the mean of the runs, and its interval by Student's t distribution. The spread of
// shuffled traces is the spread of the mean itself.
func (s *Study) estimate(runs, resampled []float64) Estimate {
	mean, deviation := spread(runs)
	e := Estimate{Mean: mean, Low: mean, High: mean, Interval: s.Exact}
	half := 0.0
	if n := len(runs); n > 1 {
		half, e.Interval = student95(n-1)*deviation/math.Sqrt(float64(n)), true
	}
	if n := len(resampled); n > 1 {
		_, deviation = spread(resampled)
		half, e.Interval = max(half, student95(n-1)*deviation), true
	}
	e.Low, e.High = mean-half, mean+half
	return e
}

func spread(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / max(1, n-1))
}

// student95 returns the 97.5 % quantile of Student's t distribution, between whose negative
// and itself are 95 %.
func student95(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}
	return student(table, 1.959964, freedom)
}

// student99 returns the 99 % quantile of Student's t distribution.
func student99(freedom int) float64 {
	table := []float64{31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821}
	return student(table, 2.326348, freedom)
}

// student returns a quantile from a table of few degrees of freedom. From 10 degrees on, it is the
// Cornish-Fisher expansion of that of the normal distribution, whose error is below 0.002.
func student(table []float64, z float64, freedom int) float64 {
	if freedom <= len(table) {
		return table[freedom-1]
	}
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}

// String describes the runs.
func (s *Study) String() string {
	text := "mean of " + strconv.Itoa(s.Seeds) + " runs"
	if s.Exact {
		text = "one run, in which nothing is random"
	} else if s.Seeds == 1 {
		text = "one run"
	}
	if s.Recorded {
		text = "the recorded arrivals as they were; " + text
	}
	if s.Blocks > 0 {
		text += fmt.Sprintf("; the intervals also cover %d shuffled copies of the recording", resamples)
	}
	return text
}
