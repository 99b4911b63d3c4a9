package why

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// most is the number of lines of a timeline that is printed.
const most = 40

// Print writes the report for people: for each ScaledJob a timeline and the answer.
func (r *Report) Print(out io.Writer) {
	for _, n := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	if len(r.Subjects) == 0 {
		return
	}
	fmt.Fprintf(out, "release   KEDA %s (%s: %s)\n", r.Release, r.Basis, r.Why)
	for _, a := range r.Subjects {
		fmt.Fprintln(out)
		a.print(out)
	}
}

// PrintRanked writes one line for each ScaledJob.
func (r *Report) PrintRanked(out io.Writer) {
	for _, n := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, a := range r.Subjects {
		fmt.Fprintf(out, "%-16s  %s: %s\n", a.State, titled(a.Namespace, a.Name), a.Answer)
	}
}

func (a *Account) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %d complete", titled(a.Namespace, a.Name), report.Plural(a.Polls, "poll"), a.Complete)
	if a.Interval != "" {
		fmt.Fprintf(out, ", every %s", a.Interval)
	}
	if a.Compared > 0 {
		fmt.Fprintf(out, "; %d computed again, %s", a.Compared, report.Plural(a.Differ, "difference"))
	}
	fmt.Fprintln(out)
	for _, n := range a.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	groups := a.Groups
	if n := len(groups) - most; n > 0 {
		fmt.Fprintf(out, "  … %s before; -o json has all\n", report.Plural(n, "line"))
		groups = groups[n:]
	}
	run, day := -1, ""
	for _, g := range groups {
		if run >= 0 && g.Run != run {
			fmt.Fprintln(out, "  -- another paste or run of the operator")
			day = ""
		}
		run = g.Run
		if d := g.From.Format(time.DateOnly); !g.From.IsZero() && g.From.Year() > 0 && d != day {
			fmt.Fprintf(out, "  %s\n", d)
			day = d
		}
		g.print(out)
	}
	for _, text := range a.Lint {
		fmt.Fprintf(out, "lint      %s\n", text)
	}
	fmt.Fprintf(out, "why       %s\n", a.Answer)
	for _, text := range a.Played {
		fmt.Fprintf(out, "simulate  %s\n", text)
	}
}

func (g *Group) print(out io.Writer) {
	when := fmt.Sprintf("line %d", g.Line)
	switch {
	case !g.From.IsZero() && g.To.Equal(g.From):
		when = clockOf(g.From, false)
	case !g.From.IsZero():
		when = clockOf(g.From, false) + "-" + clockOf(g.To, false)
	}
	alike := ""
	if g.Polls > 1 {
		alike = fmt.Sprintf("%d polls alike: ", g.Polls)
	}
	fmt.Fprintf(out, "  %-17s  %s%s\n", when, alike, g.Text)
	if g.Cause != nil {
		fmt.Fprintf(out, "  %-17s  %s: %s\n", "", g.Cause.Basis, strings.TrimSpace(g.Cause.Text))
	}
}
