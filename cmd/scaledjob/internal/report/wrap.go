package report

import "strings"

// Columns is the width of texts that are not for a terminal.
const Columns = 100

// Lines breaks a text at spaces into lines of at most so many columns, unless a word is longer. All
// but the first line are indented.
func Lines(text, indent string, columns int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > columns:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
