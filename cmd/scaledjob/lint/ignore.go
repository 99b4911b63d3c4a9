package lint

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// ignorePattern matches a comment at the start of a line or after a space.
var ignorePattern = regexp.MustCompile(`(?:^|\s)#\s*scaledjob:ignore\s+(\S+)`)

// ignores drops the findings that a comment silences: on their line, or above it on lines that have
// nothing but comments.
func (c *collector) ignores(files []File) {
	silenced, unknown := map[position][]string{}, collector{scope: c.scope}
	for i := range c.findings {
		silenced[position{c.findings[i].File, c.findings[i].Line}] = nil
	}
	for _, f := range files {
		if !bytes.Contains(f.Data, []byte("scaledjob:ignore")) {
			continue
		}
		number := 0
		var rules []string // of this line and of comments above
		for line := range strings.SplitSeq(lineBreaks.Replace(string(f.Data)), "\n") {
			number++
			for _, id := range ignored(line) {
				if !isRule(id) {
					spot := place{file: f.Name, line: number, column: column(line, id), found: "no rule named " + id}
					fix := "Write a rule that scaledjob lint --rules lists"
					if near := nearest(id, ruleIDs()); near != "" {
						fix = "Write " + near
					}
					unknown.add(unknownIgnore, spot, fix, effect{text: "the comment silences nothing"})
				} else if !slices.Contains(rules, id) {
					rules = append(rules, id)
				}
			}
			if _, needed := silenced[position{f.Name, number}]; needed {
				silenced[position{f.Name, number}] = slices.Clone(rules)
			}
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				rules = nil
			}
		}
	}
	before := len(c.findings)
	c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return slices.Contains(silenced[position{f.File, f.Line}], f.Rule) })
	c.ignored += before - len(c.findings)
	c.findings = append(c.findings, unknown.findings...)
}

// ignored are the rules that a line's comment names, separated by commas.
func ignored(line string) []string {
	m := ignorePattern.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' })
}

// column returns the position of a word in a line, in characters from 1.
func column(line, word string) int {
	before, _, _ := strings.Cut(line, word)
	return 1 + len([]rune(before))
}
