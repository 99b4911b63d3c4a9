package results

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A part of the time has the mean of its values.
func TestParts(t *testing.T) {
	require.Equal(t, []float64{1, 8, 2, 0}, averages([]float64{1, 8, 2, 0}, 4, 4))
	require.Equal(t, []float64{4.5, 1}, averages([]float64{1, 8, 2, 0}, 4, 2))
	require.Equal(t, []float64{1, 1, 8, 8}, averages([]float64{1, 8}, 2, 4))
	require.Equal(t, []float64{2, 0}, averages([]float64{2}, 2, 2), "the run has ended")
	require.Equal(t, "▂██     ", bars([]float64{1, 8, 8, 0, 0, 0, 0, 0}, 8))
	require.Equal(t, "▁▁▁     ", bars([]float64{.01, .1, .1, 0, 0, 0, 0, 0}, 8))
}
