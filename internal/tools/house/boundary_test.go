package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "github.com/scaledjob/scaledjob"

// moduleOf returns the directory of the module that holds a file or directory.
func moduleOf(name string) string {
	for dir := path.Clean(name); ; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == "." {
			return dir
		}
	}
}

// No module imports a package below a directory internal of another module, but for one
// protocol, and no test
// reads a file of another module: whoever downloads a module has neither. The tools serve
// the repository as a whole.
func TestBoundaries(t *testing.T) {
	for _, name := range files(t, ".go") {
		name = filepath.ToSlash(name)
		module := moduleOf(path.Dir(name))
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			imported, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
			if owner, _, ok := strings.Cut(imported+"/", "/internal/"); ok && strings.HasPrefix(owner+"/", root+"/") {
				dir := "." + strings.TrimPrefix(imported, root)
				assert.Equal(t, module, moduleOf(dir), "%s imports %s of another module", name, imported)
			}
		}
		if module == "internal/tools" || !strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, file := range above(n) {
				target := path.Join(path.Dir(name), file)
				_, err := os.Stat(target)
				assert.False(t, err == nil && moduleOf(target) != module, "%s reads %s of another module", name, target)
			}
			return true
		})
	}
}

// above returns the relative names in a literal or in the arguments of filepath.Join.
func above(n ast.Node) []string {
	text := func(e ast.Node) string {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, _ := strconv.Unquote(l.Value)
			return s
		}
		return ""
	}
	if c, ok := n.(*ast.CallExpr); ok && strings.HasSuffix(called(c.Fun), ".Join") {
		var parts []string
		for _, a := range c.Args {
			part := text(a)
			if part == "" {
				break
			}
			parts = append(parts, part)
		}
		if joined := path.Join(parts...); strings.HasPrefix(joined, "../") || joined == ".." {
			return []string{joined}
		}
		return nil
	}
	if s := text(n); strings.HasPrefix(s, "../") && !strings.ContainsAny(s, " \n") {
		return []string{s}
	}
	return nil
}

// Files of over 400 KB, and an archive of over 4 MB, are built programs or data that should
// be generated.
func TestSizes(t *testing.T) {
	out, err := command(t, "git", "ls-tree", "-r", "-l", "HEAD")
	if err != nil {
		t.Skip("not a clone of the repository")
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		size, err := strconv.Atoi(fields[3])
		assert.False(t, err == nil && size > 400_000, "%s has %d bytes", fields[4], size)
	}
	archive, err := command(t, "git", "archive", "--format=tar.gz", "HEAD")
	require.NoError(t, err)
	t.Logf("the archive has %d bytes", len(archive))
	require.LessOrEqual(t, len(archive), 4_000_000)
}

// A built program is a file without an extension, wherever it is built.
func TestProgramsAreIgnored(t *testing.T) {
	tracked, err := command(t, "git", "ls-files", "--cached", "--ignored", "--exclude-standard")
	if err != nil {
		t.Skip("not a clone of the repository")
	}
	require.Empty(t, tracked)
	programs := []string{"fleet", "controllers/scheduled/scheduled", "controllers/multicluster/local/local", "internal/tools/release/release"}
	ignored, err := command(t, "git", append([]string{"check-ignore", "--no-index"}, programs...)...)
	require.NoError(t, err)
	require.Equal(t, programs, strings.Fields(ignored))
}
