package report

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Colored reports whether the output is a terminal with colors, and NO_COLOR is not set.
func Colored(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(out) != nil
}

// Terminal returns the terminal to which a command writes, or nil.
func Terminal(out io.Writer) *os.File {
	if w, ok := out.(*Writer); ok {
		out = w.Target()
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Width returns the columns that $COLUMNS or else the terminal has, and without both
// report.Columns.
func Width(out io.Writer) int { return cmp.Or(measured(out), Columns) }

// measured returns the columns of an output, or 0.
func measured(out io.Writer) int {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if f := Terminal(out); f != nil && width <= 0 {
		width, _, _ = term.GetSize(int(f.Fd()))
	}
	if width <= 0 {
		return 0
	}
	return max(40, width)
}

// Fit breaks the lines that a Writer writes from now on at the columns of its output. If they are
// not known, it takes others; 0 leaves lines whole.
func Fit(out io.Writer, others int) {
	if w, ok := out.(*Writer); ok {
		w.columns = cmp.Or(measured(w), others)
	}
}
