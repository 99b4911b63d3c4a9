package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// compare reports the incompatible changes of the Go API since the newest tag. Before
// v1.0.0 a change is an error if CHANGELOG.md does not name it above the section of that
// tag. From v1.0.0 on every change is an error.
func (r *repository) compare(ctx context.Context, out io.Writer) error {
	tag, err := r.newest(ctx)
	if err != nil {
		return err
	}
	if tag == "" {
		_, err := fmt.Fprintln(out, "no release yet: nothing to compare with")
		return err
	}
	dir, err := r.extract(ctx, tag)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var changes []string
	for _, module := range r.released {
		found, err := incompatible(ctx, filepath.Join(dir, "tree", module), filepath.Join(r.dir, module))
		if err != nil {
			return fmt.Errorf("%s: %w", module, err)
		}
		changes = append(changes, found...)
	}
	fmt.Fprintf(out, "%d incompatible changes since %s\n", len(changes), tag)
	return r.named(tag, changes)
}

// newest returns the newest tag of the root, or "" if there is none.
func (r *repository) newest(ctx context.Context) (string, error) {
	out, err := r.git(ctx, nil, "tag", "--list", "v*")
	tags := slices.DeleteFunc(strings.Fields(out), func(tag string) bool { return !semver.IsValid(tag) })
	if err != nil || len(tags) == 0 {
		return "", err
	}
	return slices.MaxFunc(tags, semver.Compare), nil
}

// incompatible returns the incompatible changes between two directories of a module.
func incompatible(ctx context.Context, before, after string) (changes []string, err error) {
	oldModule, err := load(ctx, before)
	if err != nil {
		return nil, err
	}
	newModule, err := load(ctx, after)
	if err != nil {
		return nil, err
	}
	for _, c := range apidiff.ModuleChanges(oldModule, newModule).Changes {
		if !c.Compatible {
			changes = append(changes, strings.TrimPrefix(c.Message, "./"))
		}
	}
	return changes, nil
}

// load returns the packages that another module can import.
func load(ctx context.Context, dir string) (*apidiff.Module, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Env: append(os.Environ(), "GOWORK=off"), Dir: dir, Mode: packages.NeedName | packages.NeedModule | packages.NeedTypes | packages.NeedImports,
	}, "./...")
	if err != nil {
		return nil, err
	}
	var m apidiff.Module
	for _, p := range loaded {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		if p.Module != nil {
			m.Path = p.Module.Path
		}
		if p.Name != "main" && !slices.Contains(strings.Split(p.PkgPath, "/"), "internal") {
			m.Packages = append(m.Packages, p.Types)
		}
	}
	return &m, err
}

// named returns an error with each change that CHANGELOG.md does not name. A change of
// scaling.Decide is named by the text scaling.Decide.
func (r *repository) named(tag string, changes []string) error {
	data, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	log, _, found := strings.Cut(string(data), "\n## "+tag)
	if !found {
		return fmt.Errorf("CHANGELOG.md: no section %q", "## "+tag)
	}
	var problems []error
	for _, change := range changes {
		name, _, _ := strings.Cut(change, ": ")
		switch name = name[strings.LastIndexByte(name, '/')+1:]; {
		case semver.Compare(tag, "v1.0.0") >= 0:
			problems = append(problems, fmt.Errorf("%s; a version below v2.0.0 must not change it", change))
		case !strings.Contains(log, name):
			problems = append(problems, fmt.Errorf("%s; name %s in CHANGELOG.md above %s", change, name, tag))
		}
	}
	return errors.Join(problems...)
}
