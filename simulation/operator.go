package simulation

import (
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// An operator decides as a release of KEDA.
type operator struct {
	profile keda.Profile
	job     keda.ScaledJob
	counts  [phases]keda.JobCounts // what a Job of each phase adds
	scalers []keda.Scaler
	list    []keda.Job // that have finished and are not deleted, by name as the API server lists them
	pruned  bool       // nothing of this list is to be deleted
}

func newOperator(s *Scenario) *operator {
	profile, _ := keda.Release(strings.TrimPrefix(s.Policy.As, asKEDA))
	o := &operator{profile: profile, job: keda.ScaledJob{Spec: s.Policy.Spec}}
	for p := range phases {
		o.counts[p] = profile.Count(&o.job, []keda.Job{{Pods: podOf(p)}})
	}
	return o
}

// podOf is the pod of a Job in a phase, as the API server has it.
func podOf(p phase) []keda.Pod {
	var ready, placed string
	phase := "Pending"
	switch {
	case p == backingOff:
		return []keda.Pod{{Phase: "Failed"}}
	case p == unscheduled:
		ready, placed = "False", "False"
	case p == starting:
		ready, placed = "False", "True"
	default:
		ready, placed, phase = "True", "True", "Running"
	}
	return []keda.Pod{{Phase: phase, Conditions: []keda.Condition{
		{Type: "PodScheduled", Status: placed},
		{Type: "PodReadyToStartContainers", Status: placed},
		{Type: "Initialized", Status: placed},
		{Type: "ContainersReady", Status: ready},
		{Type: "Ready", Status: ready},
	}}}
}

func (o *operator) poll(w *world) string {
	here := &w.sites[0]
	seen := keda.State{Scalers: o.read(w), JobsUnknown: here.silent > 0}
	for p := range phases {
		seen.Running += here.phase[p] * o.counts[p].Running
		seen.Pending += here.phase[p] * o.counts[p].Pending
	}
	d := o.profile.Decide(&o.job, seen)
	if here.silent == 0 {
		w.create(0, d.Create, jobs.Source{})
		o.prune(w)
	}
	return d.Reason.String()
}

func (o *operator) read(w *world) []keda.Scaler {
	o.scalers = o.scalers[:0]
	for i := range w.queues {
		q := &w.queues[i]
		items := w.read(q)
		o.scalers = append(o.scalers, keda.Scaler{QueueLength: items, Target: q.target(), ActivationThreshold: q.ActivationThreshold})
	}
	return o.scalers
}

var (
	complete     = []keda.Condition{{Type: "Complete", Status: "True"}}
	jobHasFailed = []keda.Condition{{Type: "Failed", Status: "True"}}
)

func (o *operator) finished(w *world, j *job, succeeded bool) {
	ended := keda.Job{Name: j.name(), Conditions: jobHasFailed}
	if succeeded {
		at := w.now.time()
		ended.Conditions, ended.CompletionTime = complete, &at
	}
	i, _ := slices.BinarySearchFunc(o.list, ended.Name, func(j keda.Job, name string) int { return strings.Compare(j.Name, name) })
	o.list = slices.Insert(o.list, i, ended)
	o.pruned = false
}

func (o *operator) prune(w *world) {
	if o.pruned {
		return
	}
	chosen := o.profile.History(&o.job, o.list).Deleted
	o.list = without(o.list, chosen)
	w.prune(len(chosen))
	o.pruned = len(chosen) == 0
}
