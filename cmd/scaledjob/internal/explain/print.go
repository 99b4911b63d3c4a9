package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// Print prints a poll as text, JSON or the names of the deleted Jobs.
func (p *Poll) Print(out io.Writer, format string, blank bool) error {
	switch format {
	case "json":
		return json.NewEncoder(out).Encode(p)
	case "name":
		for _, name := range p.Deleted() {
			fmt.Fprintf(out, "job.batch/%s\n", report.Clean(name))
		}
		return nil
	}
	report.Fit(out, 0)
	if blank {
		fmt.Fprintln(out)
	}
	switch name := input.Titled(p.Name); {
	case p.Never != "":
		fmt.Fprintf(out, "%s: KEDA never polls this manifest. %s If corrected, %s\n", name, report.Clean(p.Never), p.Summary)
	case p.Blocked == "" && p.Summary != "":
		fmt.Fprintf(out, "%s: %s\n", name, p.Summary)
	default:
		fmt.Fprintf(out, "%s: one poll of %s\n", name, p.Release)
	}
	p.Rollout.print(out, "rollout")
	create := p.Create
	if p.Blocked != "" {
		fmt.Fprintf(out, "create    %s: %s\n", report.Plural(int(p.Create.Jobs), "Job"), report.Clean(p.Blocked))
		if create = p.Corrected; create != nil {
			fmt.Fprintln(out, "after the correction:")
		}
	}
	switch {
	case create != nil:
		fmt.Fprintln(out, create.Trace)
	case p.Blocked == "":
		fmt.Fprintln(out, "create    not known: no queue length; use --queue 12")
	}
	p.Prune.print(out, "prune")
	fmt.Fprintf(out, "edits     %s\n", p.Edits)
	return nil
}

// Deleted returns the names of the deleted Jobs. A finished Job may be outdated as well.
func (p *Poll) Deleted() (names []string) {
	for _, r := range []*removal{p.Rollout, p.Prune} {
		if r == nil {
			continue
		}
		for _, d := range r.Jobs {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

func (r *removal) print(out io.Writer, part string) {
	if r == nil {
		return
	}
	if len(r.Jobs) == 0 {
		fmt.Fprintf(out, "%-9s 0 Jobs: %s\n", part, strings.TrimSuffix(r.Idle, "."))
		return
	}
	fmt.Fprintf(out, "%-9s %s deleted, in this order:\n", part, report.Plural(len(r.Jobs), "Job"))
	var rows [][]string
	for _, d := range r.Jobs {
		rows = append(rows, []string{report.Clean(d.Name), d.Reason, report.Clean(d.Detail)})
	}
	fmt.Fprint(out, report.Aligned("            ", false, rows))
	if r.Rule != "" {
		fmt.Fprintf(out, "          rule: %s\n", r.Rule)
	}
	if r.Panic {
		fmt.Fprintf(out, "          and then %s\n", report.Clean(r.Fault))
	}
}

// Deletions describes the deleted Jobs.
func (p *Poll) Deletions() string {
	var b strings.Builder
	p.Rollout.print(&b, "rollout")
	p.Prune.print(&b, "prune")
	return strings.TrimSuffix(b.String(), "\n")
}
