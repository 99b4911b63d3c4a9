package sample

// Pair redeclares a parameter, so that its mutants are built one by one.
func Pair(a int) (sum int) {
	a, b := a+2, a
	return a * b
}
