package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/explain"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

type tester struct {
	input.ManifestFlags
	schema bool
	output input.Choice
}

func newTest() *cobra.Command {
	t := &tester{ManifestFlags: input.ManifestFlags{Tests: true}}
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of ScaledJobs",
		Long: `Run unit tests of ScaledJobs. A test file names manifests and releases. A test is one poll, with
queue lengths, Jobs and the expected decision, or a simulated run with bounds. In a directory,
files that end with .test.yaml are test files. Each test runs for each release: list the release
that you have and the next one to pin what an upgrade of KEDA must not change.

The exit status is 1 if a test fails.

  manifests: [orders.yaml]       # relative to this file
  releases: ["2.18", "2.21"]     # default: the newest KEDA
  tests:
    - name: a burst
      queue: 40                  # or {redis: 40}, with a number for each trigger, or unread
      jobs: {running: 3, pending: 1}
      expect: {create: 7, rule: strategy}
    - name: old Jobs are deleted
      queue: 0
      dump: [jobs.json]          # as kubectl get jobs,pods -o json prints them
      expect: {create: 0, deleted: [orders-1, orders-2]}
    - name: items wait for at most two minutes
      simulate: {arrivals: "poisson:0.2/s", service: "exp:30s", startup: 10s, duration: 1h}
      expect: {maxWaitP95: 2m, maxPeakJobs: 20, maxUndone: 0}`,
		Example: `  scaledjob test orders.test.yaml
  scaledjob test tests/ -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if t.schema {
				_, err := fmt.Fprint(c.OutOrStdout(), testSchema)
				return err
			}
			return t.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	t.AddFiles(c)
	c.Flags().BoolVar(&t.schema, "schema", false, "print the JSON schema of a test file, and run nothing")
	t.output.AddOutput(c, "text", "json")
	return c
}

// A testResult is the result of a test for one release.
type testResult struct {
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

func (t *tester) run(ctx context.Context, args []string, stdin io.Reader, out io.Writer) error {
	sources, problems := t.Sources(args, stdin)
	all, failed := []testResult{}, 0
	done := func(r *testResult) {
		if all = append(all, *r); !r.Passed {
			failed++
		}
		if t.output.Text == "text" {
			r.print(out) // at once: an interrupt hides no result
		}
	}
	for _, s := range sources {
		f, err := readTestFile(s)
		if err == nil {
			err = f.run(ctx, s.Name, done)
		}
		problems = errors.Join(problems, err)
	}
	if t.output.Text == "json" {
		if err := json.NewEncoder(out).Encode(all); err != nil {
			return err
		}
		return input.Outcome(failed > 0, problems)
	}
	if len(all) > 0 {
		fmt.Fprintf(out, "%s, %d failed\n", report.Plural(len(all), "test"), failed)
	}
	return input.Outcome(failed > 0, problems)
}

func (r *testResult) print(out io.Writer) {
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

// validate returns every problem of the file.
func (f *testFile) validate() error {
	var problems field.Errors
	files := func(path string, all []string, found string) {
		problems.Check(len(all) > 0, path, nil, found)
		for i, name := range all {
			problems.Check(name != "" && name != "-", fmt.Sprintf("%s[%d]", path, i), name, "the name of a file")
		}
	}
	files("manifests", f.Manifests, "files or directories with ScaledJobs")
	problems.Check(len(f.Tests) > 0, "tests", nil, "at least one test")
	for i := range f.Tests {
		c, path := &f.Tests[i], fmt.Sprintf("tests[%d]", i)
		problems.Check(c.Name != "", path+".name", nil, "a name")
		if c.Dump != nil {
			files(path+".dump", c.Dump, "files with Jobs and pods")
		}
		if j := c.Jobs; j != nil {
			problems.AtLeast(path+".jobs.running", j.Running, 0)
			problems.AtLeast(path+".jobs.pending", j.Pending, 0)
			problems.AtLeast(path+".jobs.stuck", j.Stuck, 0)
			problems.AtLeast(path+".jobs.terminating", j.Terminating, 0)
			problems.Check(j.Pending <= max(0, j.Running), path+".jobs.pending", j.Pending, "running or less: pending Jobs are included in running")
			problems.Check(j.Stuck <= max(0, j.Pending), path+".jobs.stuck", j.Stuck, "pending or less: stuck Jobs are included in pending")
		}
		problems.Join(path, c.Expect.validate())
		if c.Simulate != nil {
			problems.Join(path, c.validateRun())
		} else {
			problems.Join(path, c.validatePoll())
		}
	}
	return problems.Err()
}

// poll reports whether a decision is expected.
func (e *expectation) poll() bool { return e.Create != nil || e.Rule != nil || e.Deleted != nil }

// run reports whether a simulated run is expected to keep to bounds.
func (e *expectation) run() bool {
	return e.MaxWaitP95 != nil || e.MaxPeakJobs != nil || e.MinPeakJobs != nil || e.MaxUndone != nil
}

func (e *expectation) validate() error {
	var problems field.Errors
	problems.Check(e.poll() || e.run(), "expect", nil, "create, rule, deleted, or a bound of a simulated run")
	for _, n := range []struct {
		name string
		n    *int64
	}{{"create", e.Create}, {"maxPeakJobs", e.MaxPeakJobs}, {"minPeakJobs", e.MinPeakJobs}, {"maxUndone", e.MaxUndone}} {
		if n.n != nil {
			problems.AtLeast("expect."+n.name, *n.n, 0)
		}
	}
	if d := e.MaxWaitP95; d != nil {
		problems.Check(*d >= 0, "expect.maxWaitP95", *d, "0s or more")
	}
	return problems.Err()
}

// validatePoll returns the problems of a test without a simulated run.
func (c *testCase) validatePoll() error {
	var problems field.Errors
	e := &c.Expect
	problems.Check(!e.run(), "simulate", nil, "a workload: the expectation is about a simulated run")
	problems.Check(c.Queue != "" || e.Create == nil && e.Rule == nil, "queue", nil, "a queue length")
	problems.Check(c.Jobs == nil || c.Dump == nil, "dump", c.Dump, "either dump or jobs")
	problems.Check(c.Dump != nil || e.Deleted == nil, "dump", nil, "files with Jobs: the expectation is about deleted Jobs")
	return problems.Err()
}

// validateRun returns the problems of a simulated run that package simulation does not
// find.
func (c *testCase) validateRun() error {
	var problems field.Errors
	w := c.Simulate
	problems.Check(!c.Expect.poll(), "expect", "create, rule or deleted", "bounds such as maxWaitP95: the test is a simulated run")
	problems.Check(c.Queue == "", "queue", string(c.Queue), "simulate.arrivals: the test is a simulated run")
	problems.Check(c.Jobs == nil && c.Dump == nil, "simulate", "jobs or dump beside it", "only one of them: a simulated run begins without Jobs")
	problems.Check(len(w.Arrivals) > 0 || w.Trace != "", "simulate.arrivals", nil, "a pattern such as poisson:0.2/s, or a trace")
	problems.Check(len(w.Arrivals) == 0 || w.Trace == "", "simulate.trace", w.Trace, "one of arrivals and trace")
	if w.Duration != nil {
		problems.Check(*w.Duration > 0, "simulate.duration", *w.Duration, "a time longer than 0s")
	}
	if w.Seeds != nil {
		problems.AtLeast("simulate.seeds", int64(*w.Seeds), 1)
		problems.AtMost("simulate.seeds", int64(*w.Seeds), 1000)
	}
	return problems.Err()
}

// run runs each test for each of its releases, and calls done after each.
func (f *testFile) run(ctx context.Context, file string, done func(*testResult)) (problems error) {
	manifests, err := (&input.ManifestFlags{Files: f.Manifests}).Read(nil, nil)
	problems = input.Each(err, func(err error) error { return fmt.Errorf("%s: %w", file, err) })
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
				problems = errors.Join(problems, input.Each(err, func(err error) error {
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

func (c *testCase) run(manifests []*input.ScaledJob, r input.Release) (*testResult, error) {
	m, err := c.of(manifests)
	if err != nil {
		return nil, err
	}
	flags := input.QueueFlags{Queue: string(c.Queue), Target: string(c.Target), InFile: true}
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
	t := &testResult{}
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

func (t *testResult) compare(name string, equal bool, found, expected any) {
	if !equal {
		t.Failures = append(t.Failures, mismatch{name, fmt.Sprint(found), fmt.Sprint(expected)})
	}
}

// of returns the ScaledJob of the test.
func (c *testCase) of(manifests []*input.ScaledJob) (*input.ScaledJob, error) {
	var names []string
	for _, m := range manifests {
		if m.Name() == c.ScaledJob || c.ScaledJob == "" && len(manifests) == 1 {
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
		d, err := cluster.Read(c.Dump, nil)
		if err != nil {
			return nil, err
		}
		s.Dump = d
	}
	return explain.Of(s, r, &flags, &counts)
}

// simulated runs the workload under each seed, and compares the worst results.
func (c *testCase) simulated(m *input.ScaledJob, r input.Release, flags *input.QueueFlags) (*testResult, error) {
	scenario, err := c.scenario(m, r, flags)
	if err != nil {
		return nil, err
	}
	seeds := 5
	if c.Simulate.Seeds != nil {
		seeds = *c.Simulate.Seeds
	}
	of, err := study.Replicate(*scenario, []simulation.Policy{scenario.Policy}, study.Options{Seeds: seeds, SummaryOnly: true})
	if err != nil {
		return nil, err
	}
	t := &testResult{}
	var wait float64
	var peak, undone int64
	runs := of.Samples[0].Runs
	least := runs[0].PeakJobs
	for i := range runs {
		s := &runs[i]
		wait, peak, least = max(wait, s.Wait.P95), max(peak, s.PeakJobs), min(least, s.PeakJobs)
		undone = max(undone, s.Arrived-s.Done)
		t.Trace += fmt.Sprintf("run: %d items, %d undone, p95 of the wait %s, %d Jobs created, at most %d at once\n",
			s.Arrived, s.Arrived-s.Done, report.Span(s.Wait.P95), s.JobsCreated, s.PeakJobs)
	}
	t.Trace = strings.TrimSuffix(t.Trace, "\n")
	if d := c.Expect.MaxWaitP95; d != nil {
		t.compare("maxWaitP95", wait <= time.Duration(*d).Seconds(), report.Span(wait), "at most "+time.Duration(*d).String())
	}
	for _, bound := range []struct {
		name  string
		bound *int64
		n     int64
	}{{"maxPeakJobs", c.Expect.MaxPeakJobs, peak}, {"maxUndone", c.Expect.MaxUndone, undone}} {
		if bound.bound != nil {
			t.compare(bound.name, bound.n <= *bound.bound, bound.n, fmt.Sprintf("at most %d", *bound.bound))
		}
	}
	if n := c.Expect.MinPeakJobs; n != nil {
		t.compare("minPeakJobs", least >= *n, least, fmt.Sprintf("at least %d", *n))
	}
	return t, nil
}

// scenario is the workload with the ScaledJob as its policy.
func (c *testCase) scenario(m *input.ScaledJob, r input.Release, flags *input.QueueFlags) (*simulation.Scenario, error) {
	w := c.Simulate
	triggers, _, err := flags.Triggers(m)
	if err != nil {
		return nil, err
	}
	s := &simulation.Scenario{Name: c.Name, Seed: 1, Duration: simulation.Duration(time.Hour)}
	if w.Trace != "" {
		s.Duration = 0
	}
	if w.Duration != nil {
		s.Duration = *w.Duration
	}
	if w.Seed != nil {
		s.Seed = *w.Seed
	}
	p := scenario.Policy{Release: r, Spec: m.KEDA.Spec}
	if s.Policy, err = p.Build(1); err != nil {
		return nil, err
	}
	s.Jobs = simulation.JobBehavior{Acknowledge: cmp.Or(w.Acknowledge, "end"), ItemsPerJob: 1}
	if w.ItemsPerJob != nil {
		s.Jobs.ItemsPerJob, s.Jobs.DrainQueue = *w.ItemsPerJob, *w.ItemsPerJob == 0
	}
	var problems []error
	text := func(name, value string, to interface{ UnmarshalText([]byte) error }) {
		if err := to.UnmarshalText([]byte(value)); err != nil {
			problems = append(problems, fmt.Errorf("simulate.%s %q: %w", name, value, err))
		}
	}
	text("startup", cmp.Or(w.Startup, "5s"), &s.Jobs.Startup)
	for _, t := range triggers {
		q := simulation.Queue{Name: t.Name, Target: t.Target, ActivationThreshold: t.ActivationThreshold, Metric: cmp.Or(w.Metric, "all")}
		text("service", cmp.Or(w.Service, "30s"), &q.Service)
		s.Queues = append(s.Queues, q)
	}
	if w.Trace != "" {
		if s.Queues[0].Trace, _, err = trace.Read(w.Trace, ""); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Arrivals)) {
		at := 0
		if name != "" {
			at = input.Index(triggers, name)
		}
		if at < 0 {
			problems = append(problems, fmt.Errorf("simulate.arrivals: no trigger is called %q; use %s", name, input.TriggerNames(triggers)))
			continue
		}
		text("arrivals", w.Arrivals[name], &s.Queues[at].Arrivals)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s, s.Validate()
}
