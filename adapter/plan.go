package adapter

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Poll is all that a plan is made of.
type Poll struct {
	ScaledJob *ScaledJob
	Config    Config
	Owner     metav1.OwnerReference // the controller of the Jobs; see NewJob
	Metrics   []scaling.Metric
	// Jobs are those that the owner controls. They mean nothing unless JobsKnown.
	Jobs      []Job
	JobsKnown bool
	InFlight  int64 // Jobs created and not yet among Jobs
}

// A Plan is what one poll does. Its Jobs are made as they are created, so that a
// large plan takes no more memory than a small one.
type Plan struct {
	Decision scaling.Decision
	Delete   []Deletion // Jobs rolled out first, then history
	Create   int64      // Jobs to create

	scaledJob *ScaledJob
	owner     metav1.OwnerReference
	last      int64 // the highest sequence number seen
}

// A Deletion is a Job to delete, and why.
type Deletion struct {
	Name        string
	UID         types.UID
	Propagation rollout.Propagation
	Reason      Reason
}

// Reason is why a Job is deleted.
type Reason uint8

const (
	OldSpec      Reason = iota // it was made from an older spec
	HistoryLimit               // more finished Jobs than are kept
)

// String says the reason in words.
func (r Reason) String() string {
	if r == OldSpec {
		return "old spec"
	}
	return "history limit"
}

// NewPlan decides one poll: which Jobs of an older spec to delete, then which
// finished ones, then how many to create, where those rolled out count as
// terminating. Jobs that are not known are not touched. While paused nothing is
// rolled out or created; finished Jobs are still pruned.
//
// Finished Jobs are deleted with background propagation whatever the rollout's
// is: nothing of theirs runs.
func NewPlan(p Poll) Plan {
	plan := Plan{scaledJob: p.ScaledJob, owner: p.Owner}
	state := scaling.State{Metrics: p.Metrics}
	if p.JobsKnown {
		jobs := slices.Clone(p.Jobs)
		if !p.Config.Policy.Paused {
			plan.rollOut(p, jobs)
		}
		plan.prune(p, jobs)
		counts := Count(jobs)
		counts.InFlight = p.InFlight
		state.Jobs = &counts
	}
	for _, j := range p.Jobs {
		plan.last = max(plan.last, j.Sequence)
	}
	plan.Decision = scaling.Decide(p.Config.Policy, state)
	plan.Create = plan.Decision.Create
	return plan
}

// rollOut marks the Jobs that it deletes as terminating.
func (plan *Plan) rollOut(p Poll, jobs []Job) {
	candidates := make([]rollout.Job, len(jobs))
	for i, j := range jobs {
		candidates[i] = rollout.Job{
			Revision: j.Revision, NeverStarted: j.NeverRan,
			Finished: j.Phase == Succeeded || j.Phase == Failed, Deleting: j.Deleting,
		}
	}
	for _, i := range rollout.Choose(p.Config.Rollout, p.ScaledJob.Revision(), candidates) {
		plan.Delete = append(plan.Delete, Deletion{jobs[i].Name, jobs[i].UID, p.Config.Rollout.Propagation, OldSpec})
		jobs[i].Phase, jobs[i].Deleting = Terminating, true
	}
}

var outcomes = map[Phase]history.Outcome{Succeeded: history.Succeeded, Failed: history.Failed}

func (plan *Plan) prune(p Poll, jobs []Job) {
	candidates := make([]history.Job, len(jobs))
	for i, j := range jobs {
		candidates[i] = history.Job{Name: j.Name, Outcome: outcomes[j.Phase], Deleting: j.Deleting, Finished: j.Finished}
	}
	for _, i := range history.Choose(p.Config.History, candidates) {
		plan.Delete = append(plan.Delete, Deletion{jobs[i].Name, jobs[i].UID, rollout.Background, HistoryLimit})
	}
}

// Job is the Job to create at index i, from 0 to Create - 1.
func (plan Plan) Job(i int64) *batchv1.Job {
	return plan.scaledJob.NewJob(plan.owner, plan.last+1+i)
}
