package source_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/controller/source"
)

// Queues of one server with the same login share its connections, which the last of
// them closes.
func TestRedisIsShared(t *testing.T) {
	s := miniredis.RunT(t)
	var queues []source.Queue
	for range 50 {
		q := open(t, redisParams(values{"address": s.Addr()}))
		reads(t, q, 0)
		queues = append(queues, q)
	}
	require.Equal(t, 1, s.CurrentConnectionCount())
	reads(t, open(t, redisParams(values{"address": s.Addr(), "databaseIndex": "1"})), 0)
	require.Equal(t, 2, s.CurrentConnectionCount(), "of another database")
	for _, q := range queues[1:] {
		require.NoError(t, source.Close(q))
		require.NoError(t, source.Close(q), "twice")
	}
	reads(t, queues[0], 0)
	require.NoError(t, source.Close(queues[0]))
	require.Eventually(t, func() bool { return s.CurrentConnectionCount() == 1 }, soon, time.Millisecond)
}

// A server that was gone is dialed again, for every queue.
func TestRedisIsRenewed(t *testing.T) {
	s := miniredis.RunT(t)
	first, second := open(t, redisParams(values{"address": s.Addr()})), open(t, redisParams(values{"address": s.Addr()}))
	reads(t, second, 0)
	s.Close()
	fails(t, t.Context(), first)
	require.NoError(t, s.Restart())
	reads(t, second, 0)
	reads(t, first, 0)
}

// Requests share connections, but not with a queue of other parameters of TLS.
func TestHTTPIsShared(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"queue":{"length":7}}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			connections.Add(1)
		case http.StateClosed:
			connections.Add(-1)
		}
	}
	s.StartTLS()
	defer s.Close()
	var queues []source.Queue
	for range 50 {
		q := open(t, metricsParams(s.URL, values{"unsafeSsl": "true"}))
		reads(t, q, 7)
		queues = append(queues, q)
	}
	require.EqualValues(t, 1, connections.Load())
	require.ErrorContains(t, fails(t, t.Context(), open(t, metricsParams(s.URL, nil))), "certificate")
	for _, q := range queues {
		require.NoError(t, source.Close(q))
	}
	require.Eventually(t, func() bool { return connections.Load() == 0 }, soon, time.Millisecond)
}
