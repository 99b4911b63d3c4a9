package taint

import (
	"cmp"
	"slices"
	"time"
)

// A Workload is what taints of a [Set] tell apart. The class "" is one like every
// other.
type Workload struct {
	Class string `json:"class,omitempty"`
	Size  int32  `json:"size"`
}

// A Path is how workloads get to a cluster: with another priority it is another
// path, and what was found out about the old one does not count for it.
type Path struct {
	Cluster  string `json:"cluster"`
	Priority int32  `json:"priority"`
}

// An Entry excludes from a path, until a time, all workloads of the class that are
// at least of the size.
type Entry struct {
	Path
	Workload
	Until time.Time `json:"until"`
}

// A Set is entries of which each excludes something that the others do not, in the
// order of path, class, size. The zero value excludes nothing. [Merge] makes one
// of any entries.
//
// Of the entries for one path and class, a larger size has a later end: an entry
// is left out if another has its size or a smaller one, and ends then or later.
type Set []Entry

// Merge is the set that excludes what any of the sets does. It shares no memory
// with them.
func Merge(sets ...Set) Set {
	all := slices.Concat(sets...)
	for i := range all {
		all[i].Until = end(all[i].Until, 0)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(a.comparePath(b), cmp.Compare(a.Size, b.Size), b.Until.Compare(a.Until))
	})
	merged := all[:0]
	for _, e := range all {
		// The entries before have the same size or a smaller one, and the last of
		// them ends latest.
		if n := len(merged); n > 0 && merged[n-1].comparePath(e) == 0 && !e.Until.After(merged[n-1].Until) {
			continue
		}
		merged = append(merged, e)
	}
	return slices.Clip(merged)
}

func (e Entry) comparePath(o Entry) int {
	return cmp.Or(cmp.Compare(e.Cluster, o.Cluster), cmp.Compare(e.Priority, o.Priority), cmp.Compare(e.Class, o.Class))
}

// At is the set without what has ended at that time.
func (s Set) At(now time.Time) Set {
	var live Set
	for _, e := range s {
		if now.Before(e.Until) {
			live = append(live, e)
		}
	}
	return live
}

// Excludes reports whether a workload must not take a path at that time. What is
// excluded at a size is excluded at every larger one (FuzzExcludes).
func (s Set) Excludes(w Workload, p Path, now time.Time) bool {
	for _, e := range s {
		if e.Path == p && e.Class == w.Class && e.Size <= w.Size && now.Before(e.Until) {
			return true
		}
	}
	return false
}
