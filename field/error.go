// Package field describes invalid configuration values: the field, the value in
// it, and a value to use instead.
//
// A Validate function adds each problem to an [Errors] and returns its Err, so
// that a user sees all problems at once. A caller lists them with [All], or
// finds the first with errors.As. A [Decoder] does the same for JSON that does not fit a type.
package field

import "errors"

// An Error describes an invalid value. The zero value describes none.
type Error struct {
	Path  string `json:"path"`  // the field, such as spec.triggers[0].type; "" is the value that was read
	Found string `json:"found"` // its value, or the problem in words
	Fix   string `json:"fix"`   // the value to use instead; it follows the word "use"
}

// Error returns "path: found value; use fix". Found and Fix may not be empty.
func (e *Error) Error() string {
	text := "found " + e.Found + "; use " + e.Fix
	if e.Path == "" {
		return text
	}
	return e.Path + ": " + text
}

// All returns each *Error of a tree of errors in the order of the text, or nil
// if there is none. It follows both forms of Unwrap.
func All(err error) []*Error { return appendErrors(nil, err) }

func appendErrors(found []*Error, err error) []*Error {
	switch tree := err.(type) {
	case interface{ Unwrap() error }:
		return appendErrors(found, tree.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range tree.Unwrap() {
			found = appendErrors(found, branch)
		}
	default:
		if e, ok := errors.AsType[*Error](err); ok {
			found = append(found, e)
		}
	}
	return found
}
