// Bench runs the library and its peers on the same work, in one process, and prints one
// table. The peers are KEDA's scaled job executor and Karmada's division of replicas, each
// as a Go module.
//
//	go run .                            what needs no cluster
//	go run . -kubeconfig cluster.yaml   also Jobs created per second on that cluster
//
// A row has the same input for both. KEDA reads its Jobs from a client that answers from
// memory without copying, which is faster than the cache of its operator. In the row
// "decide" KEDA starts from queue lengths that it has divided already, and gives no trace. The rows "poll"
// have every Job running and nothing to do. A number is the median of five runs.
package main
