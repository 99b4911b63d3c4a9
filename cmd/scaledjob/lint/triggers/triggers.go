// Package triggers is only for test/conformance, which compares lint's table of parameters and
// rules of KEDA's scalers with KEDA's own code. Use package lint to check a manifest.
package triggers

import "github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"

type (
	// Declaration, Type, Parameter and Rule are what lint knows of a type of trigger.
	Declaration = triggers.Declaration
	Type        = triggers.Type
	Parameter   = triggers.Parameter
	Rule        = triggers.Rule
	// Input and its Value are a trigger's metadata.
	Input = triggers.Input
	Value = triggers.Value
	// Problem is a problem of the metadata.
	Problem = triggers.Problem
)

// Broken is the kind of a rule that KEDA checks in code. Visible is the state of a known value.
const (
	Broken  = triggers.Broken
	Visible = triggers.Visible
)

var (
	// Types returns the types of triggers, and Lookup the declaration of one in a release.
	Types  = triggers.Types
	Lookup = triggers.Lookup
	// Rules returns the rules, and Proofs where KEDA's code shows which items a type counts.
	Rules  = triggers.Rules
	Proofs = triggers.Proofs
	// Within reports whether a release is between two.
	Within = triggers.Within
	// Check returns the problems of a trigger.
	Check = triggers.Check
)
