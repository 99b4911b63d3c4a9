package simulation

import "math"

// Replicate runs each policy under n seeds, the scenario's seed first; n below 1 is 1.
// Under one seed all policies receive the same items, so that their differences vary
// less than their results (common random numbers). The results are in the order of the
// policies, and of the seeds for each policy. Only the first seed has ticks. The errors
// are those of [Compare].
func Replicate(s Scenario, policies []Policy, n int, o Options) ([][]Result, error) {
	if err := problems(&s, policies); err != nil {
		return nil, err
	}
	n = max(1, n)
	scenarios := make([]Scenario, 0, n*len(policies))
	for seed := range n {
		for _, p := range policies {
			scenario := s
			scenario.Seed, scenario.Policy = s.Seed+uint64(seed), p
			scenarios = append(scenarios, scenario)
		}
	}
	all, err := runAll(scenarios, len(policies), o)
	if err != nil {
		return nil, err
	}
	results := make([][]Result, len(policies))
	for i := range all {
		at := i % len(policies)
		results[at] = append(results[at], all[i])
	}
	return results, nil
}

// An Estimate is a mean over several seeds, and its 95 % confidence interval by
// Student's t distribution. The interval of a single seed is the mean itself.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Difference estimates the value in a minus the value in b, seed by seed. An empty b counts as 0, so that the result is the estimate of the value itself. If
// the numbers of seeds differ, the additional ones are ignored.
func Difference(a, b []Result, value func(*Summary) float64) Estimate {
	var each []float64
	for i := range a {
		switch {
		case len(b) == 0:
			each = append(each, value(&a[i].Summary))
		case i < len(b):
			each = append(each, value(&a[i].Summary)-value(&b[i].Summary))
		}
	}
	return estimate(each)
}

// Differs reports whether the interval excludes 0.
func (e Estimate) Differs() bool { return e.Low > 0 || e.High < 0 }

func estimate(values []float64) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{}
	}
	mean := 0.0
	for _, v := range values {
		mean += v / n
	}
	if n == 1 {
		return Estimate{mean, mean, mean}
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return Estimate{mean, mean - half, mean + half}
}

// student returns the 97.5 % quantile of Student's t distribution. From 10 degrees of
// freedom on, it is the Cornish-Fisher expansion, whose error is below 0.001.
func student(freedom int) float64 {
	few := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}
	if freedom <= len(few) {
		return few[freedom-1]
	}
	const z = 1.959964
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}
