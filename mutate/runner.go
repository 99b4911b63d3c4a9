package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// selector is an environment variable, and a variable in the package under
// mutation: the number of the mutant that is active, from 1.
const selector = "ACTIVE_MUTANT"

// batchSize is the number of mutants in a test binary.
const batchSize = 100

// leastTimeout is how long tests may take in any case.
var leastTimeout = 10 * time.Second

// An outcome is the result of a mutant.
type outcome struct {
	Result string `json:"result"`       // killed, survived or not compiled
	By     string `json:"by,omitempty"` // test that killed it, "timeout", "exit", or "not covered"
}

// runAll runs the tests against mutants. Mutants that can share a test binary do.
func (t *task) runAll(ctx context.Context, mutants []*mutant) error {
	var shared, alone []*mutant
	for _, m := range mutants {
		switch {
		case !slices.ContainsFunc(t.suites, func(s *suite) bool { return s.covers(m) }):
			if err := t.done(m, outcome{survived, notCovered}); err != nil {
				return err
			}
		case m.body == span{}:
			alone = append(alone, m)
		default:
			shared = append(shared, m)
		}
	}
	batches := slices.Concat(slices.Collect(slices.Chunk(shared, batchSize)), slices.Collect(slices.Chunk(alone, 1)))
	for _, b := range batches {
		if err := t.batch(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// batch runs mutants in the same test binary. If the binary does not build, or fails
// without an active mutant, its halves are built.
func (t *task) batch(ctx context.Context, mutants []*mutant) error {
	dir, err := os.MkdirTemp(t.temp, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binaries, err := t.build(ctx, dir, mutants)
	if len(mutants) > 1 {
		for s, binary := range binaries {
			_, failed := s.run(ctx, binary, dir, "")
			err = errors.Join(err, failed)
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return err
	case err != nil && len(mutants) == 1:
		return t.done(mutants[0], outcome{Result: notCompiled})
	case err != nil:
		half := len(mutants) / 2
		if err := t.batch(ctx, mutants[:half]); err != nil {
			return err
		}
		return t.batch(ctx, mutants[half:])
	}
	return t.parallel(mutants, func(number int, m *mutant) error {
		o, err := t.test(ctx, binaries, dir, number, m)
		if err != nil {
			return err
		}
		return t.done(m, o)
	})
}

// parallel calls f for each mutant, with numbers from 1.
func (t *task) parallel(mutants []*mutant, f func(int, *mutant) error) error {
	var wg sync.WaitGroup
	errs, tokens := make([]error, len(mutants)), make(chan struct{}, t.options.workers)
	for i, m := range mutants {
		tokens <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i+1, m)
			<-tokens
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// test runs the tests that reach a mutant, until a test fails.
func (t *task) test(ctx context.Context, binaries map[*suite]string, dir string, number int, m *mutant) (outcome, error) {
	for _, s := range t.suites {
		if !s.covers(m) {
			continue
		}
		limit := max(leastTimeout, time.Duration(t.options.factor*float64(s.base)))
		out, late, err := s.runFor(ctx, limit, binaries[s], dir, fmt.Sprint(number))
		if late && used(err) < limit/2 { // the machine is loaded, or the tests wait
			out, late, err = s.runFor(ctx, 5*limit, binaries[s], dir, fmt.Sprint(number))
		}
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return outcome{}, ctx.Err()
		case late:
			return outcome{killed, timedOut}, nil
		case errors.As(err, &exit):
			by := "exit"
			if found := failedTest.FindSubmatch(out); found != nil {
				by = string(found[1])
			}
			return outcome{killed, by}, nil
		case err != nil:
			return outcome{}, err
		}
	}
	return outcome{Result: survived}, nil
}

// runFor is run, and reports whether the tests were ended at the limit.
func (s *suite) runFor(ctx context.Context, limit time.Duration, binary, dir, mutant string) (out []byte, late bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err = s.run(limited, binary, dir, mutant)
	return out, limited.Err() != nil, err
}

// used returns the processor time of tests that failed or were ended.
func used(err error) time.Duration {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	return exit.UserTime() + exit.SystemTime()
}

// build builds the tests that reach the mutants. Nothing in the tree changes: the
// mutated files are laid over it.
func (t *task) build(ctx context.Context, dir string, mutants []*mutant) (map[*suite]string, error) {
	overlay, err := t.overlay(dir, mutants)
	if err != nil {
		return nil, err
	}
	binaries := map[*suite]string{}
	for i, s := range t.suites {
		if !slices.ContainsFunc(mutants, s.covers) {
			continue
		}
		binaries[s] = filepath.Join(dir, fmt.Sprintf("%d.test", i))
		if _, err := command(ctx, s.Dir, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binaries[s], "."); err != nil {
			return nil, err
		}
	}
	return binaries, nil
}

// overlay writes the mutated files to a directory, and a file for "go build
// -overlay" that names them. It returns the name of that file.
func (t *task) overlay(dir string, mutants []*mutant) (string, error) {
	replace := map[string]string{}
	write := func(absolute, text string) error {
		replace[absolute] = filepath.Join(dir, filepath.Base(absolute))
		return os.WriteFile(replace[absolute], []byte(text), 0o600)
	}
	for i := range t.files {
		f := &t.files[i]
		text, changed := mutate(f, mutants)
		if !changed {
			continue
		}
		if err := write(f.absolute, text); err != nil {
			return "", err
		}
	}
	if len(mutants) > 1 {
		text := fmt.Sprintf(selectorFile, t.files[0].syntax.Name.Name, selector)
		if err := write(filepath.Join(t.dir, "active_mutant.go"), text); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}

const selectorFile = `package %s

import (
	"os"
	"strconv"
)

var %[2]s, _ = strconv.Atoi(os.Getenv("%[2]s"))
`

// mutate returns the text of a file with mutants in it. A single mutant is always
// active. Several turn each function's body into a switch over copies of it.
func mutate(f *file, mutants []*mutant) (text string, changed bool) {
	if len(mutants) == 1 {
		if mutants[0].File != f.path {
			return "", false
		}
		return mutants[0].apply(f.source, span{0, len(f.source)}), true
	}
	bodies := map[span]string{}
	for i, m := range mutants {
		if m.File == f.path {
			bodies[m.body] += fmt.Sprintf("case %d:\n%s\n", i+1, m.apply(f.source, m.body))
		}
	}
	var b strings.Builder
	at := 0
	for _, body := range slices.SortedFunc(maps.Keys(bodies), func(a, b span) int { return a.start - b.start }) {
		fmt.Fprintf(&b, "%s\nswitch %s {\n%sdefault:\n%s\n}\n", f.source[at:body.start], selector, bodies[body], f.source[body.start:body.end])
		at = body.end
	}
	b.Write(f.source[at:])
	return b.String(), at > 0
}
