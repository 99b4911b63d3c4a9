package unittest

import (
	"fmt"

	"github.com/scaledjob/scaledjob/field"
)

// validate returns every problem of the file.
func (f *testFile) validate() error {
	var problems field.Errors
	files := func(path string, paths []string, found string) {
		problems.Check(len(paths) > 0, path, nil, found)
		for i, name := range paths {
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
	problems.Check(c.Queue != "" || (e.Create == nil && e.Rule == nil), "queue", nil, "a queue length")
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
