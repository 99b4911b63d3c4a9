//go:build tools

// Package binaries holds the versions that kube-apiserver and
// kube-controller-manager are built with.
package binaries

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
