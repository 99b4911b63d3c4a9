package results

import (
	"fmt"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/picture"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/simulation"
)

// CompareWith adds the measured queue length, and a line about how far the first
// policy differs from it.
func (r *Findings) CompareWith(file string, began time.Duration) (err error) {
	if r.Measured, err = trace.ReadLengths(file, began); err != nil {
		return err
	}
	line, err := differ(r.Measured, &r.Study.Samples[0].First)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	r.Details = append(r.Details, line)
	return nil
}

// differ compares the measured queue length with the length that the polls of a run read.
func differ(measured []picture.Sample, r *simulation.Result) (string, error) {
	n, sum, simulated, distance, next := 0.0, 0.0, 0.0, 0.0, 0
	for _, m := range measured {
		if m.Seconds < 0 || m.Seconds > r.Summary.Seconds {
			continue
		}
		for next+1 < len(r.Ticks) && r.Ticks[next+1].Seconds <= m.Seconds {
			next++
		}
		metric := r.Ticks[next].Metric
		n++
		sum, simulated, distance = sum+m.Value, simulated+metric, distance+math.Abs(metric-m.Value)
	}
	if n == 0 {
		return "", fmt.Errorf("no time is within the %s of the run; use the same period as for the arrivals", report.Span(r.Summary.Seconds))
	}
	text := fmt.Sprintf("Queue length: measured %s on average, simulated %s (%s); they differ by %s on average",
		report.Short(sum/n), report.Short(simulated/n), r.Summary.Policy, report.Short(distance/n))
	if sum > 0 {
		text += fmt.Sprintf(", %.0f %% of the measured length", distance/sum*100)
	}
	if distance > sum/2 {
		return text + ". The simulation does not describe this queue: check the assumptions.", nil
	}
	return text + ".", nil
}
