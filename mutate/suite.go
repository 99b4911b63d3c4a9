package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A suite holds the tests of a package.
type suite struct {
	listed
	flags  []string      // of the test binary
	inputs []string      // files that the tests are built from, and their testdata
	base   time.Duration // of a run without a mutant
	blocks []block       // of the package under mutation
}

// A block is a part of a file that the tests reach, or do not reach.
type block struct {
	file       string
	start, end [2]int // line and column
	reached    bool
}

// suites returns the tests, in packages that match the patterns, that depend on a package.
func suites(ctx context.Context, dir, path string, patterns []string) ([]*suite, error) {
	all, err := list(ctx, dir, append([]string{"--", path}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var found []*suite
	for _, l := range all {
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 || slices.ContainsFunc(found, func(s *suite) bool { return s.ImportPath == l.ImportPath }) {
			continue
		}
		deps, err := list(ctx, dir, "-deps", "-test", "--", l.ImportPath)
		if err != nil {
			return nil, err
		}
		s := &suite{listed: l}
		if s.use(deps, path) {
			found = append(found, s)
		}
	}
	return found, nil
}

// use reads the inputs and flags from the dependencies of the tests, and reports whether
// the package is among them.
func (s *suite) use(deps []listed, path string) bool {
	uses := false
	for _, d := range deps {
		name, _, _ := strings.Cut(d.ImportPath, " ") // without the variant
		uses = uses || name == path
		if name == "pgregory.net/rapid" {
			// Without files of failures in the tree, and without the search for a smaller failure.
			s.flags = []string{"-rapid.nofailfile", "-rapid.shrinktime=0s"}
		}
		if d.Module != nil && d.Module.Main {
			for _, name := range slices.Concat(d.GoFiles, d.TestGoFiles, d.XTestGoFiles, d.EmbedFiles, d.TestEmbedFiles, d.XTestEmbedFiles) {
				if !filepath.IsAbs(name) { // the generated main function is in the build cache
					s.inputs = append(s.inputs, filepath.Join(d.Dir, name))
				}
			}
		}
	}
	for at := s.Dir; s.Module != nil; at = filepath.Dir(at) {
		_ = filepath.WalkDir(filepath.Join(at, "testdata"), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				s.inputs = append(s.inputs, name)
			}
			return nil
		})
		if at == s.Module.Dir || at == filepath.Dir(at) {
			break
		}
	}
	slices.Sort(s.inputs)
	s.inputs = slices.Compact(s.inputs)
	return uses
}

// hash identifies the sources of a package and of its tests, with the flags of the tests.
func hash(s *source, tests []*suite) (string, error) {
	var names []string
	for _, f := range s.files {
		names = append(names, f.absolute)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version())
	for _, t := range tests {
		names = append(names, t.inputs...)
		fmt.Fprintln(sum, t.flags)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(b))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// measure runs the tests without a mutant. It sets base and blocks.
func (s *suite) measure(ctx context.Context, path, temp string) error {
	binary, profile := filepath.Join(temp, "cover.test"), filepath.Join(temp, "cover.out")
	if _, err := command(ctx, s.Dir, "go", "test", "-c", "-vet=off", "-cover", "-covermode=set", "-coverpkg="+path, "-o", binary, "."); err != nil {
		return err
	}
	start := time.Now()
	if out, err := s.run(ctx, binary, temp, "", "-test.coverprofile="+profile); err != nil {
		return fmt.Errorf("%s fails without a mutant: %w\n%s", s.ImportPath, err, out)
	}
	s.base = time.Since(start)
	b, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	s.blocks = parseProfile(string(b), path)
	return nil
}

var profileLine = regexp.MustCompile(`(?m)^(.*)/([^/]+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// parseProfile returns the blocks of a package in a coverage profile.
func parseProfile(profile, path string) (blocks []block) {
	for _, line := range profileLine.FindAllStringSubmatch(profile, -1) {
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(line[i+3])
		}
		if line[1] == path {
			blocks = append(blocks, block{line[2], [2]int{n[0], n[1]}, [2]int{n[2], n[3]}, n[4] > 0})
		}
	}
	return blocks
}

// covers reports whether the tests reach a mutant. Code outside all blocks, such
// as a variable's initial value, is reached.
func (s *suite) covers(m *mutant) bool {
	covered, at := true, [2]int{m.Line, m.Column}
	for _, b := range s.blocks {
		if strings.HasSuffix("/"+m.File, "/"+b.file) && slices.Compare(b.start[:], at[:]) <= 0 && slices.Compare(at[:], b.end[:]) < 0 {
			if b.reached {
				return true
			}
			covered = false
		}
	}
	return covered
}

// run runs a test binary, with a mutant if selected is not empty. It returns the
// output, and an error if the tests fail.
func (s *suite) run(ctx context.Context, binary, temp, selected string, flags ...string) ([]byte, error) {
	var out head
	args := slices.Concat([]string{"-c", `ulimit -v 8388608 2>/dev/null; exec "$0" "$@"`, binary, "-test.failfast", "-test.paniconexit0"}, s.flags, flags)
	c := exec.CommandContext(ctx, "sh", args...)
	c.Dir, c.Stdout, c.Stderr = s.Dir, &out, &out
	c.Env = append(os.Environ(), "TMPDIR="+temp, selector+"="+selected)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that programs the tests start end with them
	end := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel, c.WaitDelay = end, time.Second
	err := c.Run()
	if c.Process != nil {
		_ = end()
	}
	return out, err
}

// A head keeps the first bytes that are written to it.
type head []byte

func (h *head) Write(b []byte) (int, error) {
	*h = append(*h, b[:min(len(b), 1<<16-len(*h))]...)
	return len(b), nil
}
