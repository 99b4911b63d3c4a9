package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A swap is an operator that replaces another.
type swap struct {
	name string
	to   token.Token
}

// swaps holds the replacements of each binary, assignment and increment operator.
var swaps = map[token.Token][]swap{
	token.LSS: {{"boundary", token.LEQ}, {"negation", token.GEQ}},
	token.LEQ: {{"boundary", token.LSS}, {"negation", token.GTR}},
	token.GTR: {{"boundary", token.GEQ}, {"negation", token.LEQ}},
	token.GEQ: {{"boundary", token.GTR}, {"negation", token.LSS}},
	token.EQL: {{"negation", token.NEQ}},
	token.NEQ: {{"negation", token.EQL}},

	token.LAND: {{"logical", token.LOR}},
	token.LOR:  {{"logical", token.LAND}},

	token.ADD: {{"arithmetic", token.SUB}}, token.ADD_ASSIGN: {{"arithmetic", token.SUB_ASSIGN}},
	token.SUB: {{"arithmetic", token.ADD}}, token.SUB_ASSIGN: {{"arithmetic", token.ADD_ASSIGN}},
	token.MUL: {{"arithmetic", token.QUO}}, token.MUL_ASSIGN: {{"arithmetic", token.QUO_ASSIGN}},
	token.QUO: {{"arithmetic", token.MUL}}, token.QUO_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.REM: {{"arithmetic", token.MUL}}, token.REM_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},

	token.AND: {{"bitwise", token.OR}}, token.AND_ASSIGN: {{"bitwise", token.OR_ASSIGN}},
	token.OR: {{"bitwise", token.AND}}, token.OR_ASSIGN: {{"bitwise", token.AND_ASSIGN}},
	token.XOR: {{"bitwise", token.AND}}, token.XOR_ASSIGN: {{"bitwise", token.AND_ASSIGN}},
	token.SHL: {{"bitwise", token.SHR}}, token.SHL_ASSIGN: {{"bitwise", token.SHR_ASSIGN}},
	token.SHR: {{"bitwise", token.SHL}}, token.SHR_ASSIGN: {{"bitwise", token.SHL_ASSIGN}},
	token.AND_NOT: {{"bitwise", token.AND}}, token.AND_NOT_ASSIGN: {{"bitwise", token.AND_ASSIGN}},

	token.INC: {{"increment", token.DEC}},
	token.DEC: {{"increment", token.INC}},

	token.BREAK:    {{"branch", token.CONTINUE}},
	token.CONTINUE: {{"branch", token.BREAK}},
}

// visit adds the mutants of a node.
//
// Code is never deleted but made unreachable, as in "if false { … }", so that its
// variables and imports stay used and the mutant compiles.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.swap(n.Op, n.OpPos, n.X)
	case *ast.AssignStmt:
		f.swap(n.Tok, n.TokPos, n.Lhs[0])
	case *ast.IncDecStmt:
		f.swap(n.Tok, n.TokPos, n.X)
	case *ast.BranchStmt:
		f.swap(n.Tok, n.TokPos, nil)
	case *ast.UnaryExpr:
		switch n.Op {
		case token.SUB:
			f.add("sign", n.OpPos, n.OpPos+1, "+")
		case token.NOT:
			f.add("negation", n.OpPos, n.OpPos+1, "")
		}
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		f.truth(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.IfStmt:
		f.condition(n.Cond)
		f.earlyExit(n)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					f.condition(e)
				}
			}
		}
	case *ast.CaseClause:
		f.clause(n.Body)
	case *ast.CommClause:
		f.clause(n.Body)
	case *ast.ForStmt:
		f.loop(n.Body)
	case *ast.RangeStmt:
		f.loop(n.Body)
		f.onlyStatement(n.Body)
	case *ast.ReturnStmt:
		f.results(n)
	}
	return true
}

func (f *finder) swap(op token.Token, at token.Pos, operand ast.Expr) {
	if operand != nil && (op == token.ADD || op == token.ADD_ASSIGN) {
		if b, ok := f.info.TypeOf(operand).Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			return
		}
	}
	for _, s := range swaps[op] {
		f.add(s.name, at, at+token.Pos(len(op.String())), s.to.String())
	}
}

// literal mutates a number: 0 to 1, 1 to 0, another number n to n + 1.
func (f *finder) literal(n *ast.BasicLit) {
	switch {
	case n.Kind == token.STRING || n.Kind == token.IMAG:
	case n.Value == "0":
		f.add("constant", n.Pos(), n.End(), "1")
	case n.Value == "1":
		f.add("constant", n.Pos(), n.End(), "0")
	default:
		f.add("constant", n.Pos(), n.End(), "("+n.Value+" + 1)")
	}
}

func (f *finder) truth(n *ast.Ident) {
	switch f.info.Uses[n] {
	case types.Universe.Lookup("true"):
		f.add("constant", n.Pos(), n.End(), "false")
	case types.Universe.Lookup("false"):
		f.add("constant", n.Pos(), n.End(), "true")
	}
}

// condition makes a condition always true, and always false.
func (f *finder) condition(e ast.Expr) {
	f.wrap("condition", e, e, "true || (", ")", "true")
	f.wrap("condition", e, e, "false && (", ")", "false")
}

// statements removes each statement of a list that can be removed.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		if removable(s) && !f.skip[s] {
			f.remove(s, s)
		}
	}
}

// earlyExit removes the return at the end of an if statement's blocks.
func (f *finder) earlyExit(n *ast.IfStmt) {
	blocks := []*ast.BlockStmt{n.Body}
	if e, ok := n.Else.(*ast.BlockStmt); ok {
		blocks = append(blocks, e)
	}
	if n.Else == nil {
		f.onlyStatement(n.Body) // removing it would be the same as a false condition
	}
	for _, b := range blocks {
		if len(b.List) == 0 || len(b.List) == 1 && n.Else == nil {
			continue
		}
		if last, ok := b.List[len(b.List)-1].(*ast.ReturnStmt); ok {
			f.remove(last, last)
		}
	}
}

// onlyStatement marks the only statement of a block as not to be removed, because
// another mutant has the same effect.
func (f *finder) onlyStatement(b *ast.BlockStmt) {
	if len(b.List) == 1 {
		f.skip[b.List[0]] = true
	}
}

// clause removes the body of a case, and each of its statements if there are several.
func (f *finder) clause(body []ast.Stmt) {
	if len(body) == 0 {
		return
	}
	f.remove(body[0], body[len(body)-1])
	if len(body) > 1 {
		f.statements(body)
	}
}

// loop leaves a loop before the first statement of its body.
func (f *finder) loop(body *ast.BlockStmt) {
	if len(body.List) > 0 {
		f.add("loop", body.Lbrace, body.Lbrace+1, "{ break;")
	}
}

// results replaces each returned value that can be nil.
func (f *finder) results(n *ast.ReturnStmt) {
	for _, e := range n.Results {
		t := f.info.Types[e]
		if t.IsNil() || !nilable(t.Type) {
			continue
		}
		with := string(f.source[f.offset(n.Pos()):f.offset(e.Pos())]) + "nil" + string(f.source[f.offset(e.End()):f.offset(n.End())])
		f.wrap("nil", n, n, "if true { "+with+" }\n", "", with)
	}
}

func nilable(t types.Type) bool {
	if _, generic := t.(*types.TypeParam); generic {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return true
	}
	return false
}

// removable reports whether a program may compile and differ without s.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return types.ExprString(e) != "_" })
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		return true
	}
	return false
}
