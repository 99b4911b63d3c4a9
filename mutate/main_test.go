package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs the tool in a directory outside the workspace, and checks that the
// directory stays as it was. It returns the report and what was written to stderr.
func play(t *testing.T, dir string, args ...string) (r report, stderr string, err error) {
	t.Setenv("GOWORK", "off")
	leastTimeout = 3 * time.Second
	before := tree(t, dir)
	var out, errs bytes.Buffer
	err = run(t.Context(), dir, append([]string{"-json"}, args...), &out, &errs)
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	}
	require.Equal(t, before, tree(t, dir))
	return r, errs.String(), err
}

// tree returns the contents of all files by name.
func tree(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		files[name] = string(b)
		return err
	}))
	return files
}

func results(t *testing.T) string { return filepath.Join(t.TempDir(), "results") }

func written(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "equivalent.txt")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

const (
	equal = "sample.go Larger boundary: if a > b { -> if a >= b {\n\tEqual numbers are the same number.\n"
	gone  = "sample.go Smaller boundary: if a < b { -> if a <= b {\n\tThere was such a function.\n"
	wrong = "sample.go Larger negation: if a > b { -> if a <= b {\n\tThis is not so.\n"
)

// The results of testdata/sample: survivors, kills, a timeout, code that is not
// covered, mutants that do not compile. A second run continues the first.
func TestSample(t *testing.T) {
	dir, file := copied(t, "testdata/sample"), results(t)
	args := []string{"-results", file, "-equivalent", written(t, equal), "."}
	first, stderr, err := play(t, dir, args...)
	require.ErrorIs(t, err, errFailed)
	require.Contains(t, stderr, "example.com/sample: 21 mutants to test, 0 known")
	s := first.Packages[0]
	var survivors []string
	for _, m := range s.Survivors {
		survivors = append(survivors, m.position()+" "+m.By+" "+m.change())
	}
	require.Equal(t, []string{
		"sample.go:13:38  Positive boundary: func Positive(n int) bool { return n > 0 } -> func Positive(n int) bool { return n >= 0 }",
		"sample.go:13:40  Positive constant: func Positive(n int) bool { return n > 0 } -> func Positive(n int) bool { return n > 1 }",
		"sample.go:16:37 not covered Untested arithmetic: func Untested(n int) int { return n - 2 } -> func Untested(n int) int { return n + 2 }",
		"sample.go:16:39 not covered Untested constant: func Untested(n int) int { return n - 2 } -> func Untested(n int) int { return n - (2 + 1) }",
	}, survivors)
	s.Survivors = nil
	require.Equal(t, &summary{
		Package: "example.com/sample", Candidates: 21, Mutants: 21, Killed: 16, Survived: 4, NotCovered: 2, Equivalent: 1, NotCompiled: 2,
		Score: 80, Stale: []string{}, Wrong: []record{},
	}, s)
	by := map[string]string{}
	all, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range bytes.Lines(all) {
		var r record
		require.NoError(t, json.Unmarshal(line, &r))
		by[r.change()] = r.By
	}
	require.Equal(t, timedOut, by["Steps removal: n -= step -> (removed)"])
	require.Equal(t, "TestPair", by["Pair arithmetic: return a * b -> return a / b"])

	lines := bytes.SplitAfter(all, []byte("\n"))
	require.NoError(t, os.WriteFile(file, append(bytes.Join(lines[:12], nil), lines[12][:30]...), 0o600))
	second, stderr, err := play(t, dir, args...)
	require.ErrorIs(t, err, errFailed)
	require.Contains(t, stderr, "9 mutants to test, 12 known")
	second.Packages[0].Survivors = nil
	require.Equal(t, first, second)

	_, stderr, err = play(t, dir, "-results", file, "-least", "50", "-equivalent", written(t, equal), ".")
	require.NoError(t, err)
	require.Empty(t, stderr)

	third, _, err := play(t, dir, "-results", file, "-least", "50", "-equivalent", written(t, equal+gone+wrong), ".")
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, []string{"sample.go Smaller boundary: if a < b { -> if a <= b {"}, third.Packages[0].Stale)
	require.Equal(t, "TestLarger", third.Packages[0].Wrong[0].By)

	// Another test: nothing is known any more.
	edit(t, filepath.Join(dir, "sample_test.go"), "Positive(-2)", "Positive(-3)")
	tasks, err := plan(t.Context(), dir, options{patterns: []string{"."}})
	require.NoError(t, err)
	st, err := openStore(file, tasks)
	require.NoError(t, err)
	defer st.file.Close()
	require.Empty(t, st.known)
}

// Only the lines that differ from a commit are mutated, and other packages' tests count.
func TestChangedLines(t *testing.T) {
	dir := copied(t, "testdata/sample")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	args := []string{"-results", results(t), "-changed", "HEAD", "-tests", "./...", "."}
	r, _, err := play(t, dir, args...)
	require.NoError(t, err)
	require.Empty(t, r.Packages)
	edit(t, filepath.Join(dir, "sample.go"), "{ return n - 2 }", "{ return n - 4 + 2 }")
	r, _, err = play(t, dir, args...)
	require.NoError(t, err)
	require.Equal(t, 4, r.Packages[0].Mutants)
	require.Equal(t, 4, r.Packages[0].Killed)
	_, _, err = play(t, dir, "-results", results(t), "-changed", "no-such-commit", ".")
	require.ErrorContains(t, err, "no-such-commit")
}

