//go:build race

package adapter

// The model runs in one goroutine, and is ten times slower with the race detector.
func init() { raced = true }
