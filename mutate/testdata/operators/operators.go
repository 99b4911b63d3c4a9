// Package operators has a function for each operator of the tool.
package operators

var ready = true

func boundary(a, b int) bool { return a < b }

func negation(a, b int, ok bool) bool { return a == b || !ok }

func logical(a, b bool) bool { return a && b }

func arithmetic(a, b int, s string) (int, string) {
	a += b
	s += "x"
	return a * b % a, s + "y"
}

func bitwise(a, b uint) uint {
	a |= b
	return a << b &^ a
}

func increment(a int) int {
	a++
	return a
}

func sign(a int) int { return -a }

func constant() (int, float64, bool) { return 10, 0, false }

func condition(a bool) int {
	if a {
		return 2
	}
	return 3
}

func cases(a, b bool) (n int) {
	switch {
	case a:
		n = 2
	case b:
		call()
		n = 3
	}
	return n
}

func branch(list []int) (n int) {
	for _, i := range list {
		switch i {
		case 5:
			continue
		}
		n += i
	}
	return n
}

func earlyExit(a bool) int {
	if a {
		call()
		return 2
	}
	return 3
}

func statements(c chan int, list []int) {
	_ = list
	list = nil
	c <- 2
	defer call()
	go call()
	call(
		2,
		3,
	)
	call()
	call()
}

func empty(p *int, err error) (*int, error) { return p, err }

func labelled(list []int) {
outer:
	for range list {
		for range list {
			continue outer
		}
	}
}

func redeclares(a int) (n int) {
	a, b := 2, a
	return a + b
}

func terminates(a bool) int {
	switch a {
	case true:
		return 2
	default:
		return 3
	}
}

type list[T any] []T

func (l *list[T]) first(n int) T { return (*l)[n+2] }

func call(...int) {}
