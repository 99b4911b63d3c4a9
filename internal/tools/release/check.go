package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// A consumer uses a release from a module proxy in a directory.
type consumer struct {
	dir, version string
	*repository
	env []string
	out io.Writer
}

// check publishes HEAD to a module proxy, and installs, runs and imports it from there.
// The version is new on every run: the module cache serves the old content of another.
func (r *repository) check(ctx context.Context, out io.Writer) error {
	version := fmt.Sprintf("v0.0.0-check.%d", time.Now().UnixNano())
	if changes, err := r.git(ctx, nil, "status", "--porcelain"); err == nil && changes != "" {
		fmt.Fprintln(out, "note: uncommitted changes are not checked")
	}
	in := *r
	in.env = []string{"GIT_AUTHOR_NAME=check", "GIT_AUTHOR_EMAIL=check@localhost", "GIT_COMMITTER_NAME=check", "GIT_COMMITTER_EMAIL=check@localhost"}
	commit, _, err := in.commit(ctx, version, nil)
	if err != nil {
		return err
	}
	dir, err := r.extract(ctx, commit)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, module := range r.released {
		if err := r.publish(filepath.Join(dir, "proxy"), filepath.Join(dir, "tree", module), module, version); err != nil {
			return fmt.Errorf("publish %s: %w", module, err)
		}
	}
	fmt.Fprintf(out, "published %s of %d modules to a module proxy\n", version, len(r.released))
	c, err := r.consumer(ctx, dir, version, out)
	if err != nil {
		return err
	}
	defer c.forget(ctx)
	return errors.Join(c.install(ctx), c.imports(ctx))
}

// publish writes the files of a module proxy for a module.
func (r *repository) publish(proxy, tree, dir, version string) error {
	m := module.Version{Path: r.path(dir), Version: version}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	folder := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(filepath.Join(folder, version+".info"), []byte(info), 0o644),
		os.WriteFile(filepath.Join(folder, version+".mod"), mod, 0o644),
		createZip(filepath.Join(folder, version+".zip"), m, tree),
	)
}

func (r *repository) consumer(ctx context.Context, dir, version string, out io.Writer) (*consumer, error) {
	c := &consumer{dir: dir, version: version, repository: r, out: out}
	proxy, err := c.run(ctx, dir, "", "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	c.env = []string{
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(dir, "proxy")) + "," + strings.TrimSpace(proxy),
		"GONOSUMDB=" + r.root, "GOFLAGS=-modcacherw", "GOWORK=off", "GOBIN=" + filepath.Join(dir, "bin"),
	}
	return c, os.MkdirAll(filepath.Join(dir, "importer"), 0o755)
}

// run runs a command and returns its output.
func (c *consumer) run(ctx context.Context, dir, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env, command.Stdin = dir, append(os.Environ(), c.env...), strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

const scaledJob = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: example.com/worker}]}}}
  triggers: [{type: redis, metadata: {address: "redis:6379", listName: orders, listLength: "5"}}]
`

// install installs the command from the proxy, and runs it away from the clone, without
// the machine's time zones.
func (c *consumer) install(ctx context.Context) error {
	if _, err := c.run(ctx, c.dir, "", "go", "install", c.root+"/cmd/scaledjob@"+c.version); err != nil {
		return err
	}
	c.env = append(c.env, "ZONEINFO="+filepath.Join(c.dir, "none"))
	for _, call := range []struct{ args, want string }{
		{"version", c.version},
		{"explain - --queue 12", "create    3"},
		{"lint -", "ScaledJob"},
		{"next R/T02:30:00/P1D --zone Europe/Berlin -n 1", "02:30:00 +0"},
	} {
		args := append([]string{filepath.Join(c.dir, "bin", "scaledjob")}, strings.Fields(call.args)...)
		out, err := c.run(ctx, c.dir, scaledJob, args...)
		if err == nil && !strings.Contains(out, call.want) {
			err = fmt.Errorf("no %q in\n%s", call.want, out)
		}
		if err != nil {
			return fmt.Errorf("scaledjob %s: %w", call.args, err)
		}
	}
	fmt.Fprintln(c.out, "installed and run: cmd/scaledjob")
	return nil
}

const program = `package main

import (
	"fmt"
IMPORTS
	"ROOT/scaling"
	"ROOT/strategy"
)

func main() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Max: 6}, Strategy: strategy.Default{}}
	d := scaling.Decide(policy, scaling.Observation{Metrics: []scaling.Metric{{Value: 12, Target: 5}}, Jobs: &scaling.JobCounts{}})
	fmt.Println("create", d.Create)
}
`

// imports builds and runs a program that imports a package of each library, from the proxy. The command
// is none: it needs newer versions of Kubernetes than adapter/controllerruntime works with.
func (c *consumer) imports(ctx context.Context) error {
	dir := filepath.Join(c.dir, "importer")
	var lines string
	imported, get := []string{}, []string{"go", "get"}
	for _, module := range c.released {
		name, err := c.library(ctx, module)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		imported, get = append(imported, module), append(get, c.path(module)+"@"+c.version)
		lines += fmt.Sprintf("\t_ %q\n", name)
	}
	text := strings.NewReplacer("IMPORTS", lines, "ROOT", c.root).Replace(program)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"go", "mod", "init", "example.com/importer"}, get, {"go", "mod", "tidy"}} {
		if _, err := c.run(ctx, dir, "", args...); err != nil {
			return err
		}
	}
	out, err := c.run(ctx, dir, "", "go", "run", ".")
	if err != nil {
		return err
	}
	if !strings.Contains(out, "create 3") {
		return fmt.Errorf("the importing program printed %q", out)
	}
	fmt.Fprintln(c.out, "imported:", strings.Join(imported, ", "))
	return nil
}

// library returns the path of the first package of a module that others can import, or "" if
// the module is a command.
func (c *consumer) library(ctx context.Context, module string) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	command.Dir, command.Stderr = filepath.Join(c.repository.dir, module), os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "main" {
			return "", nil
		}
		if !strings.Contains(path+"/", "/internal/") && path != c.root {
			return path, nil
		}
	}
	return "", nil
}

// forget deletes the version from the module cache.
func (c *consumer) forget(ctx context.Context) {
	cache, err := c.run(ctx, c.dir, "", "go", "env", "GOMODCACHE")
	path, escapeErr := module.EscapePath(c.root)
	if err != nil || escapeErr != nil {
		return
	}
	for _, dir := range c.released {
		name := filepath.Join(filepath.FromSlash(path), dir)
		_ = os.RemoveAll(filepath.Join(strings.TrimSpace(cache), name+"@"+c.version))
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(cache), "cache", "download", name, "@v", c.version+".*"))
		for _, file := range files {
			_ = os.Remove(file)
		}
	}
}
