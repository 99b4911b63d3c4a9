package process_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/internal/process"
)

func TestProbes(t *testing.T) {
	synced := false
	var said bytes.Buffer
	server, err := process.Listen("127.0.0.1:0", process.Probes(func() bool { return synced }), slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	defer server.Close()
	_, address, ok := strings.Cut(strings.TrimSpace(said.String()), "address=")
	require.True(t, ok, said.String())
	get := func(path string) (int, string) {
		answer, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	code, _ := get("/healthz")
	require.Equal(t, http.StatusOK, code)
	code, body := get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "have not synced")
	synced = true
	code, _ = get("/readyz")
	require.Equal(t, http.StatusOK, code)

	_, err = process.Listen(address, nil, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "address already in use")
}

// A program that is to listen nowhere has a server to close.
func TestListenNowhere(t *testing.T) {
	server, err := process.Listen("", nil, nil)
	require.NoError(t, err)
	require.NoError(t, server.Close())
}
