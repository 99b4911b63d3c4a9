package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tabulated returns a table. If it is wider than a line, the first column has lines of its own.
func Tabulated(rows [][]string) string {
	wide := 0
	for i := range rows[0] {
		most := 0
		for _, row := range rows {
			most = max(most, utf8.RuneCountInString(row[i]))
		}
		wide += most + 2
	}
	if wide-2 <= Columns {
		return Aligned("", true, rows)
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
// needed. All columns but the first are at the right, if wanted.
func Aligned(indent string, right bool, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for {
		var b strings.Builder
		longest := 0
		for _, row := range rows {
			line := indent
			for i, cell := range row {
				cell = Cut(cell, widths[i])
				pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
				if i > 0 && right {
					line += pad + cell + "  "
				} else {
					line += cell + pad + "  "
				}
			}
			line = strings.TrimRight(line, " ")
			longest = max(longest, utf8.RuneCountInString(line))
			b.WriteString(line + "\n")
		}
		if longest <= Columns {
			return b.String()
		}
		widths[slices.Index(widths, slices.Max(widths))]--
	}
}

// Cut returns the beginning of a text that is longer than n.
func Cut(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return text
}
