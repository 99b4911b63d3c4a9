package loop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Neither a clock that stands still nor one that is set back makes a term longer.
func TestTwoClocks(t *testing.T) {
	from := now()
	for name, later := range map[string]instant{
		"both clocks agree":         {from.monotonic.Add(time.Minute), from.wall.Add(time.Minute)},
		"the machine was suspended": {from.monotonic, from.wall.Add(time.Minute)},
		"the wall clock is set":     {from.monotonic.Add(time.Minute), from.wall.Add(-time.Hour)},
	} {
		require.Equal(t, time.Minute, later.elapsed(from), name)
	}
}
