package schedule

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// ValidateDependencies returns an error for cycles among jobs, given by name with
// what each comes after: joined, each a [*CycleError]. There is one as soon as a job
// comes after itself, over whatever way (TestCycles); jobs that are not given come
// after none. The cost is linear in the jobs and dependencies, sorting apart.
func ValidateDependencies(after map[string][]Dependency) error {
	w := walk{after: after, place: map[string]int{}}
	for _, job := range slices.Sorted(maps.Keys(after)) {
		w.visit(job)
	}
	return errors.Join(w.problems...)
}

// A CycleError is jobs that come after one another in a ring, so that one run would
// ask for the next for ever.
type CycleError struct {
	Jobs []string // each comes after the next, and the last after the first, whose name is the smallest
}

// Error names the jobs of the ring, the first once more in the end.
func (e *CycleError) Error() string {
	return "jobs come after one another: " + strings.Join(append(slices.Clone(e.Jobs), e.Jobs[0]), " after ")
}

// A walk goes along dependencies, each job once.
type walk struct {
	after    map[string][]Dependency
	path     []string
	place    map[string]int // of a job on the path, from 1; 0 where it has not been visited, -1 where all behind it has
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
