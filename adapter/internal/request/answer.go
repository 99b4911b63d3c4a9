// Package request sends requests about Jobs, and reads the meaning of their answers to package slots.
package request

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/field"
)

// Code returns the HTTP status of an answer, or 0 if there was none.
func Code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// Longest bounds what a server said, in characters.
const Longest = 256

// ErrorText returns what a server said as one printable line without credentials, of at most [Longest]
// characters. An answer of the API server begins with its status, such as "403 Forbidden: exceeded quota".
func ErrorText(err error) string {
	text := err.Error()
	if code := Code(err); code > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(int(code)))) + ": " + text
	}
	const readable = 4 << 10 // a credential of the line ends before, and a megabyte would take long
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, redact.Answer(text[:min(len(text), readable)])))
	if len(line) > Longest {
		line = append(line[:Longest-1], '…')
	}
	return string(line)
}

// An Error is a failed request. Its text ends with the [ErrorText] of the API server.
type Error struct {
	Request string
	Err     error
}

func (e *Error) Error() string { return e.Request + ": " + ErrorText(e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// MaxProblems is how many failed requests an error names.
const MaxProblems = 8

// Problems are the errors of requests.
type Problems struct {
	errors  []error
	omitted int // beyond MaxProblems
}

// Add adds the error of a request.
func (p *Problems) Add(request string, err error) {
	if len(p.errors) == MaxProblems {
		p.omitted++
		return
	}
	p.errors = append(p.errors, &Error{request, err})
}

// Join returns the problems and other errors, and the number of further problems.
func (p *Problems) Join(others ...error) error {
	joined := append(slices.Clone(p.errors), others...)
	if p.omitted > 0 {
		joined = append(joined, fmt.Errorf("and %s failed", field.Plural(p.omitted, "more request")))
	}
	return errors.Join(joined...)
}
