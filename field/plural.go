package field

import (
	"fmt"
	"strings"
)

// Plural returns a number with its noun, for a message: 1 Job, 2 Jobs, 2 patches.
func Plural[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
