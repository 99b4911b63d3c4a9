// Package lines has a test that fails if several mutants share a file.
package lines

import "runtime"

// Line returns the number of the line that it is written in.
func Line(n int) (int, int) {
	_, _, line, _ := runtime.Caller(0)
	return line, n + 2
}
