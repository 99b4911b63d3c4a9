package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each fuzz target has seeds, so that go test runs it: f.Add in it, or a function of
// package premise.
func TestFuzzTargetsHaveSeeds(t *testing.T) {
	targets := 0
	for _, name := range files(t, "_test.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			targets++
			assert.True(t, calls(f, "f.Add", "premise.Fuzz", "premise.Seeded", "Fuzz"), "%s: %s has no seeds", name, f.Name)
		}
	}
	require.GreaterOrEqual(t, targets, 75)
}

// calls reports whether a function calls one of the names.
func calls(f *ast.FuncDecl, names ...string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			found = found || slices.Contains(names, called(c.Fun))
		}
		return true
	})
	return found
}

// called returns the name in a call, with the package or the receiver.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}
