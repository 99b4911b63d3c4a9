package lint

import (
	"regexp"
	"slices"
	"strings"
)

// ignorePattern matches a comment at the start of a line or after a space.
var ignorePattern = regexp.MustCompile(`(?:^|\s)#\s*scaledjob:ignore\s+(\S+)`)

// ignores drops the findings of a file that a comment silences: on their line,
// or above it on lines that have nothing but comments.
func (c *collector) ignores(f File) {
	text := string(f.Data)
	if !strings.Contains(text, "scaledjob:ignore") {
		return
	}
	lines := strings.Split(text, "\n")
	before := len(c.findings)
	c.findings = slices.DeleteFunc(c.findings, func(found Finding) bool {
		return found.File == f.Name && silenced(lines, found)
	})
	c.ignored += before - len(c.findings)
	for i, line := range lines {
		for _, id := range ignored(line) {
			if !isRule(id) {
				at := place{file: f.Name, line: i + 1, column: column(line, id), found: "no rule of the name " + id}
				c.add(unknownIgnore, at, "Write a rule that lint --rules lists", effect{text: "the comment silences nothing"})
			}
		}
	}
}

// ignored are the rules that a line's comment names, separated by commas.
func ignored(line string) []string {
	m := ignorePattern.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' })
}

func silenced(lines []string, f Finding) bool {
	for i := f.Line - 1; 0 <= i && i < len(lines); i-- {
		if i < f.Line-1 && !strings.HasPrefix(strings.TrimSpace(lines[i]), "#") {
			return false
		}
		if slices.Contains(ignored(lines[i]), f.Rule) {
			return true
		}
	}
	return false
}

// column returns the position of a word in a line, in characters from 1.
func column(line, word string) int {
	before, _, _ := strings.Cut(line, word)
	return 1 + len([]rune(before))
}
