package strategy

import (
	"fmt"
	"strings"
)

// A Load is what a strategy knows of a queue and of the Jobs that serve it, all
// of them counts of Jobs. It makes sense when 0 <= Stuck <= Pending <= Running,
// and Target and Max are not negative; [Load.Normalize] makes any Load so. The
// zero value is an empty queue that may have no Jobs.
type Load struct {
	Target  int64 // T: Jobs that would serve the queue
	Running int64 // R: Jobs that have not finished, pending ones included
	Pending int64 // P: the part of Running of which no pod has started
	Stuck   int64 // S: the part of Pending that has waited for a grace period
	Max     int64 // M: the most Jobs that the queue may have; MaxInt64 is no limit
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
// Propose must be pure: equal loads get equal proposals. It may answer with any
// number; callers bound it, and take a negative one as 0. A Strategy that also
// has a String method is named by it in explanations.
type Strategy interface {
	Propose(Load) int64
}

// TargetIsTotal reports whether s reads the target as all the Jobs that should
// run, and not as those to add to them: whether its TargetIsTotal method, if it
// has one, says so. Only such a strategy can be given a minimum as a floor under
// its target; the others would add the minimum again on every poll.
func TargetIsTotal(s Strategy) bool {
	t, ok := s.(interface{ TargetIsTotal() bool })
	return ok && t.TargetIsTotal()
}

// The shortest Propose methods are marked noinline. Inlined into the wrapper
// through which an interface calls a method of a value, they would copy the Load
// that has just been written there, and take three times as long.

// Func makes a Strategy of a plain function.
type Func func(Load) int64

// Propose calls f.
func (f Func) Propose(l Load) int64 { return f(l) }

// Default proposes T - R: a Job for each one that the queue asks for and that
// does not run yet. It suits metrics that include the work in progress; where
// they leave it out it starves, because each running Job is subtracted from
// items that it does not hold.
type Default struct{}

// TargetIsTotal is true: running Jobs are subtracted from the target.
func (Default) TargetIsTotal() bool { return true }

// Propose returns T - R.
//
//go:noinline
func (Default) Propose(l Load) int64 { return sub(l.Target, l.Running) }

// String returns the name and the formula.
func (Default) String() string { return "default: T - R" }

// Accurate proposes T - P, or M - R where T + R is more than M. It suits metrics
// that leave the work in progress out; where they include it, it creates Jobs
// for items that are being worked on.
//
// It is not monotone, because the second branch does not subtract P. At
// T=2 R=2 P=2 M=4 it proposes 0; with one more running (R=3) 1, and with a
// smaller maximum (M=3) 1 as well: TestBrokenLaws. The documented
// formula is kept as it is; SubtractPending is the way out.
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

// Eager proposes min(M - R - P, T): as many Jobs as the queue asks for whatever
// runs, as long as there is room. Pending Jobs are part of R and are subtracted
// once more, so that it does not fill up to M while Jobs are starting.
type Eager struct{}

// Propose returns min(M - R - P, T).
//
//go:noinline
func (Eager) Propose(l Load) int64 {
	return min(sub(sub(l.Max, l.Running), l.Pending), l.Target)
}

// String returns the name and the formula.
func (Eager) String() string { return "eager: min(M - R - P, T)" }

// PendingAware proposes min(max(0, T - R + S), max(0, M - R)): what Default
// does, and a replacement for each stuck Job, within the room that is left.
// Where the ages of pending Jobs are not known, give S = P.
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

// Parse returns the strategy of that name, spelled exactly as in [Names];
// "basic" is another name of "default". An unknown name, the empty one
// included, is a [*NameError]. So is "custom", which needs its parameters:
// see [NewCustom].
func Parse(name string) (Strategy, error) {
	switch name {
	case "default", "basic":
		return Default{}, nil
	case "accurate":
		return Accurate{}, nil
	case "eager":
		return Eager{}, nil
	case "pendingAware":
		return PendingAware{}, nil
	}
	return nil, &NameError{Name: name}
}

// A NameError says that no strategy can be made of a name alone.
type NameError struct {
	Name string // as it was given
}

// Error lists the known names, or says what "custom" needs.
func (e *NameError) Error() string {
	if e.Name == "custom" {
		return `strategy "custom" cannot be made of its name alone: it needs a running job percentage`
	}
	return fmt.Sprintf("unknown strategy %q: want one of %s (or basic, which is default)",
		e.Name, strings.Join(Names(), ", "))
}
