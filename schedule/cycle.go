package schedule

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// ValidateDependencies returns an error if jobs depend on each other in a cycle. The
// argument holds the dependencies of each job by name; a missing job has none. The error
// joins a [*CycleError] for each cycle found. If there are cycles, it names at least one.
// Outcomes are ignored.
// The cost is linear in the jobs and dependencies, apart from sorting.
func ValidateDependencies(after map[string][]Dependency) error {
	w := walk{after: after, place: map[string]int{}}
	for _, job := range slices.Sorted(maps.Keys(after)) {
		w.visit(job)
	}
	return errors.Join(w.problems...)
}

// A CycleError is a dependency cycle, in which runs would cause runs forever.
type CycleError struct {
	Jobs []string // each depends on the next, and the last on the first; the first has the smallest name
}

// Error names the jobs of the cycle, and the first job again at the end.
func (e *CycleError) Error() string {
	return "jobs come after one another: " + strings.Join(append(slices.Clone(e.Jobs), e.Jobs[0]), " after ")
}

// A walk follows dependencies. It visits each job once.
type walk struct {
	after    map[string][]Dependency
	path     []string
	place    map[string]int // of a job on the path, from 1; 0 before its visit, -1 after it
	problems []error
}

func (w *walk) visit(job string) {
	switch place := w.place[job]; {
	case place > 0:
		w.problems = append(w.problems, ring(w.path[place-1:]))
		return
	case place < 0:
		return
	}
	w.path = append(w.path, job)
	w.place[job] = len(w.path)
	before := slices.SortedFunc(slices.Values(w.after[job]), func(a, b Dependency) int { return cmp.Compare(a.Job, b.Job) })
	for _, d := range slices.CompactFunc(before, func(a, b Dependency) bool { return a.Job == b.Job }) {
		w.visit(d.Job)
	}
	w.path = w.path[:len(w.path)-1]
	w.place[job] = -1
}

// ring begins a cycle with its smallest name.
func ring(path []string) *CycleError {
	first := slices.Index(path, slices.Min(path))
	return &CycleError{slices.Concat(path[first:], path[:first])}
}
