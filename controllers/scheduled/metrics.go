package main

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/schedule"
)

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("scheduledjob_"+name, help, append([]string{"namespace", "scheduledjob"}, labels...), nil)
}

var (
	runs      = description("runs", "Runs that wait or are active.", "status")
	completed = description("runs_completed_total", "Completed runs that had started.", "outcome")
	due       = description("occurrences_due_total", "Occurrences that became due since the schedule was changed.")
	lost      = description("occurrences_lost_total", "Occurrences without a run since the schedule was changed: by the reason.", "reason")
	blocked   = description("blocked", "1 if a failed run keeps scheduled runs from starting.")
	held      = description("held", "1 if runs wait, by the reason in the status.", "reason")
	next      = description("next_occurrence_timestamp_seconds", "Time of the next occurrence.")
)

// Describe sends the descriptions.
func (c *controller) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runs, completed, due, lost, blocked, held, next} {
		to <- d
	}
}

// Collect sends the metrics of all ScheduledJobs, which follow from their statuses. A
// controller that does not lead sends none.
func (c *controller) Collect(to chan<- prometheus.Metric) {
	if !c.Lease.MayAct() {
		return
	}
	for _, object := range c.scheduled.List() {
		s := object.(*scheduledJob)
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value int, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, float64(value), append([]string{s.Namespace, s.Name}, labels...)...)
		}
		send(runs, prometheus.GaugeValue, int(s.Status.WaitingRuns), "waiting")
		send(runs, prometheus.GaugeValue, int(s.Status.ActiveRuns), "active")
		send(completed, prometheus.CounterValue, int(s.Status.Succeeded), string(schedule.Succeeded))
		send(completed, prometheus.CounterValue, int(s.Status.Failed), string(schedule.Failed))
		send(due, prometheus.CounterValue, int(s.Status.Due))
		send(completed, prometheus.CounterValue, int(s.Status.Lost), string(schedule.Lost))
		send(completed, prometheus.CounterValue, int(s.Status.Stopped), string(schedule.Stopped))
		for cause, n := range s.Status.MissedBy {
			send(lost, prometheus.CounterValue, int(n), string(cause))
		}
		if s.Status.Reason != "" {
			send(held, prometheus.GaugeValue, 1, s.Status.Reason)
		}
		if t, err := time.Parse(time.RFC3339, s.Status.NextScheduleTime); err == nil {
			send(next, prometheus.GaugeValue, int(t.Unix()))
		}
		send(lost, prometheus.CounterValue, int(s.Status.Dropped), string(schedule.TooManyWaiting))
		is := 0
		if s.Status.Blocked {
			is = 1
		}
		send(blocked, prometheus.GaugeValue, is)
	}
}

func (c *controller) metrics() http.Handler {
	return process.Metrics(c, c.failures, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
