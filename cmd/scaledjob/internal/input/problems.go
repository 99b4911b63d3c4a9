package input

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Each wraps every error that was joined.
func Each(err error, wrap func(error) error) error {
	all := Problems(err)
	for i := range all {
		all[i] = wrap(all[i])
	}
	return errors.Join(all...)
}

// Problems returns the errors that were joined, and none of nil.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	if usage, ok := err.(UsageError); ok {
		all := Problems(usage.error)
		for i := range all {
			all[i] = UsageError{all[i]}
		}
		return all
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || strings.Count(err.Error(), "\n") == 0 {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Problems(e)...)
	}
	return all
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
