package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Colored reports whether the output is a terminal with colors, and NO_COLOR is not set.
func Colored(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(out) != nil
}

// Terminal returns the terminal to which a command writes, or nil.
func Terminal(out io.Writer) *os.File {
	if w, ok := out.(*Writer); ok {
		out = w.To()
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Width returns the width of the terminal, or report.Columns without a terminal.
func Width(out io.Writer) int {
	if f := Terminal(out); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(40, width)
		}
	}
	return Columns
}
