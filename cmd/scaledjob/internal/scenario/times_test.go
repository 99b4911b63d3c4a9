package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Samples are at even distances.
func TestSampled(t *testing.T) {
	many := make([]time.Duration, 2500)
	for i := range many {
		many[i] = time.Duration(i)
	}
	few := sampled(many)
	require.Len(t, few, 1000)
	require.Equal(t, []time.Duration{0, 2, 5, 7}, few[:4])
}
