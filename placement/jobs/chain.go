package jobs

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A chain is a Job and its replacements. A Job without a replacement has no chain.
type chain struct {
	jobs     []int32 // all of them, the source first, then by attempt
	attempts int32   // the highest attempt
	surplus  bool    // a superfluous Job is not deleted yet
}

// source returns the UID of the first Job of the Job's chain, which may be its own.
func (j *Job) source() string { return cmp.Or(j.Replaces.UID, j.UID) }

// attempt returns 0 for the source, and at least 1 for a replacement. The next attempt
// does not overflow.
func (j *Job) attempt() int32 {
	if j.Replaces.UID == "" || j.Replaces.UID == j.UID {
		return 0
	}
	return min(max(1, j.Replaces.Attempt), math.MaxInt32-1)
}

// link finds the chains. A report of a cluster about its Jobs concerns its own: a UID that another
// cluster has too is another Job's.
func (f *fleet) link() {
	f.chains = make([]chain, 1)
	chainBySource := map[string]int32{} // by the UID of the source
	for i := range f.jobs {
		j := &f.jobs[i]
		if j.Replaces.UID == "" {
			continue
		}
		if chainBySource[j.Replaces.UID] == 0 {
			chainBySource[j.Replaces.UID] = int32(len(f.chains))
			f.chains = append(f.chains, chain{})
		}
		j.chain = chainBySource[j.Replaces.UID]
		f.chains[j.chain].attempts = max(f.chains[j.chain].attempts, j.attempt())
	}
	for i := range f.jobs {
		j := &f.jobs[i]
		if source := chainBySource[j.UID]; source > 0 {
			delete(chainBySource, j.UID)
			if j.Replaces.UID == "" {
				j.chain = source
			}
		}
		if j.chain > 0 {
			f.chains[j.chain].jobs = append(f.chains[j.chain].jobs, int32(i))
		}
	}
	for _, c := range f.chains {
		slices.SortFunc(c.jobs, func(a, b int32) int {
			return cmp.Or(cmp.Compare(f.jobs[a].attempt(), f.jobs[b].attempt()), f.compare(a, b))
		})
	}
}

// duplicates returns the Jobs that the duplication policy deletes, in order.
func (f *fleet) duplicates() []int32 {
	if !f.replaces() {
		return nil
	}
	for i := range f.chains {
		c := &f.chains[i]
		f.mark(c.jobs)
		c.surplus = slices.ContainsFunc(c.jobs, func(k int32) bool { return f.jobs[k].surplus && f.jobs[k].live() })
	}
	return f.choose(func(j *job) bool { return j.surplus && j.live() && !j.deleted })
}

// mark marks the Jobs of a chain that another Job of the chain makes superfluous.
//
//	preferFailover          Jobs older than the newest that runs; pending ones older than
//	                        the newest that has succeeded
//	preferSource            Jobs newer than the oldest that runs; pending ones newer than
//	                        the oldest that has succeeded
//	immediateSourceCleanup  Jobs older than the newest that exists or has succeeded
func (f *fleet) mark(jobs []int32) {
	if f.Failover.Duplication != PreferSource {
		jobs = slices.Clone(jobs)
		slices.Reverse(jobs)
	}
	switch f.Failover.Duplication {
	case PreferFailover, PreferSource:
		f.markAfter(jobs, f.runs)
	case ImmediateSourceCleanup:
		f.markAfter(jobs, func(j *job) bool { return j.Phase == Succeeded || (j.stays() && !j.Unconfirmed) })
	}
}

// markAfter marks the Jobs after the first that is preferred, and the pending Jobs after the
// first that has succeeded.
func (f *fleet) markAfter(jobs []int32, preferred func(*job) bool) {
	preferredBefore, succeededBefore := false, false
	for _, i := range jobs {
		j := &f.jobs[i]
		j.surplus = preferredBefore || (succeededBefore && j.Phase == Pending)
		preferredBefore, succeededBefore = preferredBefore || preferred(j), succeededBefore || j.Phase == Succeeded
	}
}

// runs reports whether the Job runs, on a cluster that is reachable.
func (f *fleet) runs(j *job) bool {
	return j.stays() && j.Phase == Running && f.members[j.member].Reach == Reachable
}

// A stuckJob is a Job to replace.
type stuckJob struct {
	job
	since int64 // PendingSince
}

// stuckJobs returns the Jobs to replace, the longest pending first: the newest of each
// chain, if all Jobs of the chain that stay are stuck or lost.
func (f *fleet) stuckJobs() []stuckJob {
	counts, _ := f.total()
	candidates := make([]stuckJob, 0, counts.Stuck)
	add := func(j *job) {
		pendingSince := j.PendingSince
		if pendingSince.IsZero() {
			pendingSince = f.members[j.member].Since
		}
		candidates = append(candidates, stuckJob{*j, pendingSince.UnixNano()})
	}
	for i := range f.jobs {
		if j := &f.jobs[i]; j.chain == 0 && j.stays() && j.fails() {
			add(j)
		}
	}
	for i := range f.chains {
		if j := f.newest(f.chains[i].jobs); j != nil {
			add(j)
		}
	}
	slices.SortFunc(candidates, func(a, b stuckJob) int {
		if c := cmp.Compare(a.since, b.since); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.member, b.member), strings.Compare(a.UID, b.UID))
	})
	return candidates
}

// fails reports whether the Job is stuck or lost.
func (j *job) fails() bool { return j.stuck || j.lost }

// newest returns the newest Job of a chain that stays, if all that stay are stuck or lost.
func (f *fleet) newest(jobs []int32) (last *job) {
	for _, k := range jobs {
		if j := &f.jobs[k]; j.stays() {
			if !j.fails() {
				return nil
			}
			last = j
		}
	}
	return last
}
