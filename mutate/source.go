package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A listed is the output of "go list" about a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	EmbedFiles, TestEmbedFiles         []string
	XTestEmbedFiles                    []string
	DepOnly                            bool
	Module                             *struct {
		Main bool
		Dir  string
	}
}

// list runs "go list" in a directory.
func list(ctx context.Context, dir string, args ...string) ([]listed, error) {
	const fields = "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,EmbedFiles,TestEmbedFiles,XTestEmbedFiles,DepOnly,Module"
	out, err := command(ctx, dir, "go", append([]string{"list", fields}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// command runs a program and returns its output. The error has its standard error.
func command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stderr = dir, &stderr
	out, err := c.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.Bytes())
	}
	return out, nil
}

// A file is a source file of a package under mutation.
type file struct {
	pkg        string
	absolute   string
	path       string // relative to the directory of the run, with slashes
	source     []byte
	syntax     *ast.File
	signatures *ast.File // the same without the bodies of functions
}

// A source is a type-checked package under mutation.
type source struct {
	path, dir string
	files     []file
	fset      *token.FileSet
	info      *types.Info
	importer  types.Importer
}

// load reads the packages that match the patterns.
func load(ctx context.Context, dir string, patterns []string) ([]*source, error) {
	all, err := list(ctx, dir, append([]string{"-export", "-deps", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	fset, exports := token.NewFileSet(), map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var sources []*source
	for _, l := range all {
		if l.DepOnly {
			continue
		}
		s := &source{path: l.ImportPath, dir: l.Dir, fset: fset, importer: imports}
		for _, name := range l.GoFiles {
			if err := s.read(dir, name); err != nil {
				return nil, err
			}
		}
		s.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		var files []*ast.File
		for _, f := range s.files {
			files = append(files, f.syntax)
		}
		conf := types.Config{Importer: imports}
		if _, err := conf.Check(s.path, fset, files, s.info); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func (s *source) read(dir, name string) error {
	f := file{pkg: s.path, absolute: filepath.Join(s.dir, name)}
	path, err := filepath.Rel(dir, f.absolute)
	if err != nil {
		return err
	}
	f.path = filepath.ToSlash(path)
	if f.source, err = os.ReadFile(f.absolute); err != nil {
		return err
	}
	if f.syntax, err = parser.ParseFile(s.fset, f.absolute, f.source, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return err
	}
	if f.signatures, err = parser.ParseFile(s.fset, f.absolute, f.source, parser.SkipObjectResolution); err != nil {
		return err
	}
	for _, d := range f.signatures.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			d.Body = nil
		}
	}
	s.files = append(s.files, f)
	return nil
}

// mutants returns all mutants of the package, in order of file and position.
func (s *source) mutants() []*mutant {
	var all []*mutant
	for _, f := range s.files {
		finder := finder{file: f, fset: s.fset, info: s.info}
		all = append(all, finder.find()...)
	}
	return all
}

// file returns the file of a mutant.
func (s *source) file(m *mutant) *file {
	return &s.files[slices.IndexFunc(s.files, func(f file) bool { return f.path == m.File })]
}

// compiles reports whether the package compiles with a mutant.
func (s *source) compiles(m *mutant) bool {
	changed := s.file(m)
	text := m.apply(changed.source, span{0, len(changed.source)})
	mutated, err := parser.ParseFile(s.fset, changed.absolute, text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files, valid := []*ast.File{mutated}, true
	for _, f := range s.files {
		if f.path != m.File {
			files = append(files, f.signatures)
		}
	}
	conf := types.Config{Importer: s.importer, Error: func(err error) {
		// Errors elsewhere are of bodies and imports left out.
		if e, ok := err.(types.Error); ok && e.Pos >= mutated.FileStart && e.Pos <= mutated.FileEnd {
			valid = false
		}
	}}
	_, _ = conf.Check(s.path, s.fset, files, nil)
	return valid
}
