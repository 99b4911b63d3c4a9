package field_test

// What the tests hold:
//
//	an error is found as itself, alone, joined, wrapped and below a prefix   TestErrorsAreFound
//	no argument is modified                                                  TestJoinCopies
//	a text that a user wrote is quoted                                       TestFound
//	JSON is read strictly, with all problems at once                         TestDecode, TestDecodeProblems
//	the hooks of a Decoder                                                   TestDecodeForm, TestDecodeQuotes, TestDecodeVisits

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
)

func TestZeroValueHasNoErrors(t *testing.T) {
	var problems field.Errors
	require.NoError(t, problems.Err())
	problems.Join("spec", nil)
	problems.Join("", errors.Join(nil, nil))
	problems.Check(true, "spec", 1, "2")
	problems.AtLeast("spec", 0, 0)
	problems.AtMost("spec", 7, 7)
	require.NoError(t, problems.Err())
	require.Nil(t, field.All(nil))
	require.Nil(t, field.All(io.EOF))
}

// word is a string type as configuration has them.
type word string

// size is a string type with a text of its own.
type size string

func (s size) String() string { return "size " + string(s) }

func TestFound(t *testing.T) {
	for _, tt := range []struct {
		found any
		want  string
	}{
		{-1, "-1"}, {0.5, "0.5"}, {true, "true"}, {"", "nothing"}, {word(""), "nothing"}, {nil, "nothing"},
		{"a; use b", `"a; use b"`}, {word("two\nlines"), `"two\nlines"`}, {size("XL"), `"size XL"`}, {io.EOF, "EOF"}, {[]int{1, 2}, "[1 2]"},
	} {
		var problems field.Errors
		problems.Check(false, "x", tt.found, "y")
		require.EqualError(t, problems.Err(), "x: found "+tt.want+"; use y")
	}
}

func TestBounds(t *testing.T) {
	var problems field.Errors
	problems.AtLeast("min", -1, 0)
	problems.AtMost("max", 11, 10)
	require.EqualError(t, problems.Err(), "min: found -1; use 0 or more\nmax: found 11; use 10 or less")
}

// Each error of a tree is found, whether it is alone, joined, wrapped or moved
// below a path.
func TestErrorsAreFound(t *testing.T) {
	a, b, c := &field.Error{Path: "a"}, &field.Error{Path: "b", Fix: "2"}, &field.Error{Path: "c"}
	var problems field.Errors
	problems.Join("", errors.Join(a, fmt.Errorf("in a file: %w", errors.Join(b, io.EOF))))
	problems.Join("", c)
	require.Equal(t, []*field.Error{a, b, c}, field.All(problems.Err()))
	require.ErrorIs(t, problems.Err(), io.EOF)
	var first *field.Error
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", problems.Err()), &first)
	require.Same(t, a, first)

	var moved field.Errors
	moved.Join("spec", errors.Join(problems.Err(), &field.Error{Path: "[3]"}, &field.Error{}))
	var paths []string
	for _, e := range field.All(moved.Err()) {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{"spec.a", "b", "spec.c", "spec[3]", "spec"}, paths, "b is part of another error's text")
	require.ErrorIs(t, moved.Err(), io.EOF)
	require.ErrorContains(t, moved.Err(), "spec: in a file: b: found ; use 2")
}

func TestJoinCopies(t *testing.T) {
	e := &field.Error{Path: "min", Found: "-1", Fix: "0"}
	var problems field.Errors
	problems.Join("spec", e)
	require.Equal(t, &field.Error{Path: "min", Found: "-1", Fix: "0"}, e)
	added := field.Error{Path: "max"}
	problems.Add(added)
	field.All(problems.Err())[1].Path = "other"
	require.Equal(t, "max", added.Path)
}

func ExampleErrors() {
	validate := func(replicas int64, strategy string) error {
		var problems field.Errors
		problems.AtLeast("minReplicas", replicas, 0)
		problems.Check(strategy == "accurate" || strategy == "eager", "strategy", strategy, "accurate or eager")
		return problems.Err()
	}
	fmt.Println(validate(-1, "fast"))
	// Output:
	// minReplicas: found -1; use 0 or more
	// strategy: found "fast"; use accurate or eager
}

// A policy that is part of a larger configuration.
func ExampleErrors_Join() {
	policy := errors.Join(&field.Error{Path: "max", Found: "-1", Fix: "0 or more"})
	var problems field.Errors
	problems.Join("clusters[2].policy", policy)
	fmt.Println(problems.Err())
	// Output: clusters[2].policy.max: found -1; use 0 or more
}

func ExampleAll() {
	err := errors.Join(&field.Error{Path: "max", Found: "-1", Fix: "0 or more"}, errors.New("no such file"))
	data, _ := json.Marshal(field.All(err))
	fmt.Println(string(data))
	// Output: [{"path":"max","found":"-1","fix":"0 or more"}]
}
