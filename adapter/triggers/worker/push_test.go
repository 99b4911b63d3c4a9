package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// A pushing scaler reports without end that it is active.
type pushing struct{ scalers.Scaler }

func (pushing) Run(ctx context.Context, active chan<- bool) {
	defer close(active)
	for {
		select {
		case active <- true:
		case <-ctx.Done():
			return
		}
	}
}

// A server that pushes without end, which may be a tenant's, wakes its owner once a second.
func TestFloodOfPushes(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { theirs.Close() })
	w, pushed := newWorker(wire.NewConn(ours, wire.FromReader)), &trigger{key: "a/0"}
	w.push(pushed, pushing{})
	reader, end := wire.NewConn(theirs, wire.FromWorker), time.AfterFunc(1500*time.Millisecond, func() { pushed.stop(); ours.Close() })
	defer end.Stop()
	wakes, began := 0, time.Now()
	for {
		m, err := reader.Receive()
		if err != nil {
			break
		}
		require.Equal(t, "a/0", m.Wake)
		wakes++
	}
	require.Positive(t, wakes)
	require.LessOrEqual(t, wakes, 1+int(time.Since(began)/time.Second))
}
