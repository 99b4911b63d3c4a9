package member

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
)

// An owner is what a member notes about one, beside its Jobs.
type owner struct {
	told   uint64                             // failures of the member's that have been
	failed [placement.CreateRejected + 1]bool // its own requests that have, since
	ran    map[types.UID]time.Time            // Jobs that ran, and when they were first seen not to any more
}

var phases = map[adapter.Phase]placement.Phase{
	adapter.Running:     placement.Running,
	adapter.Pending:     placement.Pending,
	adapter.Suspended:   placement.Suspended,
	adapter.Terminating: placement.Terminating,
	adapter.Succeeded:   placement.Succeeded,
	adapter.Failed:      placement.Failed,
}

// observe returns what is known of the owner's Jobs, and the failures that have not
// been told.
func (c *Cluster) observe(uid types.UID, now time.Time) (placement.JobCluster, []placement.Failure) {
	seen := placement.JobCluster{Name: c.name, ID: c.options.ID, Reachable: c.health.answers()}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[uid]
	if o == nil {
		return seen, nil
	}
	seen.Known = c.tracker.View(uid, func(f *adapter.Fleet) { seen.Jobs = o.see(f, seen.Reachable, now) })
	return seen, o.tell(c.name, c.health.failures())
}

// see returns the Jobs as placement knows them, by name.
func (o *owner) see(f *adapter.Fleet, reachable bool, now time.Time) []placement.Job {
	unseen := f.Unseen()
	jobs := make([]placement.Job, 0, f.Len()+len(unseen))
	ran := 0
	for j := range f.All() {
		jobs = append(jobs, o.job(&j, now))
		if _, ok := o.ran[j.UID]; ok {
			ran++
		}
	}
	if ran < len(o.ran) {
		o.forgetAllBut(jobs)
	}
	for _, j := range unseen {
		jobs = append(jobs, flying(&j, reachable))
	}
	slices.SortFunc(jobs, func(a, b placement.Job) int { return cmp.Compare(a.Name, b.Name) })
	return jobs
}

// job is a Job that the cache shows. A Pending one waits since it was created or
// resumed or, if it has run since, since it was first seen not to: after a restart,
// that is seen anew.
func (o *owner) job(j *adapter.Job, now time.Time) placement.Job {
	job := translate(j)
	since, ran := o.ran[j.UID]
	switch j.Phase {
	case adapter.Running:
		if !ran || !since.IsZero() {
			o.ran[j.UID] = time.Time{}
		}
	case adapter.Pending:
		if (ran || j.Ran) && since.IsZero() {
			since = now
			o.ran[j.UID] = now
		}
		if since.After(job.PendingSince) {
			job.PendingSince = since
		}
	}
	return job
}

// forgetAllBut forgets which Jobs ran that are not there any more.
func (o *owner) forgetAllBut(jobs []placement.Job) {
	there := make(map[types.UID]time.Time, len(jobs))
	for i := range jobs {
		uid := types.UID(jobs[i].UID)
		if since, ok := o.ran[uid]; ok {
			there[uid] = since
		}
	}
	o.ran = there
}

// flying is a Job that the cache does not show. One that may not exist is known by
// its name, which no other has. Where the member cannot show it, it is as pending as
// the others there.
func flying(j *adapter.Job, reachable bool) placement.Job {
	job := translate(j)
	if job.UID == "" {
		job.UID, job.Unconfirmed = j.Name, true
	}
	if job.Phase == placement.Pending && reachable {
		job.Phase = placement.InFlight
	}
	return job
}

func translate(j *adapter.Job) placement.Job {
	job := placement.Job{
		Name: j.Name, UID: string(j.UID), Phase: phases[j.Phase], Replaces: j.Replaces, Deleting: j.Deleting,
		Finished: j.Finished, Revision: j.Revision, NeverStarted: j.NeverRan,
	}
	if j.Phase == adapter.Pending {
		job.PendingSince = j.Since
	}
	return job
}

// tell returns the failures that have not been told: the owner's, and the
// member's, of which there have been so many.
func (o *owner) tell(cluster string, failed uint64) (told []placement.Failure) {
	if failed > o.told {
		o.told, o.failed[placement.CallFailed] = failed, true
	}
	for kind, failed := range o.failed {
		if failed {
			told = append(told, placement.Failure{Cluster: cluster, Kind: placement.FailureKind(kind)})
		}
	}
	clear(o.failed[:])
	return told
}

// identify replaces names by UIDs, in what Jobs replace, where the name was all that
// was known of a Job when it was replaced. It returns those names, by UID: what replaces
// such a Job later is to name it likewise, since one day only its name will be left.
func identify(clusters []placement.JobCluster) (names map[string]string) {
	sources := map[string]string{}
	each(clusters, func(j *placement.Job) {
		if j.Replaces.UID != "" {
			sources[j.Replaces.UID] = ""
		}
	})
	if len(sources) == 0 {
		return nil
	}
	each(clusters, func(j *placement.Job) {
		if _, ok := sources[j.Name]; ok {
			sources[j.Name] = j.UID
		}
	})
	each(clusters, func(j *placement.Job) {
		if uid := sources[j.Replaces.UID]; uid != "" {
			if uid != j.Replaces.UID {
				if names == nil {
					names = map[string]string{}
				}
				names[uid] = j.Replaces.UID
			}
			j.Replaces.UID = uid
		}
	})
	return names
}

func each(clusters []placement.JobCluster, do func(*placement.Job)) {
	for i := range clusters {
		for k := range clusters[i].Jobs {
			do(&clusters[i].Jobs[k])
		}
	}
}
