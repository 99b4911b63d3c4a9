// Package processtest runs programs of package process in tests, and compares their CustomResourceDefinitions with Go types.
package processtest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// Run runs the program until it or the test ends. It returns the exit status and the
// program's standard error.
func Run(t *testing.T, p process.Program, args ...string) (status int, said string) {
	t.Helper()
	var stderr bytes.Buffer
	status = process.Run(t.Context(), p, args, &stderr)
	return status, stderr.String()
}

// Parse reads valid flags of the program, and returns the program.
func Parse[P process.Program](t *testing.T, p P, args ...string) P {
	t.Helper()
	var stderr bytes.Buffer
	require.NoError(t, process.Parse(p, args, &stderr), stderr.String())
	return p
}

// Kubeconfig writes a kubeconfig file for a server.
func Kubeconfig(t testing.TB, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
		"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: '"+server+"'}}]}"), 0o600))
	return file
}

// FreeAddress returns a local address on which no process listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Get returns the status code and the body of an address without a scheme, or 0 and the
// error.
func Get(address string) (code int, body string) {
	answer, err := http.Get("http://" + address)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(data)
}
