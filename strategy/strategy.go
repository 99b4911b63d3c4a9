// Package strategy computes how many Jobs a queue's load asks for.
//
//	load := strategy.Load{Target: 10, Running: 4, Pending: 2, Max: 20}
//	create := strategy.Default{}.Propose(load) // 6
//	chosen, err := strategy.FromSpec("accurate", strategy.Parameters{})
//
// A [Load] has five numbers of Jobs. A [Strategy] computes the proposal from them:
//
//	T  Target   Jobs that would serve the queue, rounded up
//	R  Running  unfinished Jobs, including pending and excluding terminating Jobs
//	P  Pending  part of R: no pod is Running or Succeeded
//	S  Stuck    part of P: pending for at least a grace period
//	M  Max      the most Jobs that the queue may have
//
//	default       T - R
//	accurate      T + R > M ? M - R : T - P
//	eager         min(M - R - P, T)
//	custom        min(M, T - deduction - trunc(R * percentage))
//	pendingAware  min(max(0, T - R + S), max(0, M - R))
//
// pendingAware is a strategy of the DistributedScaledJob, the others of the ScaledJob
// specification. Choose by the metric and the Jobs:
//
//	default       the metric includes in-progress items: workers acknowledge an item
//	              when it is done
//	accurate      the metric excludes in-progress items: workers remove an item when
//	              they start
//	eager         Jobs are slow to start, and idle Jobs cost little
//	custom        no other strategy fits, and you have measured both parameters
//	pendingAware  Jobs get stuck before they start, on a cluster without capacity
//
// A proposal may be negative or above the headroom. The caller limits it last (package
// scaling does), so that every strategy is safe. No load panics, and arithmetic saturates
// at the ends of int64.
//
// Package strategytest checks the properties of any strategy. testdata/SPECIFICATION.md has the rules for any language.
package strategy

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Load holds the numbers of Jobs that a strategy reads. A normalized Load has
// 0 <= Stuck <= Pending <= Running, and Target and Max of at least 0. The zero value
// is an empty queue that may have no Jobs.
type Load struct {
	Target  int64 `json:"target"`  // T: Jobs that would serve the queue
	Running int64 `json:"running"` // R: unfinished Jobs, including pending Jobs
	Pending int64 `json:"pending"` // P: part of Running; no pod is Running or Succeeded
	Stuck   int64 `json:"stuck"`   // S: the part of Pending that has waited for a grace period
	// Max is M: the most Jobs that the queue may have. MaxInt64 is no limit, and
	// "unlimited" in JSON.
	Max int64 `json:"max" form:"limit"`
}

// Normalize returns the load with negative numbers taken as 0, Pending above
// Running as Running, and Stuck above Pending as Pending.
func (l Load) Normalize() Load {
	l.Target = max(0, l.Target)
	l.Running = max(0, l.Running)
	l.Pending = min(max(0, l.Pending), l.Running)
	l.Stuck = min(max(0, l.Stuck), l.Pending)
	l.Max = max(0, l.Max)
	return l
}

// A Strategy proposes how many Jobs to create for a load.
//
// Propose must be pure: equal loads get equal proposals. It may return any number;
// callers limit it and treat a negative number as 0. [Describe] returns the name of a
// Strategy in explanations.
type Strategy interface {
	Propose(Load) int64
}

// TargetIsTotal reports whether the target of s is the number of all Jobs that should
// run, not of Jobs to add: s has a TargetIsTotal method, and it returns true. If s has no such
// method and an Unwrap method that returns another Strategy, that one is asked, so that a strategy
// that wraps another keeps the property. Such a strategy can have a minimum as a floor under its
// target. Another strategy would add the minimum again in every poll.
func TargetIsTotal(s Strategy) bool {
	for {
		if t, ok := s.(interface{ TargetIsTotal() bool }); ok {
			return t.TargetIsTotal()
		}
		wrapper, ok := s.(interface{ Unwrap() Strategy })
		if !ok {
			return false
		}
		s = wrapper.Unwrap()
	}
}

