package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change that breaks the users of the last release is an error until CHANGELOG.md names
// it, and from v1.0.0 on whatever CHANGELOG.md says.
func TestCompare(t *testing.T) {
	r := project(t, "module example.com/root/cmd/scaledjob\n\ngo 1.26.0\n")
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(r.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	var out bytes.Buffer
	compare := func() error { out.Reset(); return r.compare(t.Context(), &out) }
	write("a/a.go", "package a\n\nfunc F(int) {}\n\ntype S struct{ X int }\n")
	write("internal/b/b.go", "package b\n\nfunc F() {}\n")
	require.NoError(t, compare())
	require.Contains(t, out.String(), "no release yet")
	tag := func(version string) {
		t.Helper()
		r.run(t, "add", "-A")
		r.run(t, "commit", "-q", "-m", version)
		r.run(t, "tag", version)
	}
	tag("v0.1.0")
	r.run(t, "tag", "v0.1.0-rc.1")

	write("a/a.go", "package a\n\nfunc F(int) {}\n\ntype S struct{ X, Y int }\n\nfunc G() {}\n")
	write("internal/b/b.go", "package b\n")
	require.NoError(t, compare(), "additions, and changes of internal packages")
	require.Contains(t, out.String(), "0 incompatible changes since v0.1.0\n")

	write("a/a.go", "package a\n\nfunc F(string) {}\n")
	err := compare()
	require.ErrorContains(t, err, "a.F: changed from func(int) to func(string); name a.F in CHANGELOG.md above v0.1.0")
	require.ErrorContains(t, err, "a.S: removed")
	write("CHANGELOG.md", "# Changelog\n\n## v0.2.0\n\nRemoved a.S. a.F takes a string.\n\n## v0.1.0\n")
	require.NoError(t, compare())
	require.Contains(t, out.String(), "2 incompatible changes since v0.1.0\n")
	write("CHANGELOG.md", "# Changelog\n\n## v0.1.0\n\nHas a.S and a.F.\n")
	require.Error(t, compare(), "an old section names nothing that is new")

	write("CHANGELOG.md", "# Changelog\n\n## v1.0.0\n\n## v0.1.0\n")
	tag("v1.0.0")
	write("CHANGELOG.md", "# Changelog\n\n## v1.1.0\n\nRemoved a.F.\n\n## v1.0.0\n")
	write("a/a.go", "package a\n")
	require.ErrorContains(t, compare(), "a.F: removed; a version below v2.0.0 must not change it")

	write("a/a.go", "package a\n\nfunc F(\n")
	require.Error(t, compare(), "what does not compile is not compared")
}
