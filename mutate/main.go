// Mutate changes the source of Go packages in small ways, and reports the changes
// that the packages' tests do not notice.
//
//	go run ./mutate ./scaling ./history
//	go run ./mutate -sample 300 -seed 1 -tests ./adapter/... ./adapter
//	go run ./mutate -changed main ./...
//
// A mutant is killed if a test fails or does not end. Any other mutant survives, also if
// no test reaches it. The score is the share of killed mutants, without the mutants that
// are listed as equivalent. Mutants that do not compile do not count.
//
// The sources are never edited. A test binary, which is built from an overlay, holds up to
// 100 mutants, and an environment variable selects a mutant.
//
// # Operators
//
//   - boundary: < and <=, > and >=
//   - negation: == and !=, < and >=, > and <=, !x and x
//   - logical: && and ||
//   - arithmetic: + and -, * and /, % to *; the same for +=, -=, …
//   - bitwise: & and |, << and >>, ^ to &, &^ to &; the same for &=, |=, …
//   - increment: ++ and --
//   - sign: -x to +x
//   - constant: 0 to 1, 1 to 0, another number n to n + 1; true and false
//   - condition: the condition of an if statement or of a case, to true and to false
//   - branch: break and continue
//   - loop: the body of a loop is left at once
//   - removal: of an assignment, call, increment, defer, go, send, break, continue,
//     the body of a case, a return at the end of an if statement's block
//   - nil: a returned value that can be nil
//
// # Results
//
// Each result is appended to a file, so that an interrupted run can continue. A result
// counts only for the same sources of the package and of its tests. The exit status is 1
// if a score is too low or the list of equivalent mutants is wrong, and 2 after any other
// error.
//
// # Tests
//
//	operators, and which mutants compile            TestOperators
//	keys that stay the same when lines move         TestKey
//	results, resumption, the list of equivalents    TestSample
//	changed lines, tests of other packages          TestChangedLines
//	no file is left in the tree                     TestProperties, TestInterrupt
//	mutants that cannot share a test binary         TestBodiesThatStayAlone, TestMutantsThatCannotShare
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, ".", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
}

// errFailed ends a run with a fault in its report.
var errFailed = errors.New("score too low, or the list of equivalent mutants is wrong")

// options are the flags.
type options struct {
	tests, changed, equivalent, results string
	workers, sample                     int
	seed                                uint64
	factor, least                       float64
	short, json                         bool
	patterns                            []string
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: mutate [flags] packages\n\nReport the small changes of packages that their tests do not notice.")
		f.PrintDefaults()
	}
	f.StringVar(&o.tests, "tests", "", "more `packages` with tests to run, separated by spaces")
	f.StringVar(&o.changed, "changed", "", "mutate only lines that git diff shows as changed or added since this `commit`")
	f.StringVar(&o.equivalent, "equivalent", "", "`file` that lists equivalent mutants")
	f.StringVar(&o.results, "results", "mutants.out", "`file` of results, to continue and append to")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "`number` of tests that run at the same time")
	f.IntVar(&o.sample, "sample", 0, "`number` of mutants to draw in each package; 0 means all")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of the sample")
	f.Float64Var(&o.factor, "timeout", 5, "stop tests after this `multiple` of their time without a mutant, and not before 10s; after five times as long if they used less than half of it as CPU time")
	f.Float64Var(&o.least, "least", 95, "least `percentage` of killed mutants in each package")
	f.BoolVar(&o.short, "short", false, "run the tests with -short: in less time, and at most as many mutants are killed")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.patterns = f.Args()
	switch {
	case len(o.patterns) == 0:
		err = errors.New("no packages; name at least one, such as ./scaling")
	case o.workers < 1:
		err = fmt.Errorf("-workers: %d; use at least 1", o.workers)
	case o.sample < 0:
		err = fmt.Errorf("-sample: %d; use at least 0", o.sample)
	}
	return o, err
}

// run runs the command line in a directory.
func run(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	reasons, err := readEquivalent(o.equivalent)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	tasks, err := plan(ctx, dir, o)
	if err != nil {
		return err
	}
	results, err := openStore(o.results, tasks)
	if err != nil {
		return err
	}
	defer results.file.Close()
	r := report{Seed: o.seed, Least: o.least}
	for _, t := range tasks {
		t.temp, t.results = temp, results
		if err := t.run(ctx, stderr); err != nil {
			return err
		}
		r.add(t, reasons)
	}
	return r.write(stdout, o.json)
}
