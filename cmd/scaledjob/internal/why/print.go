package why

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/field"
)

// most is the number of lines of a timeline that is printed.
const maxTimeline = 40

// say writes a line. Texts from outside cannot begin another.
func say(out io.Writer, format string, args ...any) {
	fmt.Fprintln(out, report.Clean(fmt.Sprintf(format, args...)))
}

// Print writes the report for people: for each ScaledJob a timeline and the answer.
func (r *Report) Print(out io.Writer) {
	report.Fit(out, 0)
	for _, n := range r.Notes {
		say(out, "note: %s", n)
	}
	if len(r.Subjects) == 0 {
		return
	}
	if r.Release != "" {
		say(out, "release   KEDA %s (%s: %s)", r.Release, r.Basis, r.Reason)
	}
	for _, a := range r.Subjects {
		fmt.Fprintln(out)
		a.print(out)
	}
}

// PrintRanked writes one line for each ScaledJob.
func (r *Report) PrintRanked(out io.Writer) {
	report.Fit(out, 0)
	for _, n := range r.Notes {
		say(out, "note: %s", n)
	}
	for _, a := range r.Subjects {
		say(out, "%-16s  %s: %s", a.State, titled(a.Namespace, a.Name), a.Answer)
	}
}

func (a *Account) print(out io.Writer) {
	head := fmt.Sprintf("%s: %s, %d complete", titled(a.Namespace, a.Name), field.Plural(a.Polls, "poll"), a.Complete)
	if a.Interval != "" {
		head += ", every " + a.Interval
	}
	if a.Compared > 0 {
		head += fmt.Sprintf("; %d computed again, %s", a.Compared, field.Plural(a.Differ, "difference"))
	}
	say(out, "%s", head)
	for _, n := range a.Notes {
		say(out, "note: %s", n)
	}
	groups := a.Groups
	if n := len(groups) - maxTimeline; n > 0 {
		say(out, "  … %s before; -o json has all", field.Plural(n, "line"))
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
			say(out, "  %s", d)
			day = d
		}
		g.print(out)
	}
	for _, text := range a.Lint {
		say(out, "lint      %s", text)
	}
	say(out, "why       %s", a.Answer)
}

func (g *Group) print(out io.Writer) {
	period := fmt.Sprintf("line %d", g.Line)
	switch {
	case !g.From.IsZero() && g.End.Equal(g.From):
		period = clockOf(g.From, false)
	case !g.From.IsZero():
		period = clockOf(g.From, false) + "-" + clockOf(g.End, false)
	}
	alike := ""
	if g.Times > 1 {
		alike = fmt.Sprintf("%d times: ", g.Times)
	}
	if g.Polls > 1 {
		alike = fmt.Sprintf("%d polls alike: ", g.Polls)
	}
	say(out, "  %-17s  %s%s", period, alike, g.Text)
	if g.Cause != nil {
		say(out, "  %-17s  %s: %s", "", g.Cause.Basis, strings.TrimSpace(g.Cause.Text))
	}
}
