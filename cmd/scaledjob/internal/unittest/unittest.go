// Package unittest reads and runs unit tests of ScaledJobs.
package unittest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Schema is the JSON schema of a test file.
//
//go:embed test.schema.json
var Schema string

// A testFile holds tests of manifests. Paths are relative to the file.
type testFile struct {
	Manifests []string        `json:"manifests"`
	Releases  []input.Release `json:"releases"` // none is the newest KEDA
	Tests     []testCase      `json:"tests"`
}

// A testCase is a poll or a simulated run of a ScaledJob.
type testCase struct {
	Name       string          `json:"name"`
	ScaledJob  string          `json:"scaledJob"` // needed if the manifests have several
	Releases   []input.Release `json:"releases"`  // in place of the file's
	Queue      perTrigger      `json:"queue"`
	Target     perTrigger      `json:"target"`
	Partitions int64           `json:"partitions"` // of each topic, which limit the Jobs of kafka and others; 0 is not known
	Jobs       *testJobs       `json:"jobs"`
	Dump       []string        `json:"dump"` // files with Jobs and pods, instead of jobs
	Simulate   *testWorkload   `json:"simulate"`
	Expect     expectation     `json:"expect"`
}

// testJobs are counts of Jobs.
type testJobs struct {
	Running     int64 `json:"running"`
	Pending     int64 `json:"pending"`
	Stuck       int64 `json:"stuck"`
	Terminating int64 `json:"terminating"`
}

// A testWorkload is the part of a scenario that a manifest does not have.
type testWorkload struct {
	Arrivals    arrivals             `json:"arrivals"`
	Trace       string               `json:"trace"` // file, instead of Arrivals, for the first trigger
	Service     string               `json:"service"`
	Startup     string               `json:"startup"`
	Duration    *simulation.Duration `json:"duration"` // nil is an hour, or the length of the trace
	Metric      string               `json:"metric"`   // "" and a nil ItemsPerJob are read from the manifest
	Acknowledge string               `json:"acknowledge"`
	ItemsPerJob *int64               `json:"itemsPerJob"` // 0 is until the queue is empty
	Seed        *uint64              `json:"seed"`        // nil is 1
	Seeds       *int                 `json:"seeds"`       // nil is 5
}

// An expectation holds expected values. Only the fields that are set are compared.
type expectation struct {
	Create  *int64    `json:"create"`
	Rule    *string   `json:"rule"`
	Deleted *[]string `json:"deleted"` // names, in any order

	MaxWaitP95  *simulation.Duration `json:"maxWaitP95"`
	MaxPeakJobs *int64               `json:"maxPeakJobs"`
	MinPeakJobs *int64               `json:"minPeakJobs"`
	MaxUndone   *int64               `json:"maxUndone"`
}

// perTrigger is a value for each trigger, in the words of a flag: "12", "redis=12,kafka=5".
type perTrigger string

// UnmarshalJSON reads a number, a text, or an object with a value for each trigger.
func (p *perTrigger) UnmarshalJSON(data []byte) error {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return err
	}
	switch one := value.(type) {
	case map[string]any:
		var items []string
		for _, name := range slices.Sorted(maps.Keys(one)) {
			switch one[name].(type) {
			case json.Number, string:
			default:
				return fmt.Errorf("%s: found neither a number nor text; use 12, or unread for a queue that cannot be read", name)
			}
			items = append(items, fmt.Sprintf("%s=%v", name, one[name]))
		}
		*p = perTrigger(strings.Join(items, ","))
	case json.Number, string:
		*p = perTrigger(fmt.Sprint(one))
	default:
		return errors.New("found neither a value nor a value for each trigger; use 12, or {redis: 12}")
	}
	return nil
}

// arrivals are patterns, in the words of a flag: "poisson:2/s", "redis=poisson:2/s".
type arrivals []string

// UnmarshalJSON reads a pattern, or an object with a pattern for each trigger; "" is the first.
func (a *arrivals) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = arrivals{text}
		return nil
	}
	var patterns map[string]string
	if json.Unmarshal(data, &patterns) != nil {
		return errors.New("found neither a pattern nor a pattern for each trigger; use poisson:0.2/s, or {redis: poisson:0.2/s}")
	}
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		if name == "" {
			*a = append(*a, patterns[name])
		} else {
			*a = append(*a, name+"="+patterns[name])
		}
	}
	return nil
}

// Read reads a test file. Relative paths in it begin at its directory.
func Read(s input.Source) (*testFile, error) {
	f := &testFile{}
	if err := input.Decode(s, f, f.validate, "test --help"); err != nil {
		return nil, err
	}
	var problems error
	in := func(paths []string) {
		for i, p := range paths {
			if !filepath.IsAbs(p) {
				paths[i] = filepath.Join(filepath.Dir(s.Name), p)
			}
			// A pipe would be waited for. A name that does not exist is an error when it is read.
			if info, err := os.Stat(paths[i]); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
				problems = errors.Join(problems, fmt.Errorf("%s: %s is a pipe or a device; name a file", s.Name, p))
			}
		}
	}
	in(f.Manifests)
	for i := range f.Tests {
		in(f.Tests[i].Dump)
		if w := f.Tests[i].Simulate; w != nil && w.Trace != "" {
			one := []string{w.Trace}
			in(one)
			w.Trace = one[0]
		}
	}
	if len(f.Releases) == 0 {
		f.Releases = input.NewestOnly().List
	}
	return f, problems
}

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
			problems.Check(j.Pending <= max(0, j.Running), path+".jobs.pending", j.Pending, "at most jobs.running: the running Jobs include the pending ones")
			problems.Check(j.Stuck <= max(0, j.Pending), path+".jobs.stuck", j.Stuck, "at most jobs.pending: the pending Jobs include the stuck ones")
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
	problems.Check(!c.Expect.poll(), "expect", []string{"create, rule or deleted"}, "bounds such as maxWaitP95: the test is a simulated run")
	problems.Check(c.Queue == "", "queue", string(c.Queue), "simulate.arrivals: the test is a simulated run")
	problems.Check(c.Jobs == nil && c.Dump == nil, "simulate", []string{"jobs or dump"}, "only simulate: a simulated run begins without Jobs")
	problems.Check(len(w.Arrivals) > 0 || w.Trace != "", "simulate.arrivals", nil, "a pattern such as poisson:0.2/s, or a trace")
	problems.Check(len(w.Arrivals) == 0 || w.Trace == "", "simulate.trace", w.Trace, "either arrivals or trace")
	if w.Duration != nil {
		problems.Check(*w.Duration > 0, "simulate.duration", *w.Duration, "a time longer than 0s")
	}
	if w.Seeds != nil {
		problems.AtLeast("simulate.seeds", int64(*w.Seeds), 1)
		problems.AtMost("simulate.seeds", int64(*w.Seeds), 1000)
	}
	return problems.Err()
}
