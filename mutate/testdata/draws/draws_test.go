package draws

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDouble(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if n := rapid.IntRange(3, 1000).Draw(t, "n"); Double(n) != 2*n {
			t.Fatal(n)
		}
	})
}