// Total declares that the target of a strategy is a total, for a [Func] such as T - R:
//
//	strategy.Total{strategy.Func(func(l strategy.Load) int64 { return l.Target - l.Running })}
type Total struct{ Strategy }

// TargetIsTotal is true.
func (Total) TargetIsTotal() bool { return true }

// Unwrap returns the strategy.
func (t Total) Unwrap() Strategy { return t.Strategy }

// String returns the text of the strategy.
func (t Total) String() string { return Describe(t.Strategy) }

// Func makes a Strategy of a plain function.
type Func func(Load) int64

// Propose calls f.
func (f Func) Propose(l Load) int64 { return f(l) }

// Default proposes T - R. It suits metrics that include in-progress items. With a metric
// that excludes them it creates too few Jobs, because it subtracts running Jobs from the
// Jobs for waiting items.
type Default struct{}

// TargetIsTotal is true: running Jobs are subtracted from the target.
func (Default) TargetIsTotal() bool { return true }

// Propose returns T - R.
func (Default) Propose(l Load) int64 { return sub(l.Target, l.Running) }

// String returns the name and the formula.
func (Default) String() string { return "default: T - R" }

// Accurate proposes T - P, or M - R if T + R exceeds M. It suits metrics that exclude
// in-progress items. With a metric that includes them, it creates Jobs for in-progress
// items.
//
// This is the documented formula. It is not monotone, because the second branch does not
// subtract P. At T=2 R=2 P=2 M=4 it proposes 0; at R=3, or at M=3, it proposes 1.
// SubtractPending makes it monotone.
type Accurate struct {
	// SubtractPending compares T + R - P with M, as KEDA does since 2.19. The
	// proposal is then min(T - P, M - R), and monotone.
	SubtractPending bool
}

// Propose returns M - R if T + R > M, else T - P.
func (a Accurate) Propose(l Load) int64 {
	// T + R > M is asked as T > M - R, which cannot overflow.
	free := sub(l.Max, l.Running)
	limit := free
	if a.SubtractPending {
		limit = add(free, l.Pending)
	}
	if l.Target > limit {
		return free
	}
	return sub(l.Target, l.Pending)
}

// String returns the name and the formula.
func (a Accurate) String() string {
	if a.SubtractPending {
		return "accurate: T + R - P > M ? M - R : T - P"
	}
	return "accurate: T + R > M ? M - R : T - P"
}

// Eager proposes min(M - R - P, T): as many Jobs as the queue asks for within the
// headroom, whatever runs. Pending Jobs are subtracted twice, once as part of R, so
// that it does not fill up to M while Jobs are starting.
type Eager struct{}

// Propose returns min(M - R - P, T).
func (Eager) Propose(l Load) int64 {
	return min(sub(sub(l.Max, l.Running), l.Pending), l.Target)
}

// String returns the name and the formula.
func (Eager) String() string { return "eager: min(M - R - P, T)" }

// PendingAware proposes min(max(0, T - R + S), max(0, M - R)): the proposal of Default,
// and a replacement for each stuck Job, within the headroom. If the ages of pending
// Jobs are not known, give S = P.
type PendingAware struct{}

// TargetIsTotal is true: running Jobs are subtracted from the target.
func (PendingAware) TargetIsTotal() bool { return true }

// Propose returns min(max(0, T - R + S), max(0, M - R)).
func (PendingAware) Propose(l Load) int64 {
	missing := add(sub(l.Target, l.Running), l.Stuck)
	return min(max(0, missing), max(0, sub(l.Max, l.Running)))
}

// String returns the name and the formula.
func (PendingAware) String() string {
	return "pendingAware: min(max(0, T - R + S), max(0, M - R))"
}

// Names returns the names that manifests use, in the order of the package
// comment.
func Names() []string {
	return []string{"default", "accurate", "eager", "custom", "pendingAware"}
}

