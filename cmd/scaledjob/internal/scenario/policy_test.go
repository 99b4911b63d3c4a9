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
