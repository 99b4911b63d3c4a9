package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

// readTimes replaces the service and start times by times of real pods, unless the flags
// set them.
func (s *simulate) readTimes(m *input.ScaledJob, items int64, stdin io.Reader) error {
	if len(s.dumps) == 0 {
		return nil
	}
	if items == 0 && !s.changed("service") {
		return input.Usagef("--jobs with --items-per-job 0: the number of items of a Job is not known; use --service")
	}
	d, err := cluster.Read(s.dumps, stdin)
	if err != nil {
		return err
	}
	o, err := d.Of(m, s.release.One())
	if err != nil {
		return err
	}
	all := o.PodTimes()
	s.recorded = fmt.Sprintf("%d pods of --jobs", len(all))
	if len(all) == 0 {
		all = o.JobTimes()
		s.recorded = fmt.Sprintf("%d Jobs of --jobs without pods; service has the startup", len(all))
	}
	if len(all) == 0 {
		return fmt.Errorf("--jobs: found no succeeded pod or Job of %s; %s, with finished Jobs", m.Name(), cluster.KubectlGet)
	}
	var service, startup []time.Duration
	for _, p := range all {
		service = append(service, p.Ended.Sub(p.Started)/time.Duration(max(1, items)))
		startup = append(startup, p.Started.Sub(p.Scheduled))
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

// compareWithMeasured adds the measured queue length, and a line about how far the first
// policy differs from it.
func (s *simulate) compareWithMeasured(r *findings) error {
	if s.measured == "" {
		return nil
	}
	var err error
	if r.Measured, err = trace.ReadLengths(s.measured, s.began); err != nil {
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
