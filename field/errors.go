package field

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Errors collects errors in the order of their addition. The zero value is
// empty and ready to use.
type Errors struct{ problems []error }

// Add adds an error with a Found in words, such as "no container".
func (e *Errors) Add(problem Error) { e.problems = append(e.problems, &problem) }

// Check adds an error about a value unless ok. Strings are quoted, other values
// are printed as fmt.Sprint does, and an empty string or an untyped nil is "nothing".
func (e *Errors) Check(ok bool, path string, found any, fix string) {
	if !ok {
		e.Add(Error{path, text(found), fix})
	}
}

// AtLeast adds an error if n is below lowest.
func (e *Errors) AtLeast(path string, n, lowest int64) {
	e.Check(n >= lowest, path, n, fmt.Sprintf("%d or more", lowest))
}

// AtMost adds an error if n is above highest.
func (e *Errors) AtMost(path string, n, highest int64) {
	e.Check(n <= highest, path, n, fmt.Sprintf("%d or less", highest))
}

// Join adds err, which may be nil. It puts the path and a dot before the path of each
// [*Error] in err, and the path and a colon before the text of every other error. If path is empty, Join adds
// err unchanged.
func (e *Errors) Join(path string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			e.Join(path, part)
		}
		return
	}
	if err != nil {
		e.problems = append(e.problems, below(path, err))
	}
}

// Err returns all errors, joined, or nil if there is none.
func (e *Errors) Err() error { return errors.Join(e.problems...) }

func below(path string, err error) error {
	problem, ok := errors.AsType[*Error](err)
	_, wrapped := err.(interface{ Unwrap() error })
	switch {
	case path == "":
		return err
	case !ok || wrapped:
		return fmt.Errorf("%s: %w", path, err)
	case problem.Path != "" && !strings.HasPrefix(problem.Path, "["):
		path += "."
	}
	return &Error{path + problem.Path, problem.Found, problem.Fix}
}

func text(found any) string {
	s := fmt.Sprint(found)
	switch {
	case found == nil || s == "":
		return "nothing"
	case reflect.TypeOf(found).Kind() == reflect.String:
		return strconv.Quote(s)
	}
	return s
}
