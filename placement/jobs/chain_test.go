package jobs_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A link is a Job of a chain.
type link struct {
	jobs.Job
	reach                              jobs.Reach
	outdated, stays, duplicate, pruned bool
}

// chainsOf returns the chains of a fleet, each with the source first.
func chainsOf(f *fleet, d jobs.Decision) map[string][]link {
	deferred := map[string]*bool{}
	for _, x := range d.Outdated {
		deferred[x.UID] = new(x.Deferred)
	}
	chains := map[string][]link{}
	for i := range f.Clusters {
		for _, j := range f.Clusters[i].Jobs {
			l := link{Job: j, reach: f.Clusters[i].Reach, outdated: deferred[j.UID] != nil}
			l.stays = !j.Deleting && j.Phase <= jobs.Pending && (!l.outdated || *deferred[j.UID])
			l.duplicate = slices.ContainsFunc(d.Duplicates, func(x jobs.Deletion) bool { return x.UID == j.UID })
			l.pruned = slices.ContainsFunc(d.Finished, func(x jobs.Deletion) bool { return x.UID == j.UID })
			of := cmp.Or(j.Replaces.UID, j.UID)
			chains[of] = append(chains[of], l)
		}
	}
	for _, c := range chains {
		slices.SortFunc(c, func(a, b link) int { return cmp.Compare(attempt(&a.Job), attempt(&b.Job)) })
	}
	return chains
}

// attempt returns the number of a replacement; a Job that names itself is a source.
func attempt(j *jobs.Job) int32 {
	if j.Replaces.UID == j.UID {
		return 0
	}
	return j.Replaces.Attempt
}

// superfluous reports whether a Job of a chain is superfluous beside another Job of it, of
// which newer tells whether it is the newer one.
func superfluous(policy jobs.Duplication, j, other *link, newer bool) bool {
	runs := other.stays && other.Phase == jobs.Running && other.reach == jobs.Reachable
	switch policy {
	case jobs.PreferFailover:
		return newer && (runs || other.Phase == jobs.Succeeded && j.Phase == jobs.Pending)
	case jobs.PreferSource:
		return !newer && (runs || other.Phase == jobs.Succeeded && j.Phase == jobs.Pending)
	case jobs.ImmediateSourceCleanup:
		return newer && (other.Phase == jobs.Succeeded || other.stays && !other.Unconfirmed)
	}
	return false
}

// A Job is deleted as a duplicate if and only if another Job of its chain makes it superfluous,
// and never the last of a chain: a Job of it stays, or one has succeeded. A success that makes a
// Job superfluous is not deleted with it.
func TestChains(t *testing.T) {
	deleted, pruned := map[jobs.Duplication]int{}, 0
	for range 10 { // duplicates are rare
		rapid.Check(t, func(t *rapid.T) {
			f := drawFleet(t)
			policy := f.Failover.Duplication
			for source, chain := range chainsOf(f, f.plan()) {
				left, gone, succeeded := 0, 0, 0
				for i := range chain {
					j := &chain[i]
					want := false
					for k := range chain {
						want = want || k != i && superfluous(policy, j, &chain[k], k > i)
					}
					live := !j.Deleting && j.Phase <= jobs.Pending && !j.outdated
					require.Equal(t, want && live, j.duplicate, "%s: %s of chain %s: %+v", policy, j.UID, source, chain)
					switch {
					case j.duplicate:
						gone++
						deleted[policy]++
					case j.Phase == jobs.Succeeded && j.pruned:
						succeeded++
					case j.stays, j.Phase == jobs.Succeeded:
						left++
					}
				}
				pruned += succeeded
				require.True(t, gone == 0 || succeeded == 0, "the deletion may fail: %s: chain %s: %+v", policy, source, chain)
				require.True(t, gone == 0 || left > 0, "%s: chain %s: %+v", policy, source, chain)
			}
		})
	}
	require.Zero(t, deleted[""])
	require.Greater(t, pruned, 20)
	for _, policy := range []jobs.Duplication{jobs.PreferFailover, jobs.PreferSource, jobs.ImmediateSourceCleanup} {
		require.Greater(t, deleted[policy], 5, policy)
	}
}
