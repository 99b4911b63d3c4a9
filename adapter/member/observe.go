package member

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// An Observation holds the Jobs of an owner on all members. [Clusters.Apply]
// carries out the plan that is made from it.
type Observation struct {
	Clusters []jobs.Cluster // by name, with the failures since the previous observation; Jobs in no order
	// Problems are why members are not reachable for this owner, by name: errors of the member, or
	// of the owner's namespace there.
	Problems map[string]error

	owner *owner // nil if it is not tracked
	begin time.Time
	views map[string]view // by member
}

// A view holds the Jobs of a member, as they were observed.
type view struct {
	cluster *Cluster
	listed  bool
	jobs    []adapter.Job
}

// Observe returns the members with the Jobs of a tracked owner, and the failures since the
// previous call for that owner. Each failure is returned once: make a plan of every
// observation. A request that was not answered is returned after the member has passed a health
// check, and not at all if a check has failed: then it is no failure of the owner.
// Observe makes no request. If the owner is not tracked, every member is
// NeverReached.
//
// A member is NeverReached until it tracks the owner and its Jobs have been listed. Then it
// is Reachable if its last health check passed and no list or watch has failed since. While
// a member is unreachable its Jobs are the last observed. If the hub may not list or watch one of
// several namespaces, that is so for the owners of that namespace only. Since and Taint are those of a
// [taint.Fleet] that all owners share.
func (all *Clusters) Observe(owner types.UID) Observation {
	all.mu.Lock()
	all.stopPlans(owner)
	o := Observation{owner: all.owners[owner], begin: time.Now(), Problems: map[string]error{}, views: map[string]view{}}
	all.mu.Unlock()
	for _, c := range all.list() {
		cluster, tracked, problem := c.observe(owner, o.owner)
		if problem != nil {
			o.Problems[c.name] = problem
		}
		cluster.Failures = c.tell(owner)
		o.Clusters = append(o.Clusters, cluster)
		o.views[c.name] = view{c, cluster.Reach != jobs.NeverReached, tracked}
	}
	return o
}

func (c *Cluster) observe(owner types.UID, target *owner) (cluster jobs.Cluster, tracked []adapter.Job, problem error) {
	cluster.Name = c.name
	tracked, listed := c.tracker.Jobs(owner)
	answers, problem := c.health.answersSince(), c.health.problem()
	start := answers // of what it answers, without listing the owner's Jobs
	if target != nil && problem == nil {
		if from, refused := c.health.refusal(target.namespace(c.name)); refused != nil {
			start, problem = from, refused
		}
	}
	switch {
	case listed && !answers.IsZero() && problem == nil:
		cluster.Reach = jobs.Reachable
	case listed:
		cluster.Reach = jobs.Unreachable
	}
	judgement := c.health.judgement()
	if cluster.Taint, cluster.Since = judgement.Taint, judgement.Since; cluster.Reach != jobs.Reachable && !answers.IsZero() && cluster.Since.IsZero() {
		cluster.Since = start
	}
	for i := range tracked {
		cluster.Jobs = append(cluster.Jobs, describe(&tracked[i], cluster.Reach == jobs.Reachable))
	}
	return cluster, tracked, problem
}

var phases = map[adapter.Phase]jobs.Phase{
	adapter.Running:     jobs.Running,
	adapter.Pending:     jobs.Pending,
	adapter.Suspended:   jobs.Pending,
	adapter.Terminating: jobs.Pending,
	adapter.Succeeded:   jobs.Succeeded,
	adapter.Failed:      jobs.Failed,
	adapter.InFlight:    jobs.Pending,
}

// describe returns a Job as package jobs knows it. A suspended Job is never stuck. Nor
// is a Job in flight, unless its member is unreachable: then it is pending since it was
// sent, so that it is replaced after the grace period as the other Jobs there.
func describe(j *adapter.Job, reachable bool) jobs.Job {
	job := jobs.Job{
		Name: j.Name, UID: jobID(j), Phase: phases[j.Phase], PendingSince: j.PendingSince, Created: j.Created, Replaces: source(j),
		Deleting: j.Deleting || j.Phase == adapter.Terminating, Finished: j.Finished, Revision: j.Revision, NeverStarted: j.NeverStarted,
	}
	switch {
	case j.Phase == adapter.InFlight && !reachable:
		job.PendingSince = j.Created
	case j.Phase != adapter.Pending:
		job.PendingSince = time.Time{}
	}
	job.Unconfirmed = j.Phase == adapter.InFlight && j.UID == ""
	return job
}

// jobID returns the identity of a Job: its name and creation ID, which
// are known before its create is answered. The UID takes the place of a creation ID
// that is missing or does not fit into a label.
func jobID(j *adapter.Job) string {
	id := hub.Picked(j)[labelCreation]
	if id == "" || len(j.Name)+1+len(id) > maxLabel {
		return string(j.UID)
	}
	return j.Name + "." + id
}

func source(j *adapter.Job) jobs.Source {
	labels := hub.Picked(j)
	if labels[labelSource] == "" {
		return jobs.Source{}
	}
	attempt, _ := strconv.ParseInt(labels[labelAttempt], 10, 32)
	return jobs.Source{UID: labels[labelSource], Attempt: int32(attempt)}
}

// tell returns each failure of the owner once.
func (c *Cluster) tell(owner types.UID) (failed jobs.Failures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, tracked := c.failures[owner]; tracked {
		return f.settle(&c.health)
	}
	return failed
}

// note keeps failures for the owner's next observations.
func (c *Cluster) note(owner types.UID, failed failures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, tracked := c.failures[owner]; tracked {
		f.add(failed)
	}
}
