package testfile

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []junitSuite
}

type junitSuite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Cases    []junitCase
}

type junitCase struct {
	XMLName xml.Name      `xml:"testcase"`
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results in the form that CI systems read: a suite for each file, and a case for each release of a test.
func WriteJUnit(out io.Writer, results []Result) error {
	var report junitSuites
	for i := range results {
		r := &results[i]
		n := len(report.Suites)
		if n == 0 || report.Suites[n-1].Name != r.File {
			report.Suites = append(report.Suites, junitSuite{Name: r.File})
			n++
		}
		s := &report.Suites[n-1]
		c := junitCase{Class: r.File, Name: fmt.Sprintf("%s, %s", r.Name, r.Release)}
		if !r.Passed {
			var lines []string
			for _, m := range r.Failures {
				lines = append(lines, fmt.Sprintf("%s: found %s, expected %s", m.Field, m.Found, m.Expected))
			}
			c.Failure = &junitFailure{strings.Join(lines, "; "), r.Trace}
			s.Failures++
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	_, _ = io.WriteString(out, xml.Header) // an error is that of what follows
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}
