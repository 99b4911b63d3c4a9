// Package conformance compares package keda with KEDA's own code, imported as a library:
// IsScaledJobActive, CalculateQueueLengthAndMaxValue, NewScalingStrategy, the replica
// counts, and RequestJobScale. RequestJobScale gets a client that records creates and
// deletes, so that counting, pruning and the generated Jobs are compared as well. Each
// function runs on a systematic grid and on random cases, panics included. strategytest
// runs against KEDA's strategies.
//
// go.mod requires the newest release. Older releases are compiled one at a time:
//
//	GOWORK=off go test -modfile=releases/2.18.mod -tags=older,keda2.18 .
//
// The tag selects the lines that call functions with a changed signature. The tests read
// the release from the compiled code, and print the number of cases in their last line.
//
// triggers/targets_test.go compares the adapter's table of triggers with the source of the newest
// release's scalers. scalers_test.go compares it with the scalers, as far as they can be
// constructed without a network:
//
//	GOWORK=off go test -tags=scalers .
//
// The tag keeps the scalers and their imports out of the other builds. GOWORK=off is
// necessary because they do not compile with the workspace's newer Prometheus client.
//
// KEDA's controller, which does rollout and pause, does not run here: testdata/keda.json
// pins these rules.
package conformance
