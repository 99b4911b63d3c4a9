package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
)

// measure gives polls without values the values of Prometheus: of the samples between a poll and the
// next. Values that contradict the lines of the poll are left out.
func (j *judge) measure(s *Subject, past Metrics) {
	if j.spec == nil || len(past) == 0 {
		return
	}
	interval := j.interval(s)
	for i, p := range s.Polls {
		if p.At.IsZero() || p.Cut || len(p.Triggers)+len(p.Errors) > 0 {
			continue
		}
		end := p.At.Add(interval)
		if i+1 < len(s.Polls) && s.Polls[i+1].At.After(p.At) {
			end = s.Polls[i+1].At
		}
		values, complete := j.values(past, p.At.Add(time.Second), end.Add(-time.Second))
		if !complete {
			continue
		}
		p.Triggers, p.Measured = values, true
		if d := j.profile.Aggregate(j.keda, j.scalers(p)); d.Active != (p.Effective != nil) {
			p.Triggers, p.Measured = nil, false
		} else if d.Active && j.bounds.Min <= value(p.Running) {
			p.MaxValue = &d.Jobs
		}
	}
}

// past returns the values of Prometheus outside of the polls of the log as lines of the timeline.
func (j *judge) past(s *Subject, past Metrics) (all []Group) {
	from, to := time.Time{}, time.Time{}
	if n := len(s.Polls); n > 0 {
		from, to = s.Polls[0].At, s.Polls[n-1].At
	}
	for i, sample := range past {
		at := sample.at
		if (!at.Before(from) && !at.After(to)) || (i > 0 && past[i-1].at.Equal(at)) {
			continue
		}
		if values, complete := j.values(past, at, at); complete {
			text, run := "Prometheus: "+valuesText(values), 0
			for _, p := range s.Polls {
				if !p.At.After(at) {
					run = p.Run
				}
			}
			all = append(all, Group{From: at, To: at, Run: run, Text: text, like: text})
		}
	}
	return all
}

// values returns the last values of the triggers between two times, with their targets.
func (j *judge) values(of Metrics, from, to time.Time) ([]Trigger, bool) {
	values, complete := of.Values(len(j.triggers), from, to)
	for i := range values {
		values[i].Target = j.triggers[i].Target
	}
	return values, complete
}

func valuesText(values []Trigger) string {
	var parts []string
	for _, t := range values {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, ", ")
}

// now judges a poll that has the values of the operator's metrics and the Jobs of the cluster. It
// returns nil if they are not known.
func (j *judge) now(l *Live) *Verdict {
	if j.spec == nil || !l.Counted {
		return nil
	}
	values, complete := j.values(l.Metrics, time.Time{}, time.Now())
	if !complete {
		return nil
	}
	p := &Poll{Triggers: values, Running: &l.Running, Pending: &l.Pending}
	d := j.profile.Decide(j.keda, keda.State{Scalers: j.scalers(p), Running: l.Running, Pending: l.Pending})
	if d.Demand.Active {
		effective := max(0, d.EffectiveMaxScale)
		p.Effective, p.Wanted, p.Created = &effective, &d.Create, &d.Create
		if d.Asked {
			p.MaxValue = &d.Demand.Jobs
		}
	}
	return j.verdict(p)
}

// answerNow answers by the operator's metrics if the log has no poll.
func (j *judge) answerNow(a *Account, l *Live) bool {
	v := j.now(l)
	if v == nil || len(v.Causes) == 0 {
		return false
	}
	a.Causes, a.State = v.Causes, v.Causes[0].ID
	does := "A poll with the values of the operator's metrics creates no Job: "
	if value(v.Jobs) > 0 {
		a.State, does = "creating", fmt.Sprintf("A poll with the values of the operator's metrics creates %s: ", report.Plural(int(*v.Jobs), "Job"))
	}
	a.Answer = v.Causes[0].phrase(does)
	return true
}