// A property that fails writes no file into the tree, which play checks.
func TestProperties(t *testing.T) {
	r, _, err := play(t, copied(t, "testdata/draws"), "-results", results(t), ".")
	require.NoError(t, err)
	require.Equal(t, 1, r.Packages[0].Killed)
}

// Mutants that cannot share a test binary are built one by one.
func TestMutantsThatCannotShare(t *testing.T) {
	r, _, err := play(t, copied(t, "testdata/lines"), "-results", results(t), ".")
	require.NoError(t, err)
	require.Equal(t, 3, r.Packages[0].Killed)
}

func TestInterrupt(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := copied(t, "testdata/sample")
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	err := run(ctx, dir, []string{"-results", results(t), "."}, io.Discard, writer(func([]byte) { cancel() }))
	require.Error(t, err)
	require.NotErrorIs(t, err, errFailed)
	require.Equal(t, before, tree(t, dir))
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

func TestDraw(t *testing.T) {
	drawn := func(sample int, seed uint64) []*mutant {
		tk := task{}
		for i := range 50 {
			tk.drawn = append(tk.drawn, &mutant{Line: i})
		}
		tk.draw(sample, seed)
		require.Equal(t, 50, tk.valid)
		return tk.drawn
	}
	require.Len(t, drawn(0, 1), 50)
	require.Len(t, drawn(60, 1), 50)
	require.Len(t, drawn(10, 1), 10)
	require.Equal(t, drawn(10, 1), drawn(10, 1))
	require.NotEqual(t, drawn(10, 1), drawn(10, 2))
}

// Tests that are late without having computed, as on a loaded machine, get more time. Those
// that wait for ever are ended all the same.
func TestLate(t *testing.T) {
	least := leastTimeout
	leastTimeout = 400 * time.Millisecond
	t.Cleanup(func() { leastTimeout = least })
	for script, want := range map[string]outcome{
		"sleep 0.5":                      {Result: survived},
		"sleep 0.5; exit 1":              {killed, "exit"},
		"sleep 100":                      {killed, timedOut},
		"while :; do :; done":            {killed, timedOut},
		"echo '--- FAIL: TestX'\nexit 1": {killed, "TestX"},
	} {
		binary := filepath.Join(t.TempDir(), "a.test")
		require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		s := &suite{listed: listed{Dir: t.TempDir()}}
		got, err := (&task{suites: []*suite{s}}).test(t.Context(), map[*suite]string{s: binary}, t.TempDir(), 1, &mutant{})
		require.NoError(t, err)
		require.Equal(t, want, got, script)
	}
}

func TestPrint(t *testing.T) {
	m := mutant{File: "a/b.go", Line: 3, Column: 5, Function: "F", Operator: "negation", Before: "a == b", After: "a != b"}
	r := report{Seed: 7, Least: 95, Packages: []*summary{{
		Package: "a", Candidates: 9, Sample: 8, Mutants: 5, Killed: 1, Survived: 2, NotCovered: 1, Equivalent: 1, NotCompiled: 3, Score: 100. / 3,
		Survivors: []record{{mutant: m}, {mutant: m, outcome: outcome{survived, notCovered}}},
		Stale:     []string{"a/b.go G negation: x -> y"},
		Wrong:     []record{{mutant: m, outcome: outcome{killed, "TestX"}}},
	}}}
	var out bytes.Buffer
	require.ErrorIs(t, r.write(&out, false), errFailed)
	require.Equal(t, `a/b.go:3:5: survived: F negation: a == b -> a != b
a/b.go:3:5: survived, not covered: F negation: a == b -> a != b
a/b.go:3:5: listed as equivalent, but killed by TestX: F negation: a == b -> a != b
listed as equivalent, but no mutant: a/b.go G negation: x -> y
  mutants  killed  survived  not covered  equivalent  not compiled  score  package
        5       1         2            1           1             3  33.3%  a (sample of 9, seed 7)
`, out.String())
}

func TestErrors(t *testing.T) {
	dir := copied(t, "testdata/sample")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no packages; name at least one"},
		{[]string{"-workers", "0", "."}, "-workers: 0; use at least 1"},
		{[]string{"-sample", "-1", "."}, "-sample: -1; use at least 0"},
		{[]string{"./missing"}, "missing"},
		{[]string{"-equivalent", written(t, "a"), "."}, "a: no reason; add an indented line below"},
		{[]string{"-equivalent", written(t, equal+equal), "."}, "listed twice; remove one"},
		{[]string{"-equivalent", written(t, "\ta"), "."}, "a reason without a mutant; put the mutant's line above it"},
		{[]string{"-equivalent", "missing.txt", "."}, "missing.txt"},
		{[]string{"-results", written(t, "text\n"), "."}, "remove the file"},
	} {
		_, _, err := play(t, dir, tt.args...)
		require.ErrorContains(t, err, tt.want)
		require.NotErrorIs(t, err, errFailed)
	}
	edit(t, filepath.Join(dir, "sample_test.go"), "!Positive(2)", "Positive(2)")
	_, _, err := play(t, dir, "-results", results(t), ".")
	require.ErrorContains(t, err, "example.com/sample fails without a mutant")
	require.ErrorContains(t, err, "TestPositive")
}
