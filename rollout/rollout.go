// Package rollout says which unfinished Jobs of an older spec to delete when
// their owner has changed.
//
// A Job is old if it was made from a lower generation of the owner than the
// current one, so that any change of the owner's spec counts. With
// TemplateOnly, its template hash must differ as well, so that only a changed
// Job template does. Unknown is not old: a Job without a generation, or with a
// newer one than the caller has read, and under TemplateOnly one without a hash,
// is never touched. Neither are finished Jobs, which are package history's, nor
// Jobs that are being deleted already.
//
// In a poll, rollout comes before scaling: the Jobs that it deletes are
// terminating in the same decision. While the owner is paused nothing is rolled
// out; that is for the caller to see to.
//
// Choosing takes one pass over the Jobs (BenchmarkChoose).
package rollout

import "fmt"

// Strategy is what happens to old Jobs. The zero value deletes none.
type Strategy uint8

const (
	Gradual   Strategy = iota // let them finish
	Immediate                 // delete them; manifests also say "default"
	Drain                     // delete those of which no pod has ever started
)

var strategies = [...]string{"gradual", "immediate", "drain"}

// String returns the name that manifests use.
func (s Strategy) String() string { return text(strategies[:], "Strategy", uint8(s)) }

// ParseStrategy returns the strategy of that name; "default" is immediate. Any
// other name, the empty one included, is an error.
func ParseStrategy(name string) (Strategy, error) {
	if name == "default" {
		return Immediate, nil
	}
	for i, known := range strategies {
		if name == known {
			return Strategy(i), nil
		}
	}
	return Gradual, fmt.Errorf("unknown rollout strategy %q: want gradual, immediate (or default, which is the same) or drain", name)
}

// Propagation is what happens to the pods of a deleted Job, as in Kubernetes'
// propagation policies. The zero value deletes them after the Job.
type Propagation uint8

const (
	Background Propagation = iota // the Job goes at once, its pods after it
	Foreground                    // the Job goes when its pods are gone
	Orphan                        // the pods stay
)

var propagations = [...]string{"background", "foreground", "orphan"}

// String returns the name that manifests use.
func (p Propagation) String() string { return text(propagations[:], "Propagation", uint8(p)) }

// ParsePropagation returns the propagation of that name. Any other name, the
// empty one included, is an error.
func ParsePropagation(name string) (Propagation, error) {
	for i, known := range propagations {
		if name == known {
			return Propagation(i), nil
		}
	}
	return Background, fmt.Errorf("unknown propagation policy %q: want background, foreground or orphan", name)
}

func text(names []string, kind string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// A Policy is what a manifest says about rollout. The zero value deletes
// nothing. Propagation is handed on to whoever deletes.
type Policy struct {
	Strategy     Strategy
	Propagation  Propagation
	TemplateOnly bool // only a changed Job template makes a Job old
}

// DefaultPolicy is that of a manifest that says nothing: immediate, background.
func DefaultPolicy() Policy { return Policy{Strategy: Immediate} }

// A Revision is what a Job was made from, or would be made from now. The zero
// value is unknown.
type Revision struct {
	Generation   int64  // metadata.generation of the owner, from 1; 0 and below are unknown
	TemplateHash string // of the Job template; "" is unknown
}

// A Job is what the rule needs to know of one. The zero value is of an unknown
// revision, and never chosen.
type Job struct {
	Revision Revision
	// NeverStarted says that no pod of the Job has ever started. Where that is not
	// known it stays false.
	NeverStarted bool
	Finished     bool
	Deleting     bool // has a deletion timestamp
}

// Choose returns the indexes of the Jobs to delete, in their order. It is nil
// when there are none, and always when the current revision is unknown.
func Choose(p Policy, current Revision, jobs []Job) []int {
	if p.Strategy != Immediate && p.Strategy != Drain {
		return nil
	}
	var chosen []int
	for i := range jobs {
		j := &jobs[i]
		if j.Finished || j.Deleting || !p.old(j.Revision, current) {
			continue
		}
		if p.Strategy == Immediate || j.NeverStarted {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// old reports whether a Job of revision r is older than the current one.
func (p Policy) old(r, current Revision) bool {
	if r.Generation <= 0 || r.Generation >= current.Generation {
		return false
	}
	known := r.TemplateHash != "" && current.TemplateHash != ""
	return !p.TemplateOnly || known && r.TemplateHash != current.TemplateHash
}
