package study

import (
	"fmt"
	"math"

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
	Same       Word = "same"        // equal in each run
	Differs    Word = "differs by"  // the interval of the difference excludes 0
	CannotTell Word = "cannot tell" // anything else
)

// A Difference is the number of one policy minus that of another, run by run.
type Difference struct {
	Estimate
	Word Word `json:"word"`
	// Needed is the number of seeds, or of blocks of a trace, with which the interval of this
	// mean would exclude 0. It is 0 unless Word is CannotTell, or if no number would. Without an
	// interval it is the number that an interval needs.
	Needed int `json:"needed,omitempty"`
}

// Estimate estimates a number of the policy at an index.
func (s *Study) Estimate(policy int, value func(*simulation.Summary) float64) Estimate {
	values := make([]float64, len(s.Samples[policy].Runs))
	for i := range values {
		values[i] = value(&s.Samples[policy].Runs[i])
	}
	return s.estimate(values)
}

// Difference estimates a number of policy a minus that of policy b.
func (s *Study) Difference(a, b int, value func(*simulation.Summary) float64) Difference {
	values, same := make([]float64, len(s.Samples[a].Runs)), true
	for i := range values {
		values[i] = value(&s.Samples[a].Runs[i]) - value(&s.Samples[b].Runs[i])
		same = same && values[i] == 0
	}
	d := Difference{Estimate: s.estimate(values), Word: CannotTell}
	switch {
	case same:
		d.Word = Same
	case d.Interval && (d.Low > 0 || d.High < 0):
		d.Word = Differs
	default:
		d.Needed = s.needed(d.Estimate)
	}
	return d
}

// needed returns the number of seeds or blocks with which the half width would be below the
// mean, by the square root of that number.
func (s *Study) needed(e Estimate) int {
	have := s.Seeds
	switch {
	case s.Sampling == fromFewBlocks:
		return fewestBlocks
	case !e.Interval:
		return fewestSeeds
	case s.Sampling == fromBlocks:
		have = s.Blocks
	}
	half := (e.High - e.Low) / 2
	if n := float64(have) * half * half / e.Mean / e.Mean; e.Mean != 0 && n < 1e6 {
		return max(have+1, int(math.Ceil(n)))
	}
	return 0
}

// estimate returns the mean, and its interval by Student's t distribution. The spread of
// resampled traces is the spread of the mean itself.
func (s *Study) estimate(values []float64) Estimate {
	n, mean, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	e := Estimate{Mean: mean, Low: mean, High: mean}
	switch {
	case s.Sampling == exactly:
		e.Interval = true
	case s.Sampling != fromFewBlocks && len(values) > 1:
		half := student95(len(values)-1) * math.Sqrt(squares/(n-1))
		if s.Sampling == fromSeeds {
			half /= math.Sqrt(n)
		}
		e.Low, e.High, e.Interval = mean-half, mean+half, true
	}
	return e
}

// student95 returns the 97.5 % quantile of Student's t distribution, between whose negative
// and itself are 95 %.
func student95(freedom int) float64 {
	few := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}
	return student(few, 1.959964, freedom)
}

// student99 returns the 99 % quantile of Student's t distribution.
func student99(freedom int) float64 {
	few := []float64{31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821}
	return student(few, 2.326348, freedom)
}

// student returns a quantile from a table of few degrees of freedom. From 10 degrees on, it is the
// Cornish-Fisher expansion of that of the normal distribution, whose error is below 0.002.
func student(few []float64, z float64, freedom int) float64 {
	if freedom <= len(few) {
		return few[freedom-1]
	}
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}

// String describes the numbers of the study.
func (s *Study) String() string {
	switch s.Sampling {
	case exactly:
		return "exact: nothing is random"
	case fromFewBlocks:
		return fmt.Sprintf("without intervals: the trace has %d blocks of 20 polls, and 10 are needed", s.Blocks)
	case fromBlocks:
		return fmt.Sprintf("means of %d resamples of the trace, in %d blocks of at least 20 polls", s.Seeds, s.Blocks)
	}
	return fmt.Sprintf("means of %d seeds", s.Seeds)
}
