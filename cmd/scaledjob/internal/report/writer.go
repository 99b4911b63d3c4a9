package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Clean returns a text from outside as a part of a line: line breaks, other control
// characters, marks of the writing direction and invalid bytes are written as escapes.
func Clean(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || (r > '~' && hidden(r)) }) { // most texts
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteString(visible(r))
		}
	}
	return b.String()
}

// hidden reports whether a character may change how a terminal shows the text around it.
func hidden(r rune) bool {
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs)
}

// visible returns a character, or its escape if it is hidden. The escapes are JSON's.
func visible(r rune) string {
	switch {
	case r == utf8.RuneError || !hidden(r): // U+FFFD stands for a byte that is no character
		return string(r)
	case r > 0xFFFF:
		high, low := (r-0x10000)>>10+0xD800, (r-0x10000)&0x3FF+0xDC00
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// A Writer writes lines without characters that a terminal or a runner obeys:
//
//   - A control character other than a line break and a tab is written as an escape of JSON.
//   - "##[", "##vso[" and a line that begins with "::" are commands of runners. An escape breaks them.
//
// The value of JSON stays the same. A Writer keeps the last line until it is complete: call
// Flush at the end.
type Writer struct {
	target  io.Writer
	line    []byte
	err     error
	columns int // 0 leaves lines whole
	// Colors lets the colors of the command pass. Every other text in the output must
	// then be clean.
	Colors bool
	// Commands lets lines that begin with "::" pass, which the command has written for a
	// runner of GitHub.
	Commands bool
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{target: w} }

// Write writes the complete lines of p and of earlier calls. After an error it writes
// nothing more, and returns the error again.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	w.line = append(w.line, p...)
	end := bytes.LastIndexByte(w.line, '\n') + 1
	if end > 0 {
		w.put(w.line[:end])
		w.line = append(w.line[:0], w.line[end:]...)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Flush writes the last line without its end, and returns the first error of the Writer.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.line) > 0 {
		w.put(w.line)
		w.line = nil
	}
	return w.err
}

func (w *Writer) put(lines []byte) {
	var out []byte
	for line := range bytes.Lines(lines) {
		if text, end := bytes.CutSuffix(line, []byte("\n")); w.columns > 0 {
			line = []byte(strings.Join(Fitted(string(text), w.columns), "\n"))
			if end {
				line = append(line, '\n')
			}
		}
		for part := range bytes.Lines(line) {
			out = append(out, w.safe(part)...)
		}
	}
	_, w.err = w.target.Write(out)
}

var color = regexp.MustCompile(`^\x1b\[[0-9]*m`)

func (w *Writer) safe(line []byte) []byte {
	out := make([]byte, 0, len(line))
	start := true // nothing but spaces so far
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case r == '\n' || r == '\t':
			out = append(out, byte(r))
		case r == 0x1b && w.Colors && color.Match(line[i:]):
			size = len(color.Find(line[i:]))
			out = append(out, line[i:i+size]...)
		case start && !w.Commands && bytes.HasPrefix(line[i:], []byte("::")):
			out = append(out, `\u003a`...)
		case r == '[' && bytes.HasSuffix(bytes.TrimRight(out, "vsoVSO"), []byte("##")):
			out = append(out, `\u005b`...)
		default:
			out = append(out, visible(r)...)
		}
		start = start && unicode.IsSpace(r)
		i += size
	}
	return out
}

// Colored reports whether the output is a terminal with colors, and NO_COLOR is not set.
func Colored(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(out) != nil
}

// Terminal returns the terminal to which a command writes, or nil.
func Terminal(out io.Writer) *os.File {
	if w, ok := out.(*Writer); ok {
		out = w.target
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
