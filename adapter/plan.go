package adapter

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Poll is what a plan is made of, besides the Jobs.
type Poll struct {
	ScaledJob *ScaledJob
	Config    Config
	Owner     metav1.OwnerReference // the controller of the Jobs; see NewJob
	Metrics   []scaling.Metric
	Now       time.Time
}

// A Plan is what one poll does. Its Jobs are made as they are created, so that a
// large plan takes no more memory than a small one.
type Plan struct {
	Decision scaling.Decision
	Delete   []Deletion // Jobs rolled out first, then history
	Create   int64      // Jobs to create

	owner     types.UID
	ownership Ownership
	namespace string
	template  jobTemplate
	sources   []placement.Source // that the first of the Jobs replace
	flight    flight             // what each create is noted as
	gaps      []int64            // the first numbers of the new Jobs
	next      int64              // the others go on from it
}

// A Deletion is a Job to delete, and why.
type Deletion struct {
	Name        string
	UID         types.UID
	Propagation rollout.Propagation
	Reason      Reason
	Namespace   string // "" is that of the plan
}

// Reason is why a Job is deleted.
type Reason uint8

const (
	OldSpec      Reason = iota // it was made from an older spec
	HistoryLimit               // more finished Jobs than are kept
	Duplicate                  // another Job stands in for it, or it for another
)

// String says the reason in words.
func (r Reason) String() string {
	switch r {
	case OldSpec:
		return "old spec"
	case Duplicate:
		return "duplicate"
	}
	return "history limit"
}

// NewPlan decides one poll: which Jobs of an older spec to delete, then which
// finished ones, then how many to create, where those rolled out count as
// terminating. Jobs that are not known, a nil fleet, are not touched. While
// paused nothing is rolled out or created; finished Jobs are still pruned.
//
// Finished Jobs are deleted with background propagation whatever the rollout's
// is: nothing of theirs runs.
func NewPlan(p Poll, fleet *Fleet) Plan {
	plan := Plan{
		owner: p.Owner.UID, ownership: Controller, namespace: p.ScaledJob.Namespace,
		flight: flight{generation: p.Config.Revision.Generation, expires: p.Now.Add(flightTime)},
	}
	state := scaling.State{Metrics: p.Metrics}
	var counts scaling.Jobs
	if fleet != nil {
		stuckBefore := p.stuckBefore()
		counts = fleet.Count(stuckBefore)
		counts.InFlight = fleet.holding(p.Now, p.Config.Revision.Generation)
		if !p.Config.Policy.Paused {
			for _, m := range fleet.old(p.Config.Rollout, p.Config.Revision) {
				plan.Delete = append(plan.Delete, Deletion{Name: m.Name, UID: m.UID, Propagation: p.Config.Rollout.Propagation, Reason: OldSpec})
				leave(&counts, m.Job, stuckBefore)
			}
		}
		for _, m := range fleet.surplus(p.Config.History) {
			plan.Delete = append(plan.Delete, Deletion{Name: m.Name, UID: m.UID, Propagation: rollout.Background, Reason: HistoryLimit})
		}
		state.Jobs = &counts
	}
	plan.Decision = scaling.Decide(p.Config.Policy, state)
	if plan.Create = plan.Decision.Create; plan.Create > 0 {
		plan.gaps, plan.next = fleet.free(p.Now)
		plan.template = p.ScaledJob.template(p.Owner, p.Config.Revision)
	}
	return plan
}

// flightTime is how long a create holds room that the cache does not show. After
// it the cache is believed; the names see to it that a Job is not made twice.
const flightTime = time.Minute

// stuckBefore is the time since which a Job must have been pending to be stuck.
func (p *Poll) stuckBefore() time.Time {
	if p.Config.StuckAfter <= 0 {
		return time.Time{}
	}
	return p.Now.Add(-p.Config.StuckAfter)
}

// leave counts a Job as terminating that was counted as it is.
func leave(c *scaling.Jobs, j Job, stuckBefore time.Time) {
	count(c, &j, -1)
	if j.stuck(stuckBefore) {
		c.Stuck--
	}
	j.terminate()
	count(c, &j, 1)
}

// Job is the Job to create at index i, from 0 to Create - 1.
func (plan Plan) Job(i int64) *batchv1.Job {
	job := plan.template.job(plan.number(i))
	if i < int64(len(plan.sources)) {
		metav1.SetMetaDataLabel(&job.ObjectMeta, LabelSource, plan.sources[i].UID)
		metav1.SetMetaDataLabel(&job.ObjectMeta, LabelAttempt, strconv.FormatInt(int64(plan.sources[i].Attempt), 10))
	}
	return job
}

func (plan Plan) number(i int64) int64 {
	if n := int64(len(plan.gaps)); i >= n {
		return plan.next + i - n
	}
	return plan.gaps[i]
}
