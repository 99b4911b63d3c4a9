// Package scaling decides how many Jobs to create in one poll of a queue.
//
//	metrics ─ Aggregate ─> demand ─ Bounds ─> target ─ Strategy ─> proposal ─ Bounds ─> Decision
//
// A [Policy] says how, a [State] what was seen, and [Decide] makes a [Decision]
// of both, with a [Trace] of how each stage came to its number. [Validate] tells
// what is wrong with a policy where configuration is loaded.
//
// What it computes is that of KEDA's ScaledJob specification. Where KEDA's code
// does something else than its specification, this package does not follow it.
// golden_test.go runs the documents' examples and the cases of testdata.
package scaling
