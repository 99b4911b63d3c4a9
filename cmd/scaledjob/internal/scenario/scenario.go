// Package scenario reads scenario files, and builds the policies of a simulation.
package scenario

import (
	_ "embed"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Help is a scenario file with every field.
//
//go:embed help.yaml
var Help string

// Read reads a scenario.
func Read(s input.Source) (*Scenario, error) {
	read := &Scenario{}
	return read, input.Decode(s, read, read.Check, "simulate --help-scenario")
}

// A Scenario is a scenario file. Its policy is a manifest's, which package simulation
// does not know.
type Scenario struct {
	simulation.Scenario
	Policy Policy `json:"policy"`
}

// Check builds the policy, and returns all problems.
func (s *Scenario) Check() error {
	var problems field.Errors
	built, err := s.Policy.Build(len(s.Clusters))
	problems.Join("", err)
	if s.Scenario.Autoscaler = built; err != nil {
		s.Scenario.Autoscaler = simulation.Scaling{StuckAfter: s.Policy.StuckAfter} // its other problems are known
		if len(s.Clusters) > 1 {
			s.Scenario.Autoscaler = simulation.Placement{}
		}
	}
	if r := s.Policy.Release; r.Profile != nil {
		of := "nothing under " + r.String() + ", or release: spec"
		problems.Check(s.Policy.StuckAfter == nil, "policy.stuckAfter", s.Policy.StuckAfter, of)
		problems.Check(!s.Policy.SubtractPending, "policy.subtractPending", true, of)
		problems.Check(!s.Policy.MinAsFloor, "policy.minAsFloor", true, of)
		if s.Policy.Placement != nil {
			problems.Add(field.Error{Path: "policy.placement", Found: "a placement", Fix: of})
		}
	}
	problems.Join("", s.Validate())
	return problems.Err()
}
