// Package cluster starts a real Kubernetes control plane in a test: etcd,
// kube-apiserver and kube-controller-manager with the job controller and the
// garbage collector, as processes of their own on free ports of the loopback
// interface.
//
//	c := cluster.Start(t)
//	client := c.Client(t)
//
// The binaries are built from their Go modules the first time, which takes about
// ten minutes on two cores, and kept in the user's cache folder, or where the
// environment variable SCALEDJOB_E2E_BINARIES says. There are no nodes:
// [Cluster.Kubelet] runs pods by patching their status.
package cluster
