// Package test holds the tests of the repository as a whole, and below it what proves the
// library: KEDA's and Kubernetes' own code, a real control plane, and the counting of premises.
package test
