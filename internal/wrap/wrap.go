// Package wrap breaks text into lines for a terminal.
package wrap

import "strings"

// Columns is the width of the texts that the command prints.
const Columns = 100

// Lines breaks a text at spaces into lines of at most Columns, unless a word is longer. All
// but the first line are indented.
func Lines(text, indent string) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > Columns:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
