package taint

import (
	"maps"
	"time"
)

// Exclusions are taints that exclude, which the owners share: a cluster that is
// excluded for one owner is excluded for all. Soft taints are not shared, because each
// owner observes the same failure. The zero value excludes nothing.
type Exclusions struct {
	Clusters  map[string]time.Time `json:"clusters,omitempty"` // the end of the hard taint, by cluster
	Workloads Set                  `json:"workloads,omitempty"`
}

// Merge returns the exclusions of both. The result shares no memory with them.
func (e Exclusions) Merge(o Exclusions) Exclusions {
	all := Exclusions{Clusters: map[string]time.Time{}, Workloads: Merge(e.Workloads, o.Workloads)}
	for _, from := range []Exclusions{e, o} {
		for name, until := range from.Clusters {
			if until = end(until, 0); until.After(all.Clusters[name]) {
				all.Clusters[name] = until
			}
		}
	}
	return all
}

// At returns the exclusions that have not ended at that time.
func (e Exclusions) At(now time.Time) Exclusions {
	e.Clusters = maps.Clone(e.Clusters)
	maps.DeleteFunc(e.Clusters, func(_ string, until time.Time) bool { return !now.Before(until) })
	e.Workloads = e.Workloads.At(now)
	return e
}

// Harden returns the state with a hard taint until that time, unless it is hard for
// longer already.
func (s State) Harden(until time.Time, now time.Time) State {
	hard := State{Hard, end(until, 0)}.At(now)
	if s = s.At(now); hard.Level == None || s.Level == Hard && !s.Until.Before(hard.Until) {
		return s
	}
	return hard
}
