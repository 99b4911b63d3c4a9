package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	rootMod    = "module example.com/root\n\ngo 1.26.0\n"
	adapterMod = "module example.com/root/adapter\n\ngo 1.26.0\n\nrequire example.com/root v0.0.0\n\nreplace example.com/root => ..\n"
)

// project makes a repository with the modules that are released.
func project(t *testing.T, commandMod string) *repository {
	t.Helper()
	r := &repository{dir: t.TempDir(), env: []string{
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost",
	}, root: "example.com/root", released: []string{".", "adapter", "cmd/scaledjob"}}
	for name, text := range map[string]string{
		"go.mod": rootMod, "adapter/go.mod": adapterMod, "adapter/a.go": "package adapter\n", "root.go": "package root\n", "CHANGELOG.md": "# Changelog\n\n## v0.1.0\n", "cmd/scaledjob/go.mod": commandMod,
		"cmd/scaledjob/go.sum": "example.com/other v1.0.0 h1:x=\nexample.com/root v0.0.1 h1:old=\n", "cmd/scaledjob/main.go": "package main\n",
	} {
		file := filepath.Join(r.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, args := range []string{"init -q", "add -A", "commit -q -m start"} {
		r.run(t, strings.Fields(args)...)
	}
	return r
}

func (r *repository) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.git(t.Context(), nil, args...)
	require.NoError(t, err)
	return out
}

const tied = "module example.com/root/cmd/scaledjob\n\ngo 1.26.0\n\nrequire (\n\texample.com/other v1.0.0\n\texample.com/root v0.0.0\n\texample.com/root/adapter v0.0.0\n)\n\nreplace example.com/root => ../..\nreplace example.com/root/adapter => ../../adapter\n"

// The release is a commit beside the branch, without replace, with both tags. Neither the
// branch nor the working tree changes.
func TestRelease(t *testing.T) {
	r := project(t, tied)
	before := r.run(t, "rev-parse", "HEAD")
	tags, _, err := r.release(t.Context(), "v0.1.0", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"v0.1.0", "adapter/v0.1.0", "cmd/scaledjob/v0.1.0"}, tags)
	require.Equal(t, before, r.run(t, "rev-parse", "HEAD"))
	require.Empty(t, r.run(t, "status", "--porcelain"))

	commit := r.run(t, "rev-parse", "v0.1.0^{commit}")
	require.Equal(t, commit, r.run(t, "rev-parse", "cmd/scaledjob/v0.1.0^{commit}"))
	require.Equal(t, before, r.run(t, "rev-parse", commit+"^"))
	require.Equal(t, "release: v0.1.0", r.run(t, "log", "-1", "--format=%s", commit))
	require.Equal(t, "adapter/go.mod\nadapter/go.sum\ncmd/scaledjob/go.mod\ncmd/scaledjob/go.sum", r.run(t, "diff", "--name-only", "HEAD", commit))
	mod := r.run(t, "show", commit+":cmd/scaledjob/go.mod")
	require.NotContains(t, mod, "replace")
	require.Contains(t, mod, "example.com/root v0.1.0")
	sum := strings.Split(r.run(t, "show", commit+":cmd/scaledjob/go.sum"), "\n")
	require.Len(t, sum, 5)
	require.Equal(t, "example.com/other v1.0.0 h1:x=", sum[0])
	require.Regexp(t, `^example.com/root v0.1.0 h1:.{43}=$`, sum[1])
	require.Regexp(t, `^example.com/root v0.1.0/go.mod h1:.{43}=$`, sum[2])
	require.Regexp(t, `^example.com/root/adapter v0.1.0 h1:.{43}=$`, sum[3])
	require.Equal(t, strings.Join(sum[1:3], "\n"), r.run(t, "show", commit+":adapter/go.sum"), "the hashes of what it requires")
}

// The hash of a module depends on those that it requires, and on no other.
func TestSums(t *testing.T) {
	r := project(t, tied)
	hashes := func() (all [2]string) {
		commit, _, err := r.commit(t.Context(), "v0.1.0", nil)
		require.NoError(t, err)
		for i, path := range []string{"example.com/root v", "example.com/root/adapter v"} {
			for line := range strings.Lines(r.run(t, "show", commit+":cmd/scaledjob/go.sum")) {
				if strings.HasPrefix(line, path) {
					all[i] += line
				}
			}
		}
		return all
	}
	first := hashes()
	edit := func(file string) [2]string {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, file), []byte("package x\n"), 0o644))
		r.run(t, "commit", "-q", "-a", "-m", "edit")
		return hashes()
	}
	require.Equal(t, first, edit("cmd/scaledjob/main.go"))
	second := edit("adapter/a.go")
	require.Equal(t, first[0], second[0])
	require.NotEqual(t, first[1], second[1])
	third := edit("root.go")
	require.NotEqual(t, second[0], third[0])
	require.NotEqual(t, second[1], third[1])
}

// A module comes after the modules that it requires.
func TestOrder(t *testing.T) {
	r := project(t, tied)
	r.released = []string{"adapter", ".", "cmd/scaledjob"}
	_, _, err := r.commit(t.Context(), "v0.1.0", nil)
	require.ErrorContains(t, err, "adapter/go.mod: requires example.com/root, which is not released before it")
}

// A release that people could not use is an error.
func TestNotReleased(t *testing.T) {
	for name, c := range map[string]struct {
		mod, version, want string
		dirty              bool
	}{
		"another module":  {tied + "require example.com/root/e2e v0.0.0\n", "v0.1.0", "requires example.com/root/e2e, which is not released", false},
		"another replace": {tied + "replace example.com/other => ../other\n", "v0.1.0", "replaces example.com/other", false},
		"no version":      {tied, "1.0", `version "1.0": invalid`, false},
		"major 2":         {tied, "v2.0.0", `version "v2.0.0": invalid`, false},
		"no changes told": {tied, "v0.2.0", `no section "## v0.2.0"`, false},
		"dirty":           {tied, "v0.1.0", "the working tree has changes", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := project(t, c.mod)
			if c.dirty {
				require.NoError(t, os.WriteFile(filepath.Join(r.dir, "new.go"), nil, 0o644))
			}
			_, _, err := r.release(t.Context(), c.version, nil)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, r.run(t, "tag"))
		})
	}
	r := project(t, tied)
	_, _, err := r.release(t.Context(), "v0.1.0", nil)
	require.NoError(t, err)
	_, _, err = r.release(t.Context(), "v0.1.0", nil)
	require.ErrorContains(t, err, "exist; use a new version")
}
