package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// Formulas are KEDA's: compiled with the triggers' names, and cast to a number.
func TestFormulas(t *testing.T) {
	one, two := 3., 5.
	for text, want := range map[string]wire.Result{
		"one + two":         {Value: 8},
		"one > 2 ? 10 : 20": {Value: 10},
		"max([one, two])":   {Value: 5},
		"three ?? 7":        {Value: 7},
		"three":             {Error: "invalid operation: float(<nil>)"},
		"three ?? nil":      {None: true},
		"one / (two - 5)":   {Error: "the formula is +Inf; use a finite number"},
		"nope + 1":          {Error: "unknown name nope"},
		"":                  {Error: "mandatory"},
		"'a' + 'b'":         {Error: "invalid"},
		"reduce(1..1000000, #acc + len(1..1000000))":   {Error: "memory budget exceeded"},
		"count([one, two, one, two], # > 4) + one * 0": {Value: 2},
	} {
		got := evaluate(&wire.Formula{Text: text, Values: map[string]*float64{"one": &one, "two": &two, "three": nil}})
		require.Contains(t, got.Error, want.Error, text)
		got.Error, want.Error = "", ""
		require.Equal(t, want, got, text)
	}
	require.False(t, math.IsNaN(one))
}

// nested never ends. It begins as KEDA's own rewriting does, so that it is left as it is.
var nested = "let _kedaCompositeResult = 0..9999; let n = " + strings.Repeat("count(_kedaCompositeResult, ", 5) + "# > (one ?? 0) * 99999" +
	strings.Repeat(") > 0", 4) + "); float(n)"

// A formula of nested loops ends its worker, and its triggers stay readable. Another owner's
// formula is evaluated by the next worker.
func TestFormulaThatLoops(t *testing.T) {
	r := reads(t, triggers.Options{Timeout: 2 * time.Second, Workers: 1}, nil)
	one := 1.
	values := map[string]*float64{"one": &one}
	got, err := r.Formula(t.Context(), owner("good"), "one + 1", values)
	require.NoError(t, err)
	require.Equal(t, 2., *got)
	_, err = r.Formula(t.Context(), owner("bad"), nested, values)
	require.EqualError(t, err, "the formula did not end in time")
	got, err = r.Formula(t.Context(), owner("good"), "one + 2", values)
	require.NoError(t, err)
	require.Equal(t, 3., *got)
	_, err = r.Formula(t.Context(), owner("bad"), nested, values)
	require.EqualError(t, err, "the formula did not end in time", "alone")
	_, err = r.Formula(t.Context(), owner("bad"), "one", values)
	require.ErrorContains(t, err, "has ended a worker", "and then not for a minute")
	_, err = r.Read(t.Context(), owner("bad"))
	require.NoError(t, err, "its triggers are not affected")
}
