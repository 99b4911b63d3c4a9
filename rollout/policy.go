package rollout

import "fmt"

// Strategy is what happens to old Jobs. The zero value deletes none, and neither
// does a value that has no name here.
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
// other name, the empty one included, is an error that lists the known ones.
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
// propagation policies. The zero value deletes them after the Job. Only under
// Foreground is there a Job to count for as long as its pods run.
type Propagation uint8

const (
	Background Propagation = iota // the Job goes at once, its pods after it
	Foreground                    // the Job stays, terminating, until its pods are gone
	Orphan                        // the Job goes, its pods stay
)

var propagations = [...]string{"background", "foreground", "orphan"}

// String returns the name that manifests use.
func (p Propagation) String() string { return text(propagations[:], "Propagation", uint8(p)) }

// ParsePropagation returns the propagation of that name. Any other name, the
// empty one included, is an error that lists the known ones.
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
// nothing. Propagation does not bear on what is chosen; it is for whoever deletes.
type Policy struct {
	Strategy     Strategy
	Propagation  Propagation
	TemplateOnly bool // only a changed Job template makes a Job old
}

// DefaultPolicy is that of a manifest that says nothing: immediate, background,
// any change of the spec.
func DefaultPolicy() Policy { return Policy{Strategy: Immediate} }
