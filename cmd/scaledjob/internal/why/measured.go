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
		if p.Time.IsZero() || p.Cut || len(p.Triggers)+len(p.Errors) > 0 {
			continue
		}
		end := p.Time.Add(interval)
		if i+1 < len(s.Polls) && s.Polls[i+1].Time.After(p.Time) {
			end = s.Polls[i+1].Time
		}
		values, complete := j.values(past, p.Time.Add(time.Second), end.Add(-time.Second))
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
func (j *judge) past(s *Subject, past Metrics) (groups []Group) {
	from, last := time.Time{}, time.Time{}
	if n := len(s.Polls); n > 0 {
		from, last = s.Polls[0].Time, s.Polls[n-1].Time
	}
	for i, sample := range past {
		instant := sample.time
		if (!instant.Before(from) && !instant.After(last)) || (i > 0 && past[i-1].time.Equal(instant)) {
			continue
		}
		if values, complete := j.values(past, instant, instant); complete {
			text, run := "Prometheus: "+valuesText(values), 0
			for _, p := range s.Polls {
				if !p.Time.After(instant) {
					run = p.Run
				}
			}
			groups = append(groups, Group{From: instant, End: instant, Run: run, Text: text, like: text})
		}
	}
	return groups
}

// values returns the last values of the triggers between two times, with their targets.
func (j *judge) values(samples Metrics, from, last time.Time) ([]Trigger, bool) {
	values, complete := samples.Values(len(j.triggers), from, last)
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
		p.Effective, p.Requested, p.Created = &effective, &d.Create, &d.Create
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
