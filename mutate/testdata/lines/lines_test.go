package lines

import "testing"

func TestLine(t *testing.T) {
	if line, n := Line(4); line != 8 || n != 6 {
		t.Fatal(line, n)
	}
}
