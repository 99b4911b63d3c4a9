package report

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// Tabulated returns a table of numbers behind their heads. If it is wider than so many columns,
// the first cell of a row has lines of its own. If that is too wide as well, each number is
// behind its head.
func Tabulated(rows [][]string, columns int) string {
	text := Aligned("", true, rows)
	if Fits(text, columns) {
		return text
	}
	var b strings.Builder
	first := func(row []string) {
		if row[0] != "" {
			fmt.Fprintln(&b, row[0])
		}
	}
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = append([]string{""}, row[1:]...)
	}
	if text = Aligned("", true, numbers); Fits(text, columns) {
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if i > 0 {
				first(rows[i])
			}
			fmt.Fprintln(&b, line)
		}
		return b.String()
	}
	for _, row := range rows[1:] {
		first(row)
		var named []string
		for i, cell := range row[1:] {
			named = append(named, rows[0][i+1]+": "+cell)
		}
		fmt.Fprintln(&b, "  "+strings.Join(named, ", "))
	}
	return b.String()
}

// Fits reports whether each line of a text has at most so many columns.
func Fits(text string, columns int) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if Wide(line) > columns {
			return false
		}
	}
	return true
}

// Aligned returns a table. All columns but the first are at the right, if wanted: they are numbers.
func Aligned(indent string, right bool, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], Wide(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			blank := strings.Repeat(" ", widths[i]-Wide(cell))
			if i > 0 && right {
				line += blank + cell + "  "
			} else {
				line += cell + blank + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Cut returns the beginning of a text that is wider than n columns.
func Cut(text string, n int) string {
	if Wide(text) <= n {
		return text
	}
	end, width := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next() && width+g.Width() < n; _, end = g.Positions() {
		width += g.Width()
	}
	return text[:end] + "…"
}
