package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// A scenario that can be read is valid, and each problem has the file's name.
func FuzzScenario(f *testing.F) {
	f.Add([]byte(Help))
	f.Add([]byte("queues: [{name: a, trace: [{at: 0s, items: 3}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(input.Source{Name: "s.yaml", Data: data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "s.yaml:"), "%v", err)
			return
		}
		require.NoError(t, s.Validate())
	})
}
