package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The mutants of testdata/operators are those in mutants.txt. Those that begin
// with "!" do not compile. UPDATE=1 rewrites the file.
func TestOperators(t *testing.T) {
	s := source1(t, "testdata/operators")
	var got strings.Builder
	for _, m := range s.mutants() {
		if !s.compiles(m) {
			got.WriteString("! ")
		}
		got.WriteString(m.change() + "\n")
	}
	const golden = "testdata/operators/mutants.txt"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// Copies of a body do not share a function if they would conflict.
func TestBodiesThatStayAlone(t *testing.T) {
	alone := map[string]bool{}
	for _, m := range source1(t, "testdata/operators").mutants() {
		if (m.body == span{}) {
			alone[m.Function] = true
		}
	}
	require.Equal(t, map[string]bool{"ready": true, "labelled": true, "redeclares": true}, alone)
}

// A key stays the same when lines move.
func TestKey(t *testing.T) {
	var keys [2][]string
	for i, text := range []string{"", "// One more line.\n\n"} {
		dir := copied(t, "testdata/operators")
		edit(t, filepath.Join(dir, "operators.go"), "// Package", text+"// Package")
		for _, m := range source1(t, dir).mutants() {
			keys[i] = append(keys[i], m.key())
		}
	}
	require.Equal(t, keys[0], keys[1])
	require.Contains(t, keys[0], "operators.go statements removal: call() -> (removed) (2)")
}

func source1(t *testing.T, dir string) *source {
	t.Setenv("GOWORK", "off")
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	sources, err := load(t.Context(), dir, []string{"."})
	require.NoError(t, err)
	require.Len(t, sources, 1)
	return sources[0]
}

// copied returns a copy of a directory.
func copied(t *testing.T, dir string) string {
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// edit replaces text that occurs once in a file.
func edit(t *testing.T, name, from, to string) {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(b), from))
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(b), from, to, 1)), 0o600))
}
