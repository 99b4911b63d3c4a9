package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tabulated returns a table. If it is wider than a line, the first column has lines of its own.
func Tabulated(rows [][]string) string {
	text := Aligned("", true, rows)
	if first, _, _ := strings.Cut(text, "\n"); utf8.RuneCountInString(first) <= Columns {
		return text
	}
	numbers := make([][]string, len(rows))
	for i, row := range rows {
		numbers[i] = append([]string{""}, row[1:]...)
	}
	lines := strings.Split(strings.TrimSuffix(Aligned("", true, numbers), "\n"), "\n")
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			fmt.Fprintln(&b, strings.Join(Lines(rows[i][0], "    ", Columns), "\n"))
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// Aligned returns a table in at most report.Columns: the widest columns are cut off if
// needed. All columns but the first are at the right, if wanted: they are numbers, and not cut off.
func Aligned(indent string, right bool, rows [][]string) string {
	widths, wide := make([]int, len(rows[0])), utf8.RuneCountInString(indent)-2
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		wide += widths[i] + 2
	}
	for ; wide > Columns && !right; wide-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	var b strings.Builder
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			format := "%-*s  "
			if i > 0 && right {
				format = "%*s  "
			}
			line += fmt.Sprintf(format, widths[i], Cut(cell, widths[i]))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Cut returns the beginning of a text that is longer than n.
func Cut(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return text
}
