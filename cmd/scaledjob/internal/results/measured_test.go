package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

func TestDiffer(t *testing.T) {
	r := &simulation.Result{Ticks: []simulation.Tick{{Seconds: 0, Metric: 10}, {Seconds: 30, Metric: 20}}}
	r.Summary.Seconds, r.Summary.Policy = 60, "it"
	line, err := differ([]picture.Sample{{Seconds: -1, Value: 1000}, {Seconds: 29, Value: 8}, {Seconds: 30, Value: 24}, {Seconds: 61, Value: 1000}}, r)
	require.NoError(t, err)
	require.Equal(t, "Queue length: measured 16 on average, simulated 15 (it); they differ by 3 on average, 19 % of the measured length.", line)
}
