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
}

type chains []chain

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

// link finds the chains.
func (f *fleet) link() (all chains) {
	index := map[string]int32{}
	for i := range f.jobs {
		j := &f.jobs[i]
		if j.Replaces.UID == "" {
			continue
		}
		at, ok := index[j.Replaces.UID]
		if !ok {
			at = int32(len(all))
			index[j.Replaces.UID] = at
			all = append(all, chain{})
		}
		all[at].attempts = max(all[at].attempts, j.attempt())
	}
	if len(all) == 0 {
		return nil
	}
	linked, size := 0, make([]int32, len(all))
	for i := range f.jobs {
		if at, ok := index[f.jobs[i].source()]; ok {
			f.jobs[i].chain = at
			size[at]++
			linked++
		}
	}
	memory := make([]int32, linked)
	for i, n := range size {
		all[i].jobs, memory = memory[:0:n], memory[n:]
	}
	for i := range f.jobs {
		if at := f.jobs[i].chain; at >= 0 {
			all[at].jobs = append(all[at].jobs, int32(i))
		}
	}
	for i := range all {
		slices.SortFunc(all[i].jobs, func(a, b int32) int {
			return cmp.Or(cmp.Compare(f.jobs[a].attempt(), f.jobs[b].attempt()), f.compare(a, b))
		})
	}
	return all
}

// duplicates returns the Jobs that the duplication policy deletes, in order.
func (f *fleet) duplicates() (chosen []int32) {
	if !f.replaces() {
		return nil
	}
	for i := range f.chains {
		for _, k := range f.surplus(f.chains[i].jobs) {
			if j := &f.jobs[k]; j.live() && !j.deleted {
				chosen = append(chosen, k)
			}
		}
	}
	slices.SortFunc(chosen, f.compare)
	return chosen
}

// surplus returns the Jobs of a chain that another Job of the chain makes superfluous.
//
//	preferFailover          Jobs older than the newest that runs; pending ones older than
//	                        the newest replacement that has succeeded
//	preferSource            Jobs newer than the oldest that runs
//	immediateSourceCleanup  Jobs older than the newest that exists or has succeeded
//
// A replacement that has succeeded has run, also if no poll saw it run.
func (f *fleet) surplus(jobs []int32) (chosen []int32) {
	newest := func(is func(*job) bool) int {
		for i := len(jobs) - 1; i > 0; i-- {
			if is(&f.jobs[jobs[i]]) {
				return i
			}
		}
		return 0
	}
	succeeded := func(j *job) bool { return j.Phase == Succeeded }
	switch f.Failover.Duplication {
	case PreferFailover:
		runs := newest(f.runs)
		chosen = append(chosen, jobs[:runs]...)
		for _, i := range jobs[runs:max(runs, newest(succeeded))] {
			if f.jobs[i].Phase == Pending {
				chosen = append(chosen, i)
			}
		}
	case PreferSource:
		if i := slices.IndexFunc(jobs, func(i int32) bool { return f.runs(&f.jobs[i]) }); i >= 0 {
			chosen = jobs[i+1:]
		}
	case ImmediateSourceCleanup:
		chosen = jobs[:newest(func(j *job) bool { return succeeded(j) || j.stays() && !j.Unconfirmed })]
	}
	return chosen
}

// runs reports whether the Job runs, on a cluster that is reachable.
func (f *fleet) runs(j *job) bool {
	return j.stays() && j.Phase == Running && f.members[j.member].Reach == Reachable
}

// A stuckJob is a Job to replace.
type stuckJob struct {
	since       int64 // PendingSince
	job, member int32
}

// stuckJobs returns the Jobs to replace, the longest pending first: the newest of each
// chain, if all Jobs of the chain that stay are stuck.
func (f *fleet) stuckJobs() []stuckJob {
	n := 0
	for i := range f.members {
		n += int(f.members[i].counts.Stuck)
	}
	all := make([]stuckJob, 0, n)
	for i := range f.jobs {
		if j := &f.jobs[i]; j.stuck && j.stays() && (j.chain < 0 || f.newest(int32(i))) {
			all = append(all, stuckJob{j.PendingSince.UnixNano(), int32(i), j.member})
		}
	}
	slices.SortFunc(all, func(a, b stuckJob) int {
		if c := cmp.Compare(a.since, b.since); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.member, b.member), strings.Compare(f.jobs[a.job].UID, f.jobs[b.job].UID))
	})
	return all
}

// newest reports whether the Job is the newest of its chain that stays, and all that
// stay are stuck.
func (f *fleet) newest(i int32) bool {
	last := int32(-1)
	for _, k := range f.chains[f.jobs[i].chain].jobs {
		switch j := &f.jobs[k]; {
		case !j.stays():
		case !j.stuck:
			return false
		default:
			last = k
		}
	}
	return last == i
}
