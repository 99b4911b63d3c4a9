package process_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// What is wrong is told once, and again when it has been right, or is something else.
func TestWarnings(t *testing.T) {
	var log bytes.Buffer
	w := process.Warnings{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, text := range []string{"a", "a", "", "a", "b", "b"} {
		err := errors.New(text)
		if text == "" {
			err = nil
		}
		w.Warn("unread", err)
		w.Warn("failed", nil)
	}
	require.Equal(t, 2, strings.Count(log.String(), "msg=unread err=a"))
	require.Equal(t, 1, strings.Count(log.String(), "msg=unread err=b"))
	require.NotContains(t, log.String(), "failed")
	w.Warn("long", errors.New(strings.Repeat("x", 1<<20)))
	require.Less(t, log.Len(), 2000)
}

// A warning of an API server has code 299 and a text.
func TestServerWarnings(t *testing.T) {
	var log bytes.Buffer
	o := process.Options{Kubeconfig: processtest.Kubeconfig(t, "http://127.0.0.1:1")}
	config, err := o.Connect(t.Context(), process.Log{}.To(&log))
	require.NoError(t, err)
	config.WarningHandler.HandleWarningHeader(199, "-", "another code")
	config.WarningHandler.HandleWarningHeader(299, "-", "")
	require.Empty(t, log.String())
	config.WarningHandler.HandleWarningHeader(299, "-", "v1 is deprecated")
	require.Contains(t, log.String(), `level=WARN msg="the API server warns" err="v1 is deprecated"`)
}
