package taint

import (
	"cmp"
	"slices"
	"time"
)

// A Workload is the class and size of Jobs. The class "" is a class like every other.
type Workload struct {
	Class string `json:"class,omitempty"`
	Size  int32  `json:"size"`
}

// A Path is how workloads get to a cluster: with another priority it is another
// path, and taints of the old path do not count for it.
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

// A Set has entries in the order of path, class and size. Each excludes something that the
// others do not. The zero value excludes nothing. [Merge] returns a Set of any entries.
//
// Among the entries of the same path and class, a larger size has a later end. Merge leaves
// an entry out if another has its size or a smaller size, and ends then or later.
type Set []Entry

// Merge returns the set of all exclusions of the sets. It shares no memory with them.
func Merge(sets ...Set) Set {
	entries := slices.Concat(sets...)
	for i := range entries {
		entries[i].Until = end(entries[i].Until, 0)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.comparePath(b), cmp.Compare(a.Size, b.Size), b.Until.Compare(a.Until))
	})
	merged := entries[:0]
	for _, e := range entries {
		// The entries before have the same size or a smaller size, and the last of
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

// At returns the entries that have not ended at that time.
func (s Set) At(now time.Time) Set {
	var live Set
	for _, e := range s {
		if now.Before(e.Until) {
			live = append(live, e)
		}
	}
	return live
}

// Excludes reports whether a workload must not take a path at that time. An
// exclusion at a size holds for every larger size.
func (s Set) Excludes(w Workload, p Path, now time.Time) bool {
	for _, e := range s {
		excludes := e.Class == w.Class && e.Size <= w.Size
		if excludes && e.Path == p && now.Before(e.Until) {
			return true
		}
	}
	return false
}
