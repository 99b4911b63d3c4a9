package report

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Columns is the width of texts if the width of the output is not known.
const Columns = 100

// Lines breaks a text at spaces into lines of at most so many columns, unless a word is longer. All
// but the first line are indented.
func Lines(text, indent string, columns int) []string {
	var lines []string
	words := strings.TrimLeft(text, " ")
	line := text[:len(text)-len(words)]
	for i, word := range strings.Split(words, " ") {
		switch {
		case i == 0:
			line += word
		case line == indent: // spaces at the break
			line += word
		case Wide(line)+1+Wide(word) > columns:
			lines = append(lines, strings.TrimRight(line, " "))
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

var colors = regexp.MustCompile(`\x1b\[[0-9]*m`)

// Wide returns the columns of a text in a terminal: two of a Chinese character or an emoji.
func Wide(text string) int {
	if text = colors.ReplaceAllString(text, ""); strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return uniseg.StringWidth(text)
	}
	return len(text)
}

// labels match what stands before the text of a line, as far as two spaces are behind it.
var labels = regexp.MustCompile(`^.*  `)

// Fitted breaks a line so that the text continues below its beginning, behind the labels of the line.
func Fitted(line string, columns int) []string {
	if Wide(line) <= columns {
		return []string{line}
	}
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text) + 4
	if l := Wide(labels.FindString(string([]rune(line)[:columns/2]))); l > indent-4 {
		indent = l
	}
	return Lines(line, strings.Repeat(" ", min(indent, columns/2)), columns)
}

// Prose breaks the paragraphs of a text again. Paragraphs that begin with a space stay. In the others, a line
// that begins with one is an entry of a list.
func Prose(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") {
			continue
		}
		var parts, lines []string
		end, entry := strings.TrimRight(p, "\n"), true
		for line := range strings.SplitSeq(end, "\n") {
			if indented := strings.HasPrefix(line, " "); indented || entry {
				parts, entry = append(parts, line), indented
			} else {
				parts[len(parts)-1] += " " + line
			}
		}
		for _, part := range parts {
			if strings.HasPrefix(part, " ") {
				lines = append(lines, Fitted(part, columns)...)
			} else {
				lines = append(lines, Lines(part, "", columns)...)
			}
		}
		paragraphs[i] = strings.Join(lines, "\n") + p[len(end):]
	}
	return strings.Join(paragraphs, "\n\n")
}
