package diff

import (
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// A cell is a case of the grid: the queue length of each trigger, and the Jobs.
type cell struct {
	Queue   []float64 `json:"queue"`
	Running int64     `json:"running"`
	Pending int64     `json:"pending"`
}

// grid returns every combination of queue lengths, running and pending Jobs near the
// numbers at which rules change: 0, the items of one Job, and the maximum.
func grid(m *input.ScaledJob, triggers []manifest.Trigger) []cell {
	limit := int64(100)
	if n := m.Spec.Spec.MaxReplicaCount; n != nil {
		limit = max(0, int64(*n))
	}
	if n := m.Spec.Spec.MinReplicaCount; n != nil {
		limit = max(limit, int64(*n))
	}
	var cells []cell
	for _, queue := range queues(triggers, limit, counting(m)) {
		for _, running := range spread(limit+2, 13) {
			for _, pending := range spread(running, 7) {
				cells = append(cells, cell{queue, running, pending})
			}
		}
	}
	return cells
}

// counting reports for each trigger whether its metric is always whole.
func counting(m *input.ScaledJob) []bool {
	flags := make([]bool, len(m.Spec.Spec.Triggers))
	for i, t := range m.Spec.Spec.Triggers {
		flags[i] = triggers.CountsItems(t.Type) && t.Metadata["mode"] != "MessageRate" // of rabbitmq, items per second
	}
	return flags
}

// queues returns lengths for each trigger: the same work for all, work for the first only,
// and an item each. It adds the items of two and a half Jobs, rounded up, and also exact if
// the metric can be fractional.
func queues(triggers []manifest.Trigger, limit int64, integral []bool) [][]float64 {
	var lengths [][]float64
	for _, jobs := range append(spread(limit+2, 13), 3*limit+1) {
		filled, first := make([]float64, len(triggers)), make([]float64, len(triggers))
		for i, t := range triggers {
			filled[i] = t.Target * float64(jobs)
		}
		first[0] = filled[0]
		lengths = append(lengths, filled)
		if len(triggers) > 1 && jobs > 0 {
			lengths = append(lengths, first)
		}
	}
	single, partly, fraction := make([]float64, len(triggers)), make([]float64, len(triggers)), make([]float64, len(triggers))
	for i, t := range triggers {
		single[i], fraction[i] = 1, t.Target*2.5
		partly[i] = math.Ceil(fraction[i])
		if integral[i] {
			fraction[i] = partly[i]
		}
	}
	for _, extra := range [][]float64{single, partly, fraction} {
		if !slices.ContainsFunc(lengths, func(present []float64) bool { return slices.Equal(present, extra) }) {
			lengths = append(lengths, extra)
		}
	}
	return lengths
}

// spread is the numbers from 0 to n, or about so many of them, which crowd at both
// ends.
func spread(n int64, many int64) []int64 {
	var numbers []int64
	if n < many {
		for i := range n + 1 {
			numbers = append(numbers, i)
		}
		return numbers
	}
	third := many / 3
	for i := range third {
		numbers = append(numbers, i, n-i, n*(i+1)/(third+1))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
