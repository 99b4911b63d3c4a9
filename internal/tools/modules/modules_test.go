package modules

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	require.Equal(t, []Module{
		{Dir: ".", Words: []string{"released"}}, {Dir: "a", Words: []string{}}, {Dir: "b/c", Words: []string{"keda", "programs"}, Alone: true},
	}, Parse("go 1.26.0\n\n// of ./x\nuse (\n\t. // released\n\t./a\n)\n\n// Others:\n//\n//\t./b/c keda programs\n"))
}

// Each module of the repository is in go.work, and has tests if and only if it is in a list
// of tests.
func TestAll(t *testing.T) {
	const root = "../../.."
	all, err := Read(root)
	require.NoError(t, err)
	listed := map[string]Module{}
	for _, m := range all {
		require.NotContains(t, listed, m.Dir, "listed twice")
		listed[m.Dir] = m
		for _, word := range m.Words {
			require.Contains(t, []string{"released", "keda", "cluster", "named", "programs"}, word, m.Dir)
		}
	}
	tested := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if d.Name() == "go.mod" {
			require.Contains(t, listed, dir, "a module that is not in go.work")
		}
		if strings.HasSuffix(path, "_test.go") {
			for m := dir; ; m = filepath.Dir(m) {
				if _, err := os.Stat(filepath.Join(root, m, "go.mod")); err == nil {
					tested[m] = true
					break
				}
			}
		}
		return err
	}))
	for dir, m := range listed {
		require.Equal(t, tested[dir], !m.HasWord("programs"), "%s has tests and is in a list of tests, or neither", dir)
		require.Equal(t, m.Alone && tested[dir], m.HasWord("named"), "%s: outside of the workspace, a module with tests is named in the Makefile", dir)
	}
}
