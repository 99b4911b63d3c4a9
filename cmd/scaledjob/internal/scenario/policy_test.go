package scenario

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Parameters to try are such as a manifest can have, each once.
func TestValues(t *testing.T) {
	require.Equal(t, []int32{1, 2}, values(0, 1, 2))
	require.Equal(t, []int32{math.MaxInt32 / 2, math.MaxInt32}, values(math.MaxInt32/2, math.MaxInt32, 2*math.MaxInt32))
}

// A search narrows the range below a maximum that met its objective: that is tried again.
func TestMaxima(t *testing.T) {
	for from := int64(1); from < 5000; from += 7 {
		for _, to := range []int64{from, from + 1, from + 41, from + 51, from + 109, 2 * from, 3*from + 50} {
			all := Maxima(from, to)
			require.Equal(t, []int64{from, to}, []int64{int64(all[0]), int64(all[len(all)-1])})
			require.LessOrEqual(t, len(all), 41)
		}
	}
}
