package jobs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// A replayed fleet has its Jobs, which the policy sees only at polls, and only on clusters
// that answer.
type replayed struct {
	*rand.Rand
	policy   jobs.Policy
	clusters []*replayedCluster
	items    int // that no Job has served
	last     int // number of the last Job
	took     []time.Duration
	// How often the states that matter were there.
	replaced, between, restarts int
}

type replayedCluster struct {
	name           string
	jobs           []*replayedJob
	seen           []jobs.Job
	reach          jobs.Reach
	silent, stalls bool      // does not answer; starts no pod
	since          time.Time // that it has been silent
}

type replayedJob struct {
	jobs.Job
	created  time.Time
	runs     time.Time // zero until it does
	duration time.Duration
}

// step lets pods start and Jobs finish until now.
func (r *replayed) step(now time.Time) {
	for _, c := range r.clusters {
		for _, j := range c.jobs {
			if j.Phase == jobs.Pending && !c.stalls && now.Sub(j.created) >= 2*time.Second {
				j.Phase, j.runs = jobs.Running, now
			}
			if j.Phase == jobs.Running && now.Sub(j.runs) >= j.duration {
				j.Phase, j.Finished, j.PendingSince = jobs.Succeeded, now, time.Time{}
				r.items--
				if j.Replaces.UID != "" && j.duration < 30*time.Second {
					r.between++
				}
			}
		}
	}
}

func (r *replayed) unfinished() (n int) {
	for _, c := range r.clusters {
		for _, j := range c.jobs {
			if j.Phase < jobs.Succeeded {
				n++
			}
		}
	}
	return n
}

// restart forgets all but the checkpoint, which is stored as JSON.
func (r *replayed) restart(t *testing.T, before jobs.Checkpoint) (after jobs.Checkpoint) {
	r.restarts++
	for _, c := range r.clusters {
		c.reach, c.seen = jobs.NeverReached, nil
	}
	data, err := json.Marshal(before)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &after))
	return after
}

// poll observes, plans and applies.
func (r *replayed) poll(c jobs.Checkpoint, now time.Time) jobs.Decision {
	s := jobs.Observation{Metrics: []scaling.Metric{{Value: float64(max(0, r.items)), Target: 1}}, Now: now}
	for _, c := range r.clusters {
		switch {
		case !c.silent:
			c.reach, c.seen = jobs.Reachable, nil
			for _, j := range c.jobs {
				c.seen = append(c.seen, j.Job)
			}
		case c.reach == jobs.Reachable:
			c.reach = jobs.Unreachable
		}
		if c.since.IsZero() || !c.silent {
			c.since = now
		}
		s.Clusters = append(s.Clusters, jobs.Cluster{Name: c.name, Reach: c.reach, Jobs: c.seen, Since: c.since})
	}
	d := jobs.Decide(r.policy, s, c)
	gone := map[string]bool{}
	for _, all := range [][]jobs.Deletion{d.Duplicates, d.Finished} {
		for _, x := range all {
			gone[x.UID] = !x.Deferred
		}
	}
	for _, c := range r.clusters {
		kept := c.jobs[:0]
		for _, j := range c.jobs {
			if !gone[j.UID] {
				kept = append(kept, j)
			}
		}
		c.jobs = kept
	}
	for _, p := range d.Create {
		for i := range int(p.Jobs()) {
			source := jobs.Source{}
			if i < len(p.Replacements) {
				source = p.Replacements[i].Source
				r.replaced++
			}
			r.create(p.Cluster, source, now)
		}
	}
	return d
}

func (r *replayed) create(cluster string, source jobs.Source, now time.Time) {
	r.last++
	name := fmt.Sprintf("job-%04d", r.last)
	j := jobs.Job{Name: name, UID: name, Phase: jobs.Pending, PendingSince: now, Created: now, Replaces: source}
	for _, c := range r.clusters {
		if c.name == cluster {
			c.jobs = append(c.jobs, &replayedJob{Job: j, created: now, duration: r.took[r.IntN(len(r.took))]})
			c.seen = append(c.seen, j) // in flight, also if the cluster does not answer the next poll
		}
	}
}

// slotBound is the longest time for which a Job on a cluster that starts no pods occupies
// a slot while another cluster works.
const slotBound = 5 * time.Minute

// Over two hours of failures and restarts and two without, with short and long Jobs: the
// maximum is kept, each failure counts once, no slot is lost for longer than slotBound, and in
// the end every item has been served.
func TestReplay(t *testing.T) {
	replaced, between, restarts, hard, longest := 0, 0, 0, 0, time.Duration(0)
	for seed := range uint64(40) {
		r := &replayed{Rand: rand.New(rand.NewPCG(seed, 1)), policy: jobs.DefaultPolicy()}
		r.policy.Failover.Duplication = []jobs.Duplication{jobs.PreferFailover, jobs.ImmediateSourceCleanup}[seed%2]
		r.policy.FailoverOverMax = seed%5 > 0 // otherwise stuck Jobs hold their slots
		r.policy.Scaling.Bounds.Max = 6
		most := 6
		if r.policy.FailoverOverMax {
			most = 12
		}
		r.took = [][]time.Duration{{10 * time.Second}, {10 * time.Second, 5 * time.Minute}}[seed/2%2]
		for _, name := range []string{"a", "b", "c"} {
			r.clusters = append(r.clusters, &replayedCluster{name: name})
		}
		var c jobs.Checkpoint
		for second := 0; second < 4*3600; second++ {
			now := at(second)
			r.step(now)
			if second%30 != 0 {
				continue
			}
			failing := second < 2*3600
			for _, x := range r.clusters[1:] { // a works all the time
				if r.IntN(20) == 0 || !failing {
					x.stalls = failing && r.IntN(2) == 0
					x.silent = failing && r.IntN(3) == 0
				}
			}
			if failing && r.IntN(40) == 0 {
				c = r.restart(t, c)
			}
			if failing {
				r.items += r.IntN(3)
			}
			d := r.poll(c, now)
			c = d.Checkpoint
			require.LessOrEqual(t, r.unfinished(), most, "seed %d at %d", seed, second)
			for i, x := range r.clusters {
				if d.Members[i].OwnerTaint.Level == taint.Hard {
					hard++
				}
				for _, j := range x.jobs {
					if !x.silent && j.Phase == jobs.Pending && r.policy.FailoverOverMax {
						longest = max(longest, now.Sub(j.created))
						require.LessOrEqual(t, now.Sub(j.created), slotBound, "seed %d at %d: %s on %s", seed, second, j.Name, x.name)
					}
				}
			}
		}
		require.LessOrEqual(t, r.items, 0, "seed %d", seed)
		require.Zero(t, r.unfinished(), "seed %d", seed)
		replaced, between, restarts = replaced+r.replaced, between+r.between, restarts+r.restarts
	}
	t.Logf("%d replacements, %d of them finished between two polls, %d restarts, %d hard taints, a slot lost for %s",
		replaced, between, restarts, hard, longest)
	require.Greater(t, replaced, 300)
	require.Greater(t, between, 100)
	require.Greater(t, restarts, 100)
	require.Greater(t, hard, 300)
}
