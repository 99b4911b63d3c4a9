package placement

import (
	"cmp"
	"math"
	"slices"
)

// A Duplication is what to do when a Job and its replacement both exist. The zero
// value is KeepAll, and so is what has no name here. It has an effect only with the
// strategy pendingAware.
type Duplication string

const (
	KeepAll                Duplication = "keepAll"                // both go on
	PreferFailover         Duplication = "preferFailover"         // the source goes once the replacement runs
	PreferSource           Duplication = "preferSource"           // the replacement goes once the source runs
	ImmediateSourceCleanup Duplication = "immediateSourceCleanup" // the source goes once there is a replacement
)

// A link is a Job of a chain, as far as is known.
type link struct{ runs, exists bool }

// surplus returns which generations of a chain to delete, from and to a place in
// it. The links begin with the source.
//
//	preferFailover          those older than the newest that runs
//	preferSource            those newer than the oldest that runs
//	immediateSourceCleanup  those older than the newest that exists
//
// So of the first two one that runs is left wherever one did, of the third one that
// exists, and when what was chosen is gone, nothing more is (FuzzDuplicates).
func (d Duplication) surplus(links []link) (from, to int) {
	newest := func(is func(link) bool) int {
		for i := len(links) - 1; i > 0; i-- {
			if is(links[i]) {
				return i
			}
		}
		return 0
	}
	switch d {
	case PreferFailover:
		return 0, newest(func(l link) bool { return l.runs })
	case PreferSource:
		if i := slices.IndexFunc(links, func(l link) bool { return l.runs }); i >= 0 {
			return i + 1, len(links)
		}
	case ImmediateSourceCleanup:
		return 0, newest(func(l link) bool { return l.exists })
	}
	return 0, 0
}

// A chain is a Job and its replacements. A Job without any has no chain.
type chain struct {
	live     []int // those that stay, the oldest generation first
	attempts int32 // the highest number of a replacement, finished and terminating ones included
}

// chains returns the chains by the UID of their source.
func (f *fleet) chains() map[string]*chain {
	chains := map[string]*chain{}
	for i := range f.jobs {
		source := f.jobs[i].Replaces.UID
		if source == "" {
			continue
		}
		if chains[source] == nil {
			chains[source] = &chain{}
		}
		c := chains[source]
		c.attempts = max(c.attempts, f.jobs[i].attempt(source))
	}
	if len(chains) == 0 {
		return chains
	}
	for i := range f.jobs {
		if c := chains[f.jobs[i].source()]; c != nil && f.jobs[i].stays() {
			c.live = append(c.live, i)
		}
	}
	for source, c := range chains {
		slices.SortFunc(c.live, func(a, b int) int {
			return cmp.Or(cmp.Compare(f.jobs[a].attempt(source), f.jobs[b].attempt(source)), f.compare(a, b))
		})
	}
	return chains
}

// source is the UID of the first Job of the chain that the Job is of, its own where
// it replaces nothing.
func (j *Job) source() string { return cmp.Or(j.Replaces.UID, j.UID) }

// attempt is 0 for the source itself, and at least 1 for a replacement. One more is
// always a number.
func (j *Job) attempt(source string) int32 {
	if j.UID == source {
		return 0
	}
	return min(max(1, j.Replaces.Attempt), math.MaxInt32-1)
}
