package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The command replays a trace.
func TestSimulateTrace(t *testing.T) {
	file := written(t, "queue.csv", "time,items\n2026-01-31T12:00:00Z,3\n2026-01-31T12:01:30Z,2\n")
	status, out, said := call(t, "simulate -f testdata/manifest.yaml --service 10s --startup 0s --trace "+file+" -o json", "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, `"arrived":5,"done":5`)
	_, out, _ = call(t, "simulate -f testdata/manifest.yaml --service 10s --startup 0s --duration 1m --trace "+file+" -o json", "")
	require.Contains(t, out, `"arrived":3,"done":3`, "the duration ends the trace")
	file = written(t, "queue.csv", "time\nsoon\n")
	status, _, said = call(t, "simulate -f testdata/manifest.yaml --trace "+file, "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, file+":2: time: found \"soon\"")
}
