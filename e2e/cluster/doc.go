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
// environment variable SCALEDJOB_E2E_BINARIES says.
//
// There are no nodes and no scheduler: [Cluster.Kubelet] runs pods by patching
// their status. [Cluster.User] makes requests as somebody else, of whom
// [Cluster.Requests] then tells. [Cluster.KillAPIServer] and
// [Cluster.StartAPIServer] are for trying what a crash does.
//
// However a test ends, it leaves neither processes nor files behind; on Linux
// even if it is killed.
//
// The methods of a Cluster may be called at the same time, but for Close,
// KillAPIServer and StartAPIServer, which belong to one goroutine.
package cluster
