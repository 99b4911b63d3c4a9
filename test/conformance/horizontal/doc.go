// Package horizontal compares package horizontal with the HorizontalPodAutoscaler
// controller of Kubernetes 1.37, or 1.35 with releases/1.35.mod and the tag kubernetes1.35.
// The controller runs as it is, on fake clients and the clock of testing/synctest. After
// each poll of a random sequence the replica count and the reasons of the conditions must
// equal the result of horizontal.Decide:
//
//	GOWORK=off go test -run TestController . -polls 100000
//
// It is a module that is not in the workspace: the versions of k8s.io/kubernetes would
// apply to all modules.
package horizontal
