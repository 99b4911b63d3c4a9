// Package sample has tests that notice some mutants.
package sample

// Larger returns the larger number. One mutant is equivalent.
func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Positive is tested, but not at 0.
func Positive(n int) bool { return n > 0 }

// Untested is never called.
func Untested(n int) int { return n - 2 }

// Steps has mutants that do not end.
func Steps(n int) (steps int) {
	for n >= step {
		n -= step
		steps++
	}
	return steps
}

// Name has mutants that do not compile.
func Name(a bool) string {
	switch a {
	case true:
		return "yes"
	default:
		return "no"
	}
}

var step = 3
