package schedule

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// ValidateDependencies returns an error if jobs depend on each other in a cycle. The
// argument holds the dependencies of each job by name; a missing job has none. The error
// joins a [*CycleError] for each cycle found. If there are cycles, it names at least one.
// Outcomes are ignored.
// Without cycles, the cost is linear in the jobs and dependencies, apart from sorting.
func ValidateDependencies(after map[string][]Dependency) error {
	var path []string
	var problems []error
	place := map[string]int{} // of a job on the path, from 1; 0 before its visit, -1 after it
	var visit func(string)
	visit = func(job string) {
		switch at := place[job]; {
		case at > 0:
			first := slices.Index(path, slices.Min(path[at-1:]))
			problems = append(problems, &CycleError{slices.Concat(path[first:], path[at-1:first])})
			return
		case at < 0:
			return
		}
		path = append(path, job)
		place[job] = len(path)
		var before []string
		for _, d := range after[job] {
			before = append(before, d.Job)
		}
		slices.Sort(before)
		for _, other := range slices.Compact(before) {
			visit(other)
		}
		path = path[:len(path)-1]
		place[job] = -1
	}
	for _, job := range slices.Sorted(maps.Keys(after)) {
		visit(job)
	}
	return errors.Join(problems...)
}

// A CycleError is a dependency cycle: runs would cause runs forever.
type CycleError struct {
	Jobs []string // each depends on the next, and the last on the first; the first has the smallest name
}

// Error names the jobs of the cycle, and the first job again at the end.
func (e *CycleError) Error() string {
	return "jobs come after one another: " + strings.Join(append(slices.Clone(e.Jobs), e.Jobs[0]), " after ")
}
