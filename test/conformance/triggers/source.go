package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/kedacore/keda/v2"

// A source is KEDA's source code of a release, type-checked within its own module. Packages
// of other modules are empty.
type source struct {
	dir      string
	files    *token.FileSet
	packages map[string]*pkg
	info     *types.Info
	// functions are the declarations of all functions and methods.
	functions map[types.Object]*ast.FuncDecl
}

type pkg struct {
	types *types.Package
	files []*ast.File
}

// download returns the directory with KEDA's source code.
func download(version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if err := errors.Join(json.Unmarshal(bytes.TrimSpace(out), &answer), err); err != nil {
		return "", fmt.Errorf("%s: %w %s", version, err, answer.Error)
	}
	return answer.Dir, nil
}

func load(dir string) (*source, error) {
	s := &source{dir: dir, files: token.NewFileSet(), packages: map[string]*pkg{}, functions: map[types.Object]*ast.FuncDecl{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	for _, path := range []string{"pkg/scaling", "pkg/scalers"} {
		if _, err := s.Import(module + "/" + path); err != nil {
			return nil, err
		}
	}
	for _, p := range s.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					s.functions[s.info.Defs[d.Name]] = d
				}
			}
		}
	}
	return s, nil
}

// directories are the directories of KEDA that may read a trigger's metadata.
var directories = []string{"pkg/scaling", "pkg/scalers", "pkg/util"}

// Import implements types.Importer.
func (s *source) Import(path string) (*types.Package, error) {
	if p := s.packages[path]; p != nil {
		return p.types, nil
	}
	folder, ok := strings.CutPrefix(path, module+"/")
	if !ok || !slices.ContainsFunc(directories, func(w string) bool { return folder == w || strings.HasPrefix(folder, w+"/") }) {
		return nil, errors.New("another module")
	}
	names, err := filepath.Glob(filepath.Join(s.dir, filepath.FromSlash(folder), "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s has no Go files", path)
	}
	p := &pkg{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	// Errors are expected: the packages of other modules are empty.
	config := types.Config{Importer: s, Error: func(error) {}}
	p.types, _ = config.Check(path, s.files, p.files, s.info)
	s.packages[path] = p
	return p.types, nil
}

// constructors returns the function that makes the scaler of each type of trigger.
func (s *source) constructors() map[string]types.Object {
	found := map[string]types.Object{}
	for _, f := range s.packages[module+"/pkg/scaling"].files {
		ast.Inspect(f, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok || len(clause.Body) != 1 {
				return true
			}
			result, ok := clause.Body[0].(*ast.ReturnStmt)
			if !ok || len(result.Results) != 1 {
				return true
			}
			call, ok := result.Results[0].(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(fun.Sel.Name, "New") || !strings.HasSuffix(fun.Sel.Name, "Scaler") {
				return true
			}
			for _, kind := range clause.List {
				if text, ok := kind.(*ast.BasicLit); ok {
					if name, err := strconv.Unquote(text.Value); err == nil {
						found[name] = s.info.Uses[fun.Sel]
					}
				}
			}
			return true
		})
	}
	return found
}
