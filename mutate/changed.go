package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

// Lines are the changed lines of files, as pairs of first and last.
type changedLines map[string][][2]int

var hunk = regexp.MustCompile(`^@@ \S+ \+(\d+)(?:,(\d+))? @@`)

// changes returns the lines that "git diff base" shows as changed or added, by
// paths relative to the directory.
func changes(ctx context.Context, dir, base string) (changedLines, error) {
	out, err := command(ctx, dir, "git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix", "--relative", base, "--", "*.go")
	if err != nil {
		return nil, err
	}
	lines, path := changedLines{}, ""
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			path = strings.TrimSpace(name)
		} else if n := hunk.FindStringSubmatch(line); n != nil {
			first, _ := strconv.Atoi(n[1])
			count, err := strconv.Atoi(n[2])
			if err != nil {
				count = 1
			}
			lines[path] = append(lines[path], [2]int{first, first + count - 1})
		}
	}
	return lines, nil
}

// touches reports whether a line of the mutant's edit has changed.
func (c changedLines) touches(m *mutant) bool {
	for _, l := range c[m.File] {
		if m.Line <= l[1] && m.lastLine >= l[0] {
			return true
		}
	}
	return false
}
