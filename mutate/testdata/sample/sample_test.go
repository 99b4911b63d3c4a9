package sample

import "testing"

func TestLarger(t *testing.T) {
	if Larger(1, 2) != 2 || Larger(2, 1) != 2 || Larger(1, 1) != 1 {
		t.Fatal("Larger")
	}
}

func TestPositive(t *testing.T) {
	if !Positive(2) || Positive(-2) {
		t.Fatal("Positive")
	}
}

func TestSteps(t *testing.T) {
	if Steps(6) != 2 || Steps(2) != 0 {
		t.Fatal("Steps")
	}
}

func TestName(t *testing.T) {
	if Name(true) != "yes" || Name(false) != "no" {
		t.Fatal("Name")
	}
}

func TestPair(t *testing.T) {
	if Pair(3) != 15 {
		t.Fatal("Pair")
	}
}
