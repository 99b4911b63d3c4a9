package main

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A finder finds the mutants of a file.
type finder struct {
	file
	fset *token.FileSet
	info *types.Info

	name string            // of the declaration
	body span              // of the function, zero if it cannot hold several mutants
	skip map[ast.Stmt]bool // statements not to remove
	out  []*mutant
}

// find returns the mutants of a file, ordered by position, also mutants that do not
// compile.
func (f *finder) find() []*mutant {
	if ast.IsGenerated(f.syntax) {
		return nil
	}
	f.skip = map[ast.Stmt]bool{}
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.function(d)
		case *ast.GenDecl:
			f.values(d)
		}
	}
	slices.SortStableFunc(f.out, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[string]int{}
	for _, m := range f.out {
		key := m.change()
		m.Nth = seen[key]
		seen[key]++
	}
	return f.out
}

func (f *finder) function(d *ast.FuncDecl) {
	if d.Body == nil {
		return
	}
	f.name = d.Name.Name
	if d.Recv != nil {
		t := types.TypeString(f.info.TypeOf(d.Recv.List[0].Type), func(*types.Package) string { return "" })
		f.name = strings.TrimPrefix(t, "*") + "." + f.name
	}
	f.body = span{}
	if !f.bound(d.Body) {
		f.body = span{f.offset(d.Body.Lbrace) + 1, f.offset(d.Body.Rbrace)}
	}
	ast.Inspect(d.Body, f.visit)
}

// values finds the mutants of package-level variables and constants.
func (f *finder) values(d *ast.GenDecl) {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok {
			f.name, f.body = v.Names[0].Name, span{}
			for _, e := range v.Values {
				ast.Inspect(e, f.visit)
			}
		}
	}
}

// bound reports whether copies of a function's body cannot share the function: it
// has labels, or its outermost statements assign to a parameter by ":=", which
// declares a new variable in a nested block.
func (f *finder) bound(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return true
	})
	for _, s := range body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				used := f.info.Uses[e.(*ast.Ident)]
				found = found || used != nil && used.Pos() < body.Pos()
			}
		}
	}
	return found
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// add adds a mutant that replaces the source between two positions.
func (f *finder) add(operator string, from, to token.Pos, text string) {
	f.replace(operator, span{f.offset(from), f.offset(to)}, text, text)
}

// wrap adds a mutant that puts text around the source from a node to another.
func (f *finder) wrap(operator string, from, to ast.Node, before, after, shown string) {
	s := span{f.offset(from.Pos()), f.offset(to.End())}
	f.replace(operator, s, before+string(f.source[s.start:s.end])+after, shown)
}

// remove adds a mutant without the statements from first to last.
func (f *finder) remove(first, last ast.Stmt) {
	f.wrap("removal", first, last, "if false { ", "\n}", "")
}

func (f *finder) replace(operator string, edit span, text, shown string) {
	lines := f.fset.File(f.syntax.Pos())
	start, end := lines.Position(lines.Pos(edit.start)), lines.Position(lines.Pos(edit.end))
	m := &mutant{
		Package: f.pkg, File: f.path, Line: start.Line, Column: start.Column, Function: f.name, Operator: operator,
		lastLine: end.Line, edit: edit, text: text, body: f.body,
	}
	m.show(f.source, shown)
	f.out = append(f.out, m)
}
