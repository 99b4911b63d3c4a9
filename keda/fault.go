package keda

import (
	"fmt"
	"math"
)

// A Fault is where KEDA's code fails on the way to a result. The zero value is
// none.
type Fault uint8

const (
	NoFault Fault = iota
	// WrapsAround: a number left the range of int64 and came back at its other
	// end. The result is what amd64 makes of it.
	WrapsAround
	// NoMaximum: a minimum without a maximum is a nil pointer. KEDA panics.
	NoMaximum
	// NoDeduction: custom without a deduction is a nil pointer. KEDA panics.
	NoDeduction
	// ResourceMetric: a metric of cpu or memory beside an external one of the same
	// scaler is a nil pointer. KEDA panics.
	ResourceMetric
	// SliceLength: a slice of a negative number of Jobs, or of more than 2^45, which
	// fit into no memory. KEDA panics.
	SliceLength
	// NegativeLimit: a history limit below 0 reaches behind the last Job. KEDA
	// panics or, where the list has spare memory, deletes every Job of that
	// outcome and stops at one without a name.
	NegativeLimit
)

var faults = [...]string{
	NoFault:        "none",
	WrapsAround:    "a number wraps around",
	NoMaximum:      "KEDA panics: minReplicaCount without maxReplicaCount",
	NoDeduction:    "KEDA panics: custom without customScalingQueueLengthDeduction",
	ResourceMetric: "KEDA panics: a cpu or memory metric beside an external one",
	SliceLength:    "KEDA panics: a number of Jobs that no slice can have",
	NegativeLimit:  "KEDA panics: a negative history limit",
}

// Panics reports whether KEDA's operator dies of it.
func (f Fault) Panics() bool { return f > WrapsAround }

// String says it in words.
func (f Fault) String() string {
	if int(f) < len(faults) {
		return faults[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// note keeps the first fault, but for a panic, which comes before wrapping.
func (f *Fault) note(g Fault) {
	if *f == NoFault || !f.Panics() && g.Panics() {
		*f = g
	}
}

// add returns a + b as int64 wraps it.
func (f *Fault) add(a, b int64) int64 {
	sum := a + b
	if (sum^a)&(sum^b) < 0 {
		f.note(WrapsAround)
	}
	return sum
}

// sub returns a - b as int64 wraps it.
func (f *Fault) sub(a, b int64) int64 {
	diff := a - b
	if (a^b)&(diff^a) < 0 {
		f.note(WrapsAround)
	}
	return diff
}

// whole converts as amd64 does: what is no int64, NaN included, is MinInt64.
func (f *Fault) whole(x float64) int64 {
	if x >= math.MinInt64 && x < -math.MinInt64 {
		return int64(x)
	}
	f.note(WrapsAround)
	return math.MinInt64
}
