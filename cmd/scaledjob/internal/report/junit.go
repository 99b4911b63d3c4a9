package report

import (
	"encoding/xml"
	"io"
)

// A Suite is a group of tests in the form that CI systems read.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr,omitempty"`
	Cases    []Case
}

// A Case is a test. It passed if it has neither a failure nor a reason why it was skipped.
type Case struct {
	XMLName xml.Name `xml:"testcase"`
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Message `xml:"failure"`
	Skipped *Message `xml:"skipped"`
}

// A Message says why a test failed or was skipped.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a test of the suite, and counts it.
func (s *Suite) Add(c Case) {
	c.Class = s.Name
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// WriteJUnit writes suites of tests.
func WriteJUnit(out io.Writer, suites []Suite) error {
	_, _ = io.WriteString(out, xml.Header) // an error is that of what follows
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	err := e.Encode(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite
	}{Suites: suites})
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "\n")
	return err
}
