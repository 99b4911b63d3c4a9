package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

// A podTime is when a pod that succeeded was ready to start, started and ended.
type podTime struct{ scheduled, started, ended time.Time }

// readTimes replaces the service and start times by times of real pods, unless the flags
// set them.
func (s *simulate) readTimes(m *scaledJob, items int64, stdin io.Reader) error {
	if len(s.dumps) == 0 {
		return nil
	}
	if items == 0 && !s.changed("service") {
		return usagef("--jobs with --items-per-job 0: the number of items of a Job is not known; use --service")
	}
	d, err := readDump(s.dumps, stdin)
	if err != nil {
		return err
	}
	o, err := d.of(m, s.release.one())
	if err != nil {
		return err
	}
	all := o.podTimes()
	s.recorded = fmt.Sprintf("%d pods of --jobs", len(all))
	if len(all) == 0 {
		all = o.jobTimes()
		s.recorded = fmt.Sprintf("%d Jobs of --jobs without pods; service has the startup", len(all))
	}
	if len(all) == 0 {
		return fmt.Errorf("--jobs: found no succeeded pod or Job of %s; %s, with finished Jobs", m.name(), kubectlGet)
	}
	var service, startup []time.Duration
	for _, p := range all {
		service = append(service, p.ended.Sub(p.started)/time.Duration(max(1, items)))
		startup = append(startup, p.started.Sub(p.scheduled))
	}
	for flag, to := range map[string]struct {
		text   *string
		values []time.Duration
	}{"service": {&s.service, service}, "startup": {&s.startup, startup}} {
		if !s.changed(flag) {
			*to.text = simulation.Recorded(sampled(to.values)...).String()
		}
	}
	return nil
}

// sampled returns at most 1,000 of the values, at even distances.
func sampled(values []time.Duration) []time.Duration {
	const most = 1000
	if len(values) <= most {
		return values
	}
	all := make([]time.Duration, most)
	for i := range all {
		all[i] = values[i*len(values)/most]
	}
	return all
}

// jobTimes returns the times of the Jobs that succeeded, in the order that they started. A Job
// without a pod does not tell its startup.
func (o *owned) jobTimes() (all []podTime) {
	for i := range o.jobs {
		s := &o.jobs[i].Status
		if s.StartTime != nil && s.CompletionTime != nil && s.Succeeded > 0 && !s.CompletionTime.Before(s.StartTime) {
			all = append(all, podTime{s.StartTime.Time, s.StartTime.Time, s.CompletionTime.Time})
		}
	}
	slices.SortStableFunc(all, func(a, b podTime) int { return a.started.Compare(b.started) })
	return all
}

// podTimes returns the times of the pods that succeeded, in the order that they
// started.
func (o *owned) podTimes() (all []podTime) {
	mine := map[string]bool{}
	for i := range o.jobs {
		mine[o.jobs[i].Namespace+"/"+o.jobs[i].Name] = true
	}
	for i := range o.pods {
		p := &o.pods[i]
		name := p.Labels[batchv1.JobNameLabel]
		if c := metav1.GetControllerOf(p); c != nil && name == "" {
			name = c.Name
		}
		if !mine[p.Namespace+"/"+name] || p.Status.Phase != corev1.PodSucceeded {
			continue
		}
		t := podTime{scheduled: p.CreationTimestamp.Time}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
				t.scheduled = c.LastTransitionTime.Time
			}
		}
		for _, c := range p.Status.ContainerStatuses {
			if end := c.State.Terminated; end != nil && (t.ended.IsZero() || end.FinishedAt.After(t.ended)) {
				t.started, t.ended = end.StartedAt.Time, end.FinishedAt.Time
			}
		}
		if !t.ended.Before(t.started) && !t.started.Before(t.scheduled) && !t.ended.IsZero() {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b podTime) int { return a.started.Compare(b.started) })
	return all
}

// compareWithMeasured adds the measured queue length, and a line about how far the first
// policy differs from it.
func (s *simulate) compareWithMeasured(r *findings) error {
	if s.measured == "" {
		return nil
	}
	var err error
	if r.Measured, err = readLengths(s.measured, s.began); err != nil {
		return err
	}
	line, err := differ(r.Measured, &r.Study.Samples[0].First)
	if err != nil {
		return fmt.Errorf("%s: %w", s.measured, err)
	}
	r.Verdict = append(r.Verdict, line)
	return nil
}

// differ compares the measured queue length with the length that the polls of a run read.
func differ(measured []picture.Sample, r *simulation.Result) (string, error) {
	n, sum, simulated, apart, next := 0.0, 0.0, 0.0, 0.0, 0
	for _, m := range measured {
		if m.Seconds < 0 || m.Seconds > r.Summary.Seconds {
			continue
		}
		for next+1 < len(r.Ticks) && r.Ticks[next+1].Seconds <= m.Seconds {
			next++
		}
		is := r.Ticks[next].Metric
		n++
		sum, simulated, apart = sum+m.Value, simulated+is, apart+math.Abs(is-m.Value)
	}
	if n == 0 {
		return "", fmt.Errorf("no time is within the %s of the run; use the same period as for the arrivals", report.Span(r.Summary.Seconds))
	}
	text := fmt.Sprintf("Measured queue length: %s on average; simulated %s (%s); apart by %s on average",
		report.Short(sum/n), report.Short(simulated/n), r.Summary.Policy, report.Short(apart/n))
	if sum > 0 {
		text += fmt.Sprintf(", %.0f %% of the measured", apart/sum*100)
	}
	if apart > sum/2 {
		return text + ". The simulation does not describe this queue: check the assumptions.", nil
	}
	return text + ".", nil
}
