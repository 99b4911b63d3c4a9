// Package rollout decides whether an outdated Job is deleted, and how.
//
//	policy := rollout.Policy{Strategy: rollout.Drain}
//	decision := rollout.Decide(policy, rollout.Observation{Job: job, Current: revision})
//	if decision.Delete { // with policy.Propagation; decision.Reason says why, or why not
//
// A Job is outdated if it was created from a lower generation of its owner than the
// current one, and from another Job template: an edit of anything else deletes nothing.
// With EveryEdit, as in KEDA, the generation decides alone. The [Strategy] selects the outdated Jobs to delete:
//
//	gradual    none; they finish
//	immediate  all, running or not
//	drain      Jobs without any started pod
//
// [Decide] judges one Job, independently of others. It deletes no finished Job (package history
// does), no Job that is being deleted, and no Job of an unknown revision: without a
// generation, with a newer generation than the caller has read, or, unless EveryEdit is
// set, without a template hash.
//
// In a poll, rollout comes before scaling: the deleted Jobs are terminating in the
// same decision, and scaling decides from the queue how many Jobs of the new spec to
// create. While the owner is paused, the caller rolls out nothing. testdata/SPECIFICATION.md has the rules for any language.
package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Revision identifies the spec that a Job was created from, or the owner's current
// spec. The zero value is unknown.
type Revision struct {
	Generation   int64  `json:"generation"`   // metadata.generation of the owner, from 1; 0 and below are unknown
	TemplateHash string `json:"templateHash"` // hash of the Job template; "" is unknown
}

// An Observation is a Job beside its owner's current revision. The zero value deletes nothing.
type Observation struct {
	Job     Job      `json:"job"`
	Current Revision `json:"current"`
	// PodsUnknown reports whether the caller does not watch pods: it then knows of few Jobs, or of
	// none, that no pod has started. It changes only the reason for which Drain keeps a Job.
	PodsUnknown bool `json:"podsUnknown"`
}

