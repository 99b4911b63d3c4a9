// Retry runs go test with the arguments, and runs each test that failed a second time. It fails
// if a test fails twice. Its last lines name the tests that needed the second run: a flaky test
// must neither lose a run of hours nor be hidden. Tests on a control plane compete with it for
// processors, and wait for other programs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if !run(goTest, os.Args[1:], os.Stdout) {
		os.Exit(1)
	}
}

// goTest runs go test -json.
func goTest(args []string) (io.ReadCloser, error) {
	c := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return process{out, c}, c.Start()
}

// A process is the output of a command. Close waits for the end of the command.
type process struct {
	io.Reader
	command *exec.Cmd
}

func (p process) Close() error { return p.command.Wait() }

// run returns whether each test passed, in the first run or the second.
func run(test func(args []string) (io.ReadCloser, error), args []string, out io.Writer) bool {
	failed, err := record(test, args, out)
	if err != nil {
		fmt.Fprintln(out, "retry:", err)
		return false
	}
	good := true
	var flaky []string
	for _, pkg := range slices.Sorted(maps.Keys(failed)) {
		tests := failed[pkg]
		again := append(flags(args), pkg)
		name := pkg
		if len(tests) > 0 { // without a name it stopped before its end: all run again
			again = append([]string{"-run", "^(" + strings.Join(tests, "|") + ")$"}, again...)
			name += " " + strings.Join(tests, " ")
		}
		fmt.Fprintf(out, "=== SECOND RUN of %s\n", name)
		twice, err := record(test, again, out)
		if good = good && err == nil && len(twice) == 0; err == nil && len(twice) == 0 {
			flaky = append(flaky, name)
		}
	}
	for _, name := range flaky {
		fmt.Fprintf(out, "FLAKY: %s failed, and passed in a second run\n", name)
	}
	return good
}

// flags are the arguments without the packages.
func flags(args []string) (kept []string) {
	for i, arg := range args {
		value := i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=")
		if strings.HasPrefix(arg, "-") || value {
			kept = append(kept, arg)
		}
	}
	return kept
}

// record prints what the tests print, and returns the tests that failed in each package. A
// package without names did not build, or stopped before its end.
func record(test func(args []string) (io.ReadCloser, error), args []string, out io.Writer) (map[string][]string, error) {
	events, err := test(args)
	if err != nil {
		return nil, err
	}
	failed, stopped := map[string][]string{}, map[string]bool{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(out, "%s", line)
			continue
		}
		fmt.Fprint(out, e.Output)
		stopped[e.Package] = stopped[e.Package] || strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ")
		switch {
		case e.Action != "fail":
		case e.Test == "":
			failed[e.Package] = slices.Clone(failed[e.Package]) // perhaps without names
		case !strings.Contains(e.Test, "/"):
			failed[e.Package] = append(failed[e.Package], e.Test)
		}
	}
	for pkg := range failed {
		if stopped[pkg] {
			failed[pkg] = nil
		}
	}
	if err := events.Close(); err != nil && len(failed) == 0 { // go test did not start
		return nil, err
	}
	return failed, nil
}
