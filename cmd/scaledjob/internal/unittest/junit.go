package unittest

import (
	"fmt"
	"io"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// WriteJUnit writes results in the form that CI systems read: a suite for each file, and a case for each release of a test.
func WriteJUnit(out io.Writer, results []Result) error {
	var suites []report.Suite
	for i := range results {
		r := &results[i]
		n := len(suites)
		if n == 0 || suites[n-1].Name != r.File {
			suites = append(suites, report.Suite{Name: r.File})
			n++
		}
		c := report.Case{Name: fmt.Sprintf("%s, %s", r.Name, r.Release)}
		if !r.Passed {
			var lines []string
			for _, m := range r.Failures {
				lines = append(lines, fmt.Sprintf("%s: found %s, expected %s", m.Field, m.Found, m.Expected))
			}
			c.Failure = &report.Message{Message: strings.Join(lines, "; "), Text: r.Trace}
		}
		suites[n-1].Add(c)
	}
	return report.WriteJUnit(out, suites)
}