// A Job holds the facts that [Decide] reads. The zero value has an unknown revision
// and is never deleted.
type Job struct {
	Revision     Revision `json:"revision"`
	NeverStarted bool     `json:"neverStarted"` // no pod has ever started; false if unknown
	Finished     bool     `json:"finished"`
	Deleting     bool     `json:"deleting"` // has a deletion timestamp
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

// UnmarshalText reads a name; "default" is immediate. Any other text is an error that lists
// the names, also "", and s keeps its value.
func (s *Strategy) UnmarshalText(text []byte) error {
	if string(text) == "default" {
		*s = Immediate
		return nil
	}
	i := slices.Index(strategies, string(text))
	if i < 0 {
		return fmt.Errorf("unknown rollout strategy %q; use gradual, immediate (or default, which is the same) or drain", text)
	}
	*s = Strategy(i)
	return nil
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

// UnmarshalText reads a name. Any other text is an error that lists the names, also "".
func (p *Propagation) UnmarshalText(text []byte) error {
	return jsonform.Parse(propagations, text, p)
}

// A Policy holds the rollout settings of an owner. The zero value deletes nothing.
type Policy struct {
	Strategy    Strategy    `json:"strategy"`
	Propagation Propagation `json:"propagation"` // for the delete request; Decide ignores it
	EveryEdit   bool        `json:"everyEdit"`   // any edit of the spec makes a Job outdated, as in KEDA, and not only one of the Job template
}

// DefaultPolicy returns the policy of a manifest without a rollout: immediate, background,
// edits of the Job template only.
func DefaultPolicy() Policy { return Policy{Strategy: Immediate} }

// Validate returns every problem of the policy, joined. Each is a [*field.Error]. Decide also
// accepts an invalid policy, and deletes nothing.
func (p Policy) Validate() error {
	var problems field.Errors
	problems.Check(p.Strategy <= Drain, "Strategy", p.Strategy, "Gradual, Immediate or Drain")
	problems.Check(p.Propagation <= Orphan, "Propagation", p.Propagation, "Background, Foreground or Orphan")
	return problems.Err()
}

// Warnings returns the settings without effect beside Gradual, which deletes no Job: EveryEdit and
// Propagation. Each is a [*field.Error].
func (p Policy) Warnings() error {
	var problems field.Errors
	gradual := p.Strategy == Gradual
	problems.Check(!gradual || !p.EveryEdit, "EveryEdit", p.EveryEdit, "false: gradual deletes no outdated Job")
	problems.Check(!gradual || p.Propagation == Background, "Propagation", p.Propagation, "no value: gradual deletes no outdated Job")
	return problems.Err()
}

// A Decision says whether a Job is deleted. The zero value keeps it.
type Decision struct {
	Delete bool   `json:"delete"`
	Reason Reason `json:"reason"`
}

// String returns the decision in words.
func (d Decision) String() string {
	if d.Delete {
		return "delete: " + d.Reason.Text()
	}
	return "keep: " + d.Reason.Text()
}

// A Reason says why a Job is deleted or kept. If several apply, the first of this list is given.
type Reason string

const (
	ReasonGradual         Reason = "Gradual"
	ReasonStrategyUnknown Reason = "StrategyUnknown"
	ReasonFinished        Reason = "Finished"
	ReasonDeleting        Reason = "Deleting"
	ReasonRevisionUnknown Reason = "RevisionUnknown"
	ReasonCurrent         Reason = "Current"
	ReasonNewer           Reason = "Newer"
	ReasonSameTemplate    Reason = "SameTemplate"
	ReasonPodsUnknown     Reason = "PodsUnknown"
	ReasonStarted         Reason = "Started"
	ReasonOutdated        Reason = "Outdated" // the only one that deletes
)

var texts = map[Reason]string{
	ReasonGradual:         "outdated Jobs may finish",
	ReasonStrategyUnknown: "the rollout strategy is unknown",
	ReasonFinished:        "it has finished",
	ReasonDeleting:        "it is being deleted",
	ReasonRevisionUnknown: "its revision or the current one is unknown",
	ReasonCurrent:         "it has the current revision",
	ReasonNewer:           "it has a newer revision than was read",
	ReasonSameTemplate:    "the Job template has not changed",
	ReasonPodsUnknown:     "drain needs to know the pods; watch them, or use immediate or gradual",
	ReasonStarted:         "a pod of it has started, or may have",
	ReasonOutdated:        "it is outdated",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// Decide returns whether the policy deletes the observed Job. It does not depend on other Jobs.
func Decide(p Policy, o Observation) Decision {
	reason := cmp.Or(p.exemption(&o.Job), p.compare(o.Job.Revision, o.Current), p.hold(&o), ReasonOutdated)
	return Decision{reason == ReasonOutdated, reason}
}

// exemption returns why the Job is kept whatever its revision, or "".
func (p Policy) exemption(j *Job) Reason {
	switch {
	case p.Strategy == Gradual:
		return ReasonGradual
	case p.Strategy > Drain:
		return ReasonStrategyUnknown
	case j.Finished:
		return ReasonFinished
	case j.Deleting:
		return ReasonDeleting
	}
	return ""
}

// compare returns why a Job of the revision is not outdated, or "".
func (p Policy) compare(revision, current Revision) Reason {
	switch {
	case revision.Generation <= 0, current.Generation <= 0:
		return ReasonRevisionUnknown
	case revision.Generation == current.Generation:
		return ReasonCurrent
	case revision.Generation > current.Generation:
		return ReasonNewer
	case p.EveryEdit:
		return ""
	case revision.TemplateHash == "", current.TemplateHash == "":
		return ReasonRevisionUnknown
	case revision.TemplateHash == current.TemplateHash:
		return ReasonSameTemplate
	}
	return ""
}

// hold returns why an outdated Job stays, or "".
func (p Policy) hold(o *Observation) Reason {
	switch {
	case p.Strategy != Drain || o.Job.NeverStarted:
		return ""
	case o.PodsUnknown:
		return ReasonPodsUnknown
	}
	return ReasonStarted
}
