// Package rollout decides whether an outdated Job is deleted, and how.
//
// A Job is outdated if it was created from a lower generation of its owner than the
// current one. With TemplateOnly its template hash must differ as well, so that only
// a changed Job template counts. The [Strategy] selects the outdated Jobs to delete:
//
//	gradual    none; they finish
//	immediate  all, running or not
//	drain      Jobs without any started pod
//
// [Policy.Deletes] is false for finished Jobs (package history deletes them), for
// Jobs that are being deleted, and for Jobs of an unknown revision: without a
// generation, with a newer generation than the caller has read, or under
// TemplateOnly without a hash.
//
// In a poll, rollout comes before scaling: the deleted Jobs are terminating in the
// same decision, and scaling decides from the queue how many Jobs of the new spec to
// create. While the owner is paused, the caller rolls out nothing.
//
// # Tests
//
//	Deletes obeys each rule in every combination of policy, revision and Job   TestEveryState
package rollout

import (
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Revision identifies the spec that a Job was created from, or the owner's current
// spec. The zero value is unknown.
type Revision struct {
	Generation   int64  // metadata.generation of the owner, from 1; 0 and below are unknown
	TemplateHash string // hash of the Job template; "" is unknown
}

// A Job holds the facts that a [Policy] reads. The zero value has an unknown revision
// and is never deleted.
type Job struct {
	Revision     Revision
	NeverStarted bool // no pod has ever started; false if unknown
	Finished     bool
	Deleting     bool // has a deletion timestamp
}

// Strategy is the treatment of outdated Jobs. The zero value and values without a
// name delete none. In JSON it is the name.
type Strategy uint8

const (
	Gradual   Strategy = iota // let them finish
	Immediate                 // delete them; "default" is another name
	Drain                     // delete them if no pod has ever started
)

var strategies = []string{"gradual", "immediate", "drain"}

// String returns the name that manifests use.
func (s Strategy) String() string { return jsonform.Name(strategies, s) }

// MarshalText returns the same as String. The text of a value without a name cannot be
// read back.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name as [ParseStrategy] does. Any other text is an
// error, and s keeps its value.
func (s *Strategy) UnmarshalText(text []byte) error {
	parsed, err := ParseStrategy(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ParseStrategy returns the strategy of that name; "default" is immediate. It returns an
// error that lists the known names for any other name, also for "".
func ParseStrategy(name string) (Strategy, error) {
	if name == "default" {
		return Immediate, nil
	}
	if i := slices.Index(strategies, name); i >= 0 {
		return Strategy(i), nil
	}
	return Gradual, fmt.Errorf("unknown rollout strategy %q; use gradual, immediate (or default, which is the same) or drain", name)
}

// Propagation is the treatment of a deleted Job's pods, as in Kubernetes'
// propagation policies. The zero value is Background. In JSON it is the name.
type Propagation uint8

const (
	Background Propagation = iota // the Job is deleted at once, its pods after it
	Foreground                    // the Job terminates until its pods are deleted
	Orphan                        // the Job is deleted, its pods continue
)

var propagations = []string{"background", "foreground", "orphan"}

// String returns the name that manifests use.
func (p Propagation) String() string { return jsonform.Name(propagations, p) }

// MarshalText returns the same as String.
func (p Propagation) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name as [ParsePropagation] does.
func (p *Propagation) UnmarshalText(text []byte) error {
	return jsonform.Parse(propagations, text, p)
}

// ParsePropagation returns the propagation of that name. It returns an error that lists
// the known names for any other name, also for "".
func ParsePropagation(name string) (p Propagation, err error) {
	err = p.UnmarshalText([]byte(name))
	return p, err
}

// A Policy holds the rollout settings of an owner. The zero value deletes nothing.
type Policy struct {
	Strategy     Strategy    `json:"strategy"`
	Propagation  Propagation `json:"propagation"`  // for the delete request; Deletes ignores it
	TemplateOnly bool        `json:"templateOnly"` // only a changed Job template makes a Job outdated
}

// DefaultPolicy returns the policy of a manifest without a rollout: immediate, background,
// any change of the spec.
func DefaultPolicy() Policy { return Policy{Strategy: Immediate} }

// Deletes reports whether the policy deletes the Job while current is the owner's
// revision. It does not depend on other Jobs.
func (p Policy) Deletes(j Job, current Revision) bool {
	chosen := p.Strategy == Immediate || p.Strategy == Drain && j.NeverStarted
	return chosen && !j.Finished && !j.Deleting && p.outdated(j.Revision, current)
}

// outdated reports whether r is known to be older than the current revision.
func (p Policy) outdated(r, current Revision) bool {
	if r.Generation <= 0 || r.Generation >= current.Generation {
		return false
	}
	known := r.TemplateHash != "" && current.TemplateHash != ""
	return !p.TemplateOnly || known && r.TemplateHash != current.TemplateHash
}
