// Imports builds programs that import the library beside each supported controller-runtime, and
// fails if a version that the program had before changes. It prints the table of the README.
//
//	go run ./internal/tools/imports                 compare the table with README.md
//	go run ./internal/tools/imports -write          write it there
//	go run ./internal/tools/imports -build=false    compare the versions only, which takes seconds
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
)

// runtimes are the newest patches of the minor releases of controller-runtime that are
// supported, the oldest first.
var runtimes = []string{"v0.22.4", "v0.23.3", "v0.24.1", "v0.25.2"}

// A library is a set of modules that programs import, the packages to import, and the first
// controller-runtime beside which they build.
type library struct {
	modules  []string // their directories
	packages []string
	first    string
}

var libraries = []library{
	{[]string{"."}, []string{"scaling", "slots", "history", "placement/jobs", "schedule"}, "v0.22.4"},
	{[]string{".", "adapter", "adapter/triggers"}, []string{"adapter", "adapter/scaledjob", "adapter/member", "adapter/triggers"}, "v0.23.3"},
}

var build bool

const root = "github.com/scaledjob/scaledjob"

func main() {
	write := flag.Bool("write", false, "write the table into README.md")
	flag.BoolVar(&build, "build", true, "build the programs too: 7 CPU minutes")
	flag.Parse()
	if err := check(context.Background(), *write, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "imports:", err)
		os.Exit(1)
	}
}

// check builds all programs, and compares the table with README.md's.
func check(ctx context.Context, write bool, log io.Writer) error {
	rows := []string{"| controller-runtime | its client-go | its go line | packages of the root | `adapter`, `adapter/triggers` |", "|---|---|---|---|---|"}
	for _, version := range runtimes {
		row, err := beside(ctx, version)
		if err != nil {
			return fmt.Errorf("controller-runtime %s: %w", version, err)
		}
		fmt.Fprintln(log, row)
		rows = append(rows, row)
	}
	table := strings.Join(rows, "\n") + "\n\nKEDA: manifests and rules of 2.0 to " + strings.TrimSuffix(keda.Newest().Release(), ".0") + ".\n"
	data, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	readme := string(data)
	if strings.Contains(readme, table) {
		return nil
	}
	if !write {
		return fmt.Errorf("README.md has another table; use go run ./internal/tools/imports -write\n%s", table)
	}
	before, rest, found := strings.Cut(readme, rows[0])
	if !found {
		return fmt.Errorf("README.md has no table %q; write its first line", rows[0])
	}
	_, rest, _ = strings.Cut(rest, "\nKEDA: ")
	_, after, _ := strings.Cut(rest, "\n")
	return os.WriteFile("README.md", []byte(before+table+after), 0o644)
}

// beside returns the row of a controller-runtime.
func beside(ctx context.Context, version string) (string, error) {
	cells := []string{strings.TrimPrefix(version, "v")}
	for _, l := range libraries {
		p, err := start(ctx, version)
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(p.dir)
		if len(cells) == 1 {
			cells = append(cells, strings.TrimPrefix(p.versions["k8s.io/client-go"], "v"), p.goLine)
		}
		if slices.Index(runtimes, version) < slices.Index(runtimes, l.first) {
			cells = append(cells, "no")
			continue
		}
		if err := p.add(ctx, l); err != nil {
			return "", fmt.Errorf("%s: %w", l.modules, err)
		}
		cells = append(cells, "yes")
	}
	return "| " + strings.Join(cells, " | ") + " |", nil
}

// A program imports a controller-runtime, and then the library.
type program struct {
	dir      string
	versions map[string]string // of all modules, before the library
	goLine   string
}

// start makes a program with the versions that controller-runtime asks for.
func start(ctx context.Context, version string) (*program, error) {
	dir, err := os.MkdirTemp("", "imports-")
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir}
	for _, args := range [][]string{
		{"mod", "init", "example.com/importer"}, {"mod", "edit", "-go=1.24.0"}, {"get", "sigs.k8s.io/controller-runtime@" + version},
	} {
		if _, err := p.run(ctx, args...); err != nil {
			return nil, err
		}
	}
	if p.versions, err = p.list(ctx); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, "list", "-m", "-f", "{{.GoVersion}}", "sigs.k8s.io/controller-runtime")
	p.goLine = strings.TrimSpace(out)
	return p, err
}

// add imports the packages, builds the program, and compares the versions. The library's own
// go line may raise the program's.
func (p *program) add(ctx context.Context, l library) error {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t_ \"sigs.k8s.io/controller-runtime\"\n")
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, name := range l.packages {
		if _, err := os.Stat(filepath.Join(here, name)); err == nil {
			fmt.Fprintf(&b, "\t_ %q\n", root+"/"+name)
		}
	}
	b.WriteString(")\n\nfunc main() {}\n")
	if err := os.WriteFile(filepath.Join(p.dir, "main.go"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	edits := []string{"mod", "edit"}
	for _, module := range l.modules {
		is := path.Join(root, module)
		edits = append(edits, "-require="+is+"@v0.0.0", "-replace="+is+"="+filepath.Join(here, module))
	}
	load := []string{"list", "-mod=mod", "-deps", "."}
	if build {
		load = []string{"build", "-mod=mod", "-o", os.DevNull, "."}
	}
	for _, args := range [][]string{edits, load} {
		if _, err := p.run(ctx, args...); err != nil {
			return err
		}
	}
	after, err := p.list(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for path, version := range p.versions {
		if after[path] != version {
			problems = append(problems, fmt.Errorf("%s %s becomes %s; require an older one", path, version, after[path]))
		}
	}
	return errors.Join(problems...)
}

// list returns the versions of all modules but the program's own.
func (p *program) list(ctx context.Context) (map[string]string, error) {
	out, err := p.run(ctx, "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for line := range strings.Lines(out) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if version != "" {
			versions[path] = version
		}
	}
	return versions, nil
}

func (p *program) run(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = p.dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
