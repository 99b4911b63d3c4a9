package explain

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
)

// A kedaEngine decides a poll by the rules of a release of KEDA.
type kedaEngine struct {
	input.Release
	m *input.ScaledJob
	o *cluster.Owned // nil without a dump
}

func (e *kedaEngine) decide(p *Poll, s *situation) {
	var scalers []keda.Scaler
	if s.lengths != nil {
		scalers = input.Scalers(s.triggers, s.lengths)
	}
	var jobs []keda.Job
	var counts keda.JobCounts
	if e.o != nil {
		jobs = e.o.KedaJobs()
		counts = e.Profile.Count(e.m.KEDA, jobs)
	} else {
		counts = keda.JobCounts{Running: s.counts.Running, Pending: s.counts.Pending}
	}
	if s.lengths != nil {
		d := e.Profile.Decide(e.m.KEDA, keda.State{Scalers: scalers, Running: counts.Running, Pending: counts.Pending})
		p.Create = &creation{Jobs: d.Create, Rule: string(d.Reason), Panic: d.Fault.Panics(), Decision: d, Trace: d.String()}
	}
	if e.o != nil {
		p.Rollout, p.Prune = e.rollout(jobs), e.prune(jobs)
	}
	p.Notes = append(p.Notes, e.notes(scalers)...)
}

// notes are the features that a release lacks and the fields that it rejects.
func (e *kedaEngine) notes(scalers []keda.Scaler) []string {
	var notes []string
	for _, err := range input.Problems(errors.Join(e.m.Located(e.Profile.Validate(e.m.KEDA, scalers...)), e.m.Located(e.m.Strict))) {
		notes = append(notes, report.Clean(err.Error()))
	}
	return notes
}

func (e *kedaEngine) rollout(jobs []keda.Job) *removal {
	d := &removal{Jobs: []deletion{}}
	rule := e.Profile.Rule("rollout").Text
	deletesCurrent, deletesOlder := e.Deletes(keda.ScaledJob{}, "2"), e.Deletes(keda.ScaledJob{}, "1")
	if e.o.Spec.Generation == 0 && !deletesCurrent && deletesOlder {
		d.Idle = "metadata.generation is not known"
		return d
	}
	done := e.Profile.Rollout(e.o.KEDA, jobs)
	for _, i := range done.Deleted {
		reason := olderThan(e.o, e.o.Jobs[i])
		if deletesCurrent {
			reason, d.Rule = "of any generation", rule
		}
		d.Jobs = append(d.Jobs, deletion{e.o.Jobs[i].Name, reason, done.PropagationPolicy})
	}
	switch {
	case len(d.Jobs) > 0:
	case !deletesOlder:
		d.Idle = rule
	case e.Paused(e.o.ScaledJob):
		d.Idle = "the ScaledJob is paused"
	case e.o.NoJobs() != "":
		d.Idle = e.o.NoJobs()
	case done.Strategy == "gradual":
		d.Idle = "the rollout strategy is gradual"
	default:
		d.Idle = fmt.Sprintf("all are of generation %d", e.o.Spec.Generation)
	}
	return d
}

func (e *kedaEngine) prune(jobs []keda.Job) *removal {
	h := e.Profile.History(e.o.KEDA, jobs)
	d := &removal{Jobs: []deletion{}, Panic: h.Fault.Panics()}
	if d.Panic {
		d.Fault = h.Fault.String()
	}
	for _, i := range h.Deleted {
		d.Jobs = append(d.Jobs, finished(e.o.Jobs[i]))
	}
	switch {
	case len(d.Jobs) > 0:
	case d.Panic:
		d.Idle = d.Fault
	case e.Paused(e.o.ScaledJob):
		d.Idle = "the ScaledJob is paused; KEDA then deletes no finished Jobs"
	default:
		d.Idle = cmp.Or(e.o.NoJobs(), "no more have finished than are kept")
	}
	return d
}
