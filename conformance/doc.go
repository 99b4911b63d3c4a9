// Package conformance compares package keda with KEDA itself, imported as a
// library: IsScaledJobActive, CalculateQueueLengthAndMaxValue, NewScalingStrategy,
// the replica counts, and RequestJobScale through a client that records what is
// created and deleted, so that counting, pruning and the generated Jobs are
// compared as well. Each is tried on a systematic grid and on random cases, panics
// included, and strategytest is run against KEDA's strategies.
//
// go.mod requires the newest release. Older ones are compiled one at a time, by
//
//	GOWORK=off go test -modfile=releases/2.18.mod -tags=keda2.18 .
//
// where the tag selects the few lines that call functions whose signature has
// changed. The tests ask the code that they were compiled from for its release,
// and say in their last line how many cases there were.
//
// triggers_test.go compares the adapter's table of triggers with the source of the
// newest release's scalers. scalers_test.go compares it with the scalers themselves,
// as far as they are constructed without a network:
//
//	GOWORK=off go test -tags=scalers .
//
// The tag keeps the scalers and all that they import out of the other builds, and
// GOWORK=off out of the workspace, whose newer Prometheus client they do not compile
// with.
//
// Rollout and pause happen in KEDA's controller, which is not run here: those
// rules are pinned by testdata/keda.json.
package conformance
