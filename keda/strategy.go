package keda

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/strategy"
)

// Replicas holds the bounds that minReplicaCount and maxReplicaCount set.
type Replicas struct {
	Min      int64 `json:"min"`      // m: Jobs to keep even if the queue is empty
	QueueMax int64 `json:"queueMax"` // M: most Jobs for the queue, in addition to m; KEDA's MaxReplicaCount
	Fault    Fault `json:"fault"`    // NoMaximum, or none
}

// Replicas returns m and M by the behavior replicas.
func (p Profile) Replicas(j *ScaledJob) Replicas {
	minimum, maximum := j.Spec.MinReplicaCount, j.Spec.MaxReplicaCount
	r := Replicas{QueueMax: 100}
	if maximum != nil {
		r.QueueMax = int64(*maximum)
	}
	since211 := p.has(behaviorReplicas, version{11, 0})
	switch {
	case minimum == nil || !p.has(behaviorReplicas, version{8, 0}):
	case maximum == nil && !since211:
		r.Fault = NoMaximum
	case maximum == nil:
		r.Min = int64(*minimum)
	case *minimum <= *maximum:
		r.Min = int64(*minimum)
		r.QueueMax -= r.Min
	default:
		r.Min = int64(*maximum)
		if !since211 {
			r.QueueMax = 0
		}
	}
	return r
}

// A Strategy is the strategy that a release selects for a manifest, with its
// parameters. It reads a [strategy.Load] with KEDA's numbers: T is maxScale, R the
// running Jobs above the minimum, P all pending Jobs, and M is [Replicas.QueueMax]. KEDA
// does not distinguish stuck Jobs. The zero value is default.
type Strategy struct {
	kind       kind
	deduction  int64
	percentage float64
	accurate   version // the first release with its formula
	fault      Fault
}

type kind uint8

const (
	byDefault kind = iota
	accurate
	eager
	custom
)

var kinds = [...]string{"default", "accurate", "eager", "custom"}

// Strategies returns the names of the strategies of the newest release.
func Strategies() []string { return slices.Clone(kinds[:]) }

// Strategy returns the strategy that the release selects. Names are case-sensitive. Any
// unknown name selects default, and so does custom if strconv.ParseFloat rejects the
// percentage.
func (p Profile) Strategy(j *ScaledJob) Strategy {
	spec := &j.Spec.ScalingStrategy
	switch spec.Strategy {
	case "accurate":
		return Strategy{kind: accurate, accurate: p.forms[behaviorAccurate]}
	case "eager":
		if p.has(behaviorEager, version{15, 0}) {
			return Strategy{kind: eager}
		}
	case "custom":
		percentage, err := strconv.ParseFloat(spec.CustomScalingRunningJobPercentage, 64)
		if err == nil {
			return p.custom(spec.CustomScalingQueueLengthDeduction, percentage)
		}
	}
	return Strategy{}
}

func (p Profile) custom(deduction *int32, percentage float64) Strategy {
	s := Strategy{kind: custom, percentage: percentage}
	switch {
	case deduction != nil:
		s.deduction = int64(*deduction)
	case !p.has(behaviorCustom, version{20, 2}):
		s.fault = NoDeduction
	}
	return s
}

// Name returns the name of the strategy: "default", "accurate", "eager" or
// "custom".
func (s Strategy) Name() string { return kinds[s.kind] }

// formulas holds the formula of accurate from each release on that changed it.
var formulas = map[version]string{
	{0, 0}:  "T + R > M ? M - R : T",
	{1, 0}:  "T + R > M ? M - R : T - P",
	{19, 0}: "T + R - P > M ? M - R : T - P",
}

// String returns the name and the formula.
func (s Strategy) String() string {
	formula := "T - R"
	switch s.kind {
	case accurate:
		formula = formulas[s.accurate]
	case eager:
		formula = "min(M - R - P, T)"
	case custom:
		formula = fmt.Sprintf("min(M, T - %d - trunc(R * %v))", s.deduction, s.percentage)
	}
	return s.Name() + ": " + formula
}

// MarshalText returns the same as String.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the result of MarshalText.
func (s *Strategy) UnmarshalText(text []byte) error {
	read := Strategy{kind: custom}
	if n, _ := fmt.Sscanf(string(text), "custom: min(M, T - %d - trunc(R * %g))", &read.deduction, &read.percentage); n == 2 {
		*s = read
		return nil
	}
	for _, known := range []Strategy{{}, {kind: eager}, {kind: accurate}, {kind: accurate, accurate: version{1, 0}}, {kind: accurate, accurate: version{19, 0}}} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("keda: found the strategy %q; use the text of a Strategy", text)
}

// A Scale is the answer of a strategy.
type Scale struct {
	EffectiveMaxScale int64 // Jobs to create, before ScaleTo limits them; may be negative
	ScaleTo           int64 // upper limit: the queue length, or M under eager
	Fault             Fault
}

// Scale returns the strategy's answer for a load and a queue length. Numbers overflow as
// int64 does.
func (s Strategy) Scale(l strategy.Load, scaleTo int64) Scale {
	r := Scale{ScaleTo: scaleTo, Fault: s.fault}
	f := &r.Fault
	switch s.kind {
	case accurate:
		r.EffectiveMaxScale = s.accurately(f, &l)
	case eager:
		r.EffectiveMaxScale = min(f.sub(f.sub(l.Max, l.Running), l.Pending), l.Target)
		r.ScaleTo = l.Max
	case custom:
		if s.fault.Panics() {
			return Scale{Fault: s.fault}
		}
		working := f.truncate(float64(l.Running) * s.percentage)
		r.EffectiveMaxScale = min(f.sub(f.sub(l.Target, s.deduction), working), l.Max)
	default:
		r.EffectiveMaxScale = f.sub(l.Target, l.Running)
	}
	return r
}

func (s Strategy) accurately(f *Fault, l *strategy.Load) int64 {
	total := f.add(l.Target, l.Running)
	if s.accurate == (version{19, 0}) {
		total = f.sub(total, l.Pending)
	}
	switch {
	case total > l.Max:
		return f.sub(l.Max, l.Running)
	case s.accurate == version{}:
		return l.Target
	}
	return f.sub(l.Target, l.Pending)
}

// Propose returns the effective maximum scale, so that a Strategy is a
// [strategy.Strategy]. It returns 0 if KEDA panics.
func (s Strategy) Propose(l strategy.Load) int64 {
	return s.Scale(l, l.Target).EffectiveMaxScale
}
