package scaling

import (
	"errors"
	"fmt"
	"math"

	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is what a manifest says about scaling. The zero value has a maximum
// of 0 and creates nothing.
type Policy struct {
	Bounds      Bounds
	Aggregation Aggregation
	// Strategy is strategy.Default where it is nil.
	Strategy strategy.Strategy
	// HoldOnFailure keeps to the minimum as soon as one metric could not be read.
	// Otherwise those that could be read decide.
	HoldOnFailure bool
	// Paused creates nothing. The caller rolls out nothing either; finished Jobs
	// go on being pruned.
	Paused bool
}

// DefaultPolicy is the policy of a manifest that says nothing: no minimum, at
// most 100 Jobs, aggregation max, strategy default.
func DefaultPolicy() Policy {
	return Policy{Bounds: Bounds{Max: 100}, Strategy: strategy.Default{}}
}

// NoMax as Bounds.Max sets no maximum.
const NoMax = math.MaxInt64

// Bounds are the limits of the number of unfinished Jobs. The zero value allows
// none. Negative numbers count as 0, and a Min above Max as Max.
type Bounds struct {
	Min  int64   // Jobs that are kept always
	Max  int64   // Jobs that are never exceeded; NoMax for no limit
	Mode MinMode // what the queue's Jobs have to do with Min
}

func (b Bounds) normalize() Bounds {
	b.Max = max(0, b.Max)
	b.Min = min(max(0, b.Min), b.Max)
	return b
}

// MinMode is the meaning of a minimum.
type MinMode uint8

const (
	// OnTop keeps Min Jobs in addition to those that the queue asks for, as the
	// ScaledJob specification has it: with a minimum of 2, two Jobs running and
	// three items, three more are created.
	OnTop MinMode = iota
	// Floor counts them as part of those that the queue asks for: in the same
	// case one more is created.
	Floor
)

// Validate returns every problem of a policy and of the configured parts of its
// metrics (Target and ActivationThreshold), joined, each a [*FieldError]. Decide
// is defined for a policy with problems all the same. A Min above Max is not a
// problem: it is documented to become Max, and the trace says so.
func Validate(p Policy, metrics ...Metric) error {
	var problems []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			problems = append(problems, &FieldError{field, value, want})
		}
	}
	check(p.Bounds.Min >= 0, "Bounds.Min", p.Bounds.Min, "0 or more")
	check(p.Bounds.Max >= 0, "Bounds.Max", p.Bounds.Max, "0 or more")
	check(p.Bounds.Mode <= Floor, "Bounds.Mode", p.Bounds.Mode, "OnTop or Floor")
	check(p.Aggregation <= Sum, "Aggregation", p.Aggregation, "Max, Min, Avg or Sum")
	for i, m := range metrics {
		path := fmt.Sprintf("Metrics[%d].", i)
		check(m.Target > 0 && m.Target <= math.MaxFloat64, path+"Target", m.Target, "a positive, finite number")
		check(m.ActivationThreshold >= 0 && m.ActivationThreshold <= math.MaxFloat64,
			path+"ActivationThreshold", m.ActivationThreshold, "0 or more, and finite")
		check(m.Activity <= Inactive, path+"Activity", m.Activity, "ByThreshold, Active or Inactive")
	}
	return errors.Join(problems...)
}

// A FieldError is one problem of a Policy or a Metric.
type FieldError struct {
	Field string // its path, such as "Bounds.Min" or "Metrics[2].Target"
	Found any    // what stands there
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %v: want %s", e.Field, e.Found, e.Want)
}
