package unittest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/explain"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Result is the result of a test for one release.
type Result struct {
	File     string        `json:"file"`
	Name     string        `json:"name"`
	Release  input.Release `json:"release"`
	Passed   bool          `json:"passed"`
	Failures []mismatch    `json:"failures,omitempty"`
	Trace    string        `json:"trace,omitempty"` // of a failure
}

// A mismatch is a value that differs from the expectation.
type mismatch struct {
	Field    string `json:"field"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
}

// Print prints the result of a test.
func (r *Result) Print(out io.Writer) {
	state := "ok  "
	if !r.Passed {
		state = "FAIL"
	}
	fmt.Fprintf(out, "%s  %s: %s, %s\n", state, r.File, r.Name, r.Release)
	for _, m := range r.Failures {
		fmt.Fprintf(out, "      %s: found %s, expected %s\n", m.Field, m.Found, m.Expected)
	}
	for line := range strings.Lines(r.Trace) {
		fmt.Fprintf(out, "        %s", line)
	}
	if r.Trace != "" {
		fmt.Fprintln(out)
	}
}

// Run runs each test for each of its releases, and calls done after each.
func (f *testFile) Run(ctx context.Context, file string, done func(*Result)) (problems error) {
	manifests, err := (&input.ManifestFlags{Files: f.Manifests}).Read(nil, nil)
	problems = input.WrapEach(err, func(err error) error { return fmt.Errorf("%s: %w", file, err) })
	if len(manifests) == 0 {
		return problems
	}
	for i := range f.Tests {
		c := &f.Tests[i]
		releases := f.Releases
		if len(c.Releases) > 0 {
			releases = c.Releases
		}
		for _, r := range releases {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			result, err := c.run(manifests, r)
			if err != nil {
				problems = errors.Join(problems, input.WrapEach(err, func(err error) error {
					return fmt.Errorf("%s: tests[%d] %q, %s: %w", file, i, c.Name, r, err)
				}))
				continue
			}
			result.File, result.Name, result.Release = file, c.Name, r
			if result.Passed = len(result.Failures) == 0; result.Passed {
				result.Trace = ""
			}
			done(result)
		}
	}
	return problems
}

func (c *testCase) run(manifests []*input.ScaledJob, r input.Release) (*Result, error) {
	m, err := c.subject(manifests)
	if err != nil {
		return nil, err
	}
	flags := input.QueueFlags{Queue: string(c.Queue), Target: string(c.Target), Partitions: c.Partitions, InFile: true}
	if err := flags.CheckTargets([]*input.ScaledJob{m}); err != nil {
		return nil, err
	}
	if c.Simulate != nil {
		return c.simulated(m, r, &flags)
	}
	p, err := c.poll(m, r, flags)
	if err != nil {
		return nil, err
	}
	t := &Result{}
	if p.Create != nil {
		t.Trace = p.Create.Trace
		if n := c.Expect.Create; n != nil {
			t.compare("create", p.Create.Jobs == *n, p.Create.Jobs, *n)
		}
		if rule := c.Expect.Rule; rule != nil {
			t.compare("rule", p.Create.Rule == *rule, p.Create.Rule, *rule)
		}
	}
	if c.Expect.Deleted != nil {
		names := slices.Sorted(slices.Values(p.Deleted()))
		expected := slices.Sorted(slices.Values(*c.Expect.Deleted))
		t.compare("deleted", slices.Equal(names, expected), names, expected)
		t.Trace = strings.TrimPrefix(t.Trace+"\n"+p.Deletions(), "\n")
	}
	return t, nil
}

func (t *Result) compare(name string, equal bool, found, expected any) {
	if !equal {
		t.Failures = append(t.Failures, mismatch{name, fmt.Sprint(found), fmt.Sprint(expected)})
	}
}

func (c *testCase) subject(manifests []*input.ScaledJob) (*input.ScaledJob, error) {
	var names []string
	for _, m := range manifests {
		if m.Name() == c.ScaledJob || (c.ScaledJob == "" && len(manifests) == 1) {
			return m, nil
		}
		names = append(names, m.Name())
	}
	if c.ScaledJob == "" {
		return nil, fmt.Errorf("scaledJob: found none, and the manifests have several; use one of %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("scaledJob: found %q; use one of %s", c.ScaledJob, strings.Join(names, ", "))
}

func (c *testCase) poll(m *input.ScaledJob, r input.Release, flags input.QueueFlags) (*explain.Poll, error) {
	counts := scaling.JobCounts{}
	if j := c.Jobs; j != nil {
		counts = scaling.JobCounts{Running: j.Running, Pending: j.Pending, Stuck: j.Stuck, Terminating: j.Terminating}
		if r.Profile != nil && (j.Stuck > 0 || j.Terminating > 0) {
			return nil, fmt.Errorf("jobs: %s counts neither stuck nor terminating Jobs; use releases: [spec]", r)
		}
	}
	s := cluster.Subject{ScaledJob: m}
	if c.Dump != nil {
		d, err := cluster.Read(c.Dump, nil, m)
		if err != nil {
			return nil, err
		}
		s.Dump = d
	}
	return explain.Decide(s, r, &flags, &counts, nil)
}

// WriteJUnit writes results in the form that CI systems read: a suite for each file, and a case for each release of a test.
func WriteJUnit(out io.Writer, results []Result) error {
	var suites []report.Suite
	for i := range results {
		r := &results[i]
		n := len(suites)
		if n == 0 || suites[n-1].Name != r.File {
			suites = append(suites, report.Suite{Name: r.File})
			n++
		}
		c := report.Case{Name: fmt.Sprintf("%s, %s", r.Name, r.Release)}
		if !r.Passed {
			var lines []string
			for _, m := range r.Failures {
				lines = append(lines, fmt.Sprintf("%s: found %s, expected %s", m.Field, m.Found, m.Expected))
			}
			c.Failure = &report.Message{Message: strings.Join(lines, "; "), Text: r.Trace}
		}
		suites[n-1].Add(c)
	}
	return report.WriteJUnit(out, suites)
}
