package other

import (
	"testing"

	"example.com/sample"
)

func TestUntested(t *testing.T) {
	if sample.Untested(5) != 3 {
		t.Fatal("Untested")
	}
}
