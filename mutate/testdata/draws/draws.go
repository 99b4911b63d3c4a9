// Package draws is tested with properties.
package draws

// Double returns twice n.
func Double(n int) int { return n + n }
