package report

import (
	"fmt"
	"strings"
)

// Plural returns a number with its noun: 1 Job, 2 Jobs, 2 patches.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Article puts "a" or "an" before a noun.
func Article(noun string) string {
	if noun != "" && strings.ContainsRune("AEIOUaeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