// Parameters are the options of strategies, with the names and the form of manifests, and types
// that read manifests embed them. The zero value has none.
type Parameters struct {
	// CustomScalingQueueLengthDeduction is in Jobs; nil is 0. A negative number adds Jobs.
	CustomScalingQueueLengthDeduction *int32 `json:"customScalingQueueLengthDeduction,omitempty"`
	// CustomScalingRunningJobPercentage is a decimal. Without it, custom is the strategy
	// default, as documented.
	CustomScalingRunningJobPercentage string `json:"customScalingRunningJobPercentage,omitempty"`
}

// FromSpec returns the strategy of a manifest. Its name is one of [Names], or basic or "" for
// default, and is case-sensitive. Strategies ignore the parameters of others. No manifest has the
// option of [Accurate]. The errors are of type [*field.Error], with the manifest's name of the field.
func FromSpec(name string, p Parameters) (Strategy, error) {
	var problems field.Errors
	switch name {
	case "accurate":
		return Accurate{}, nil
	case "eager":
		return Eager{}, nil
	case "pendingAware":
		return PendingAware{}, nil
	case "custom":
		if p.CustomScalingRunningJobPercentage == "" {
			return Default{}, nil
		}
		percentage, err := ParsePercentage(p.CustomScalingRunningJobPercentage)
		problems.Check(err == nil, "customScalingRunningJobPercentage", p.CustomScalingRunningJobPercentage, `a decimal of 0 or more, such as "0.5"`)
		deduction := int64(0)
		if p.CustomScalingQueueLengthDeduction != nil {
			deduction = int64(*p.CustomScalingQueueLengthDeduction)
		}
		return NewCustom(deduction, percentage), problems.Err()
	case "", "basic", "default":
		return Default{}, nil
	}
	problems.Check(false, "strategy", name, "one of "+strings.Join(Names(), ", "))
	return nil, problems.Err()
}

// Parse reads the text of [Describe] of a strategy of this package, or a name of [Names] other than
// custom, which has parameters. The text of any other strategy is an error.
func Parse(text string) (Strategy, error) {
	for _, s := range []Strategy{Default{}, Accurate{}, Accurate{SubtractPending: true}, Eager{}, PendingAware{}} {
		if description := Describe(s); text == description || text == description[:strings.Index(description, ":")] {
			return s, nil
		}
	}
	if custom := parseCustom(text); custom != nil {
		return custom, nil
	}
	return nil, fmt.Errorf("strategy: found %q; use the text of a strategy of package strategy, and set any other in Go", text)
}

// Describe returns the text of a strategy in explanations: its String method, or else its
// Go type, such as "mypkg.Half". The text of a function also has the function's name:
// "strategy.Func: function mypkg.half". The text of nil is empty.
func Describe(s Strategy) string {
	switch s := s.(type) {
	case nil:
		return ""
	case fmt.Stringer:
		return s.String()
	}
	t := reflect.TypeOf(s)
	if t.Kind() != reflect.Func {
		return t.String()
	}
	name := runtime.FuncForPC(reflect.ValueOf(s).Pointer()).Name()
	return t.String() + ": function " + name[strings.LastIndexByte(name, '/')+1:]
}

// MarshalJSON returns the fields, with "unlimited" for a Max of MaxInt64.
func (l Load) MarshalJSON() ([]byte, error) { return jsonform.Marshal(l) }

// UnmarshalJSON reads the result of MarshalJSON.
func (l *Load) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, l) }

// add returns a + b, or the end of int64 that it passes.
func add(a, b int64) int64 {
	sum := a + b
	if (sum^a)&(sum^b) < 0 { // both have the sign that the sum lacks
		return end(a)
	}
	return sum
}

// sub returns a - b, or the end of int64 that it passes.
func sub(a, b int64) int64 {
	diff := a - b
	if (a^b)&(diff^a) < 0 {
		return end(a)
	}
	return diff
}

func end(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
