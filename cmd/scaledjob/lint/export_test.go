package lint

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// Read returns the ScaledJobs in a text as rules get them.
func Read(data []byte) (all []*manifest.ScaledJob) {
	c := &collector{}
	for _, p := range tree.Split(string(data)) {
		for _, d := range c.parse("", p) {
			if d.kind() == manifest.GroupVersionKind.Kind {
				s := new(manifest.ScaledJob)
				c.read(d, d.kind(), s)
				all = append(all, s)
			}
		}
	}
	return all
}

// Page returns the text of RULES.md.
func Page() string {
	var b strings.Builder
	b.WriteString("# Rules of scaledjob lint\n\n`go test ./lint -update` writes this page. `scaledjob lint --explain RULE` prints one rule.\n\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", r.ID, r.ID)
	}
	for _, r := range Rules() {
		e := r.Example()
		doc := strings.Join(report.Lines(capital(r.Severity.String())+": "+r.Doc+".", "", report.Columns), "\n")
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nBad:\n\n```yaml\n%s```\n\nGood:\n\n```yaml\n%s```\n", r.ID, doc, e.Bad, e.Good)
	}
	return b.String()
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
