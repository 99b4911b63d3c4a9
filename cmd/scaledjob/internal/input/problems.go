package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// ErrFound ends a command that has printed its result.
var ErrFound = errors.New("found")

// Outcome is the error of a command that looks for something.
func Outcome(isFound bool, problems error) error {
	if problems == nil && isFound {
		return ErrFound
	}
	return problems
}

// A UsageError is about the command line.
type UsageError struct{ error }

// Usage returns an error about the command line.
func Usage(err error) error { return UsageError{err} }

// Usagef is Usage with a format.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// WrapEach wraps every error that was joined.
func WrapEach(err error, wrap func(error) error) error {
	problems := Problems(err)
	for i := range problems {
		problems[i] = wrap(problems[i])
	}
	return errors.Join(problems...)
}

// Problems returns the errors that were joined, and none of nil.
func Problems(err error) []error { return appendProblems(nil, err) }

var join = reflect.TypeOf(errors.Join(ErrFound))

func appendProblems(problems []error, err error) []error {
	switch e := err.(type) {
	case nil:
		return problems
	case UsageError:
		for _, problem := range Problems(e.error) {
			problems = append(problems, UsageError{problem})
		}
		return problems
	case interface{ Unwrap() []error }:
		if reflect.TypeOf(err) != join { // a text with several %w is one problem
			break
		}
		for _, problem := range e.Unwrap() {
			problems = appendProblems(problems, problem)
		}
		return problems
	}
	return append(problems, err)
}

// NoArguments rejects arguments.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("unexpected argument %q", args[0])
}

// Plain replaces the types of a JSON decoder by the field and the value.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	found := report.Article(strings.Fields(wrong.Value + " value")[0])
	if wrong.Field == "" {
		return fmt.Errorf("found %s", found)
	}
	return fmt.Errorf("%s: found %s", wrong.Field, found)
}
