package lint

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:generate env LINT_RULES=../../../docs/lint-rules.md go test -count=1 . -run ^TestPage$

//go:embed examples.txt
var examplesText string

// An Example holds two pieces of a manifest: Bad has a finding of the rule, Good has none.
type Example struct{ Bad, Good string }

// examples are the examples of all rules, by rule.
var examples = sync.OnceValue(func() map[string]Example {
	parsed := map[string]Example{}
	for section := range strings.SplitSeq(examplesText, "\n== ") {
		id, text, ok := strings.Cut(section, "\n")
		if bad, good, complete := strings.Cut(text, "\n--\n"); ok && complete {
			parsed[id] = Example{strings.TrimSpace(bad) + "\n", strings.TrimSpace(good) + "\n"}
		}
	}
	return parsed
})

// Explain returns a text about a rule: its severity, its description, a bad and a good
// example. It is an error if the rule is unknown.
func Explain(id string) (string, error) {
	for i := range rules {
		if r := rules[i].Rule; r.ID == id {
			e := r.Example()
			return fmt.Sprintf("%s (%s): %s.\n\nBad:\n\n%s\nGood:\n\n%s\nMore: %s\n", r.ID, r.Severity, r.Doc, indent(e.Bad), indent(e.Good), r.URL()), nil
		}
	}
	return "", unknownRule(id)
}

// Example returns the examples of the rule.
func (r Rule) Example() Example { return examples()[r.ID] }

// URL returns the address of the rule's description.
func (r Rule) URL() string {
	return "https://github.com/scaledjob/scaledjob/blob/main/docs/lint-rules.md#" + r.ID
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
