package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// A task is a package, the mutants to run there, and the tests.
type task struct {
	*source
	options options
	suites  []*suite
	hash    string    // of the sources and the tests
	all     []*mutant // in the package
	invalid int       // mutants among the candidates that do not compile
	valid   int       // candidates that compile
	drawn   []*mutant // sample of these
	temp    string    // directory
	results *store
}

// plan finds the mutants of each package.
func plan(ctx context.Context, dir string, o options) ([]*task, error) {
	var lines changedLines
	if o.changed != "" {
		var err error
		if lines, err = changes(ctx, dir, o.changed); err != nil {
			return nil, err
		}
	}
	sources, err := load(ctx, dir, o.patterns)
	if err != nil {
		return nil, err
	}
	var tasks []*task
	for _, s := range sources {
		t := &task{source: s, options: o, all: s.mutants()}
		for _, m := range t.all {
			switch {
			case lines != nil && !lines.touches(m):
			case s.compiles(m):
				t.drawn = append(t.drawn, m)
			default:
				t.invalid++
			}
		}
		t.draw(o.sample, o.seed)
		if len(t.drawn) == 0 && lines != nil {
			continue
		}
		if t.suites, err = suites(ctx, dir, s.path, strings.Fields(o.tests)); err != nil {
			return nil, err
		}
		if o.short {
			for _, s := range t.suites {
				s.flags = append(s.flags, "-test.short")
			}
		}
		if t.hash, err = hash(s, t.suites); err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// draw takes the sample.
func (t *task) draw(sample int, seed uint64) {
	t.valid = len(t.drawn)
	if sample == 0 || sample >= t.valid {
		return
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(t.valid, func(i, j int) { t.drawn[i], t.drawn[j] = t.drawn[j], t.drawn[i] })
	t.drawn = t.drawn[:sample]
}

// result returns the record of a mutant, and whether its outcome is known.
func (t *task) result(m *mutant) (r record, known bool) {
	r = record{mutant: *m, Hash: t.hash}
	r.outcome, known = t.results.known[r.id()]
	return r, known
}

// done stores the outcome of a mutant.
func (t *task) done(m *mutant, o outcome) error {
	return t.results.add(record{mutant: *m, Hash: t.hash, outcome: o})
}

// run runs the tests against the mutants without a result.
func (t *task) run(ctx context.Context, stderr io.Writer) error {
	todo := slices.DeleteFunc(slices.Clone(t.drawn), func(m *mutant) bool {
		_, known := t.result(m)
		return known
	})
	if len(todo) == 0 {
		return nil
	}
	fmt.Fprintf(stderr, "%s: %d mutants to test, %d known\n", t.path, len(todo), len(t.drawn)-len(todo))
	for _, s := range t.suites {
		if err := s.measure(ctx, t.path, t.temp); err != nil {
			return err
		}
	}
	return t.runAll(ctx, todo)
}
