package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseAudit(t *testing.T) {
	const watch = `{"auditID":"1","stage":"ResponseStarted","verb":"watch","user":{"username":"admin"},"responseStatus":{"code":200}}` + "\n"
	const list = `{"auditID":"2","stage":"ResponseComplete","verb":"list","user":{"username":"admin"},"impersonatedUser":{"username":"ann"},` +
		`"objectRef":{"apiGroup":"batch","resource":"jobs","namespace":"n"},"responseStatus":{"code":403},"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z"}` + "\n"
	for name, c := range map[string]struct {
		log  string
		want []Request
	}{
		"nothing":        {"", nil},
		"two stages":     {watch + strings.Replace(watch, "Started", "Complete", 1), []Request{{User: "admin", Verb: "watch", Code: 200}}},
		"half a line":    {watch + list[:100], []Request{{User: "admin", Verb: "watch", Code: 200}}},
		"no end of line": {strings.TrimSpace(list), nil},
		"impersonated":   {list, []Request{{User: "ann", Verb: "list", Group: "batch", Resource: "jobs", Namespace: "n", Code: 403, Time: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseAudit([]byte(c.log))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := parseAudit([]byte("no JSON\n"))
	require.ErrorContains(t, err, "no JSON")
}

// Where a process ends nobody waits for it to be ready.
func TestAwait(t *testing.T) {
	ended := &process{name: "sh", path: "/bin/sh", args: []string{"-c", "exit 3"}, log: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, ended.start())
	asked := 0
	err := await(t.Context(), func(context.Context) error { asked++; return errors.New("not yet") }, ended)
	require.ErrorIs(t, err, errEnded)
	require.EqualError(t, err, "sh: it has ended: exit status 3")
	require.NoError(t, await(t.Context(), func(context.Context) error { return nil }, ended))
	require.Positive(t, asked)
}

func TestSelected(t *testing.T) {
	for release, minor := range map[string]string{"": "1.36.", "1.31": "1.31."} {
		t.Setenv("SCALEDJOB_KUBERNETES", release)
		binaries, err := selected()
		require.NoError(t, err)
		require.Len(t, binaries, 3)
		require.Contains(t, binaries[0].version, "3.")
		require.Contains(t, binaries[1].version, minor)
		require.Equal(t, binaries[1].version, binaries[2].version)
	}
	t.Setenv("SCALEDJOB_KUBERNETES", "1.30")
	_, err := selected()
	require.ErrorContains(t, err, `SCALEDJOB_KUBERNETES: found "1.30"; use a release that test/e2e/binaries has`)
}
