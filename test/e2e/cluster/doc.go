// Package cluster starts a real Kubernetes control plane in a test: etcd,
// kube-apiserver and kube-controller-manager with the job controller and the
// garbage collector, as processes of their own on free ports of the loopback
// interface.
//
//	c := cluster.Start(t)
//	client := c.Client(t)
//
// The binaries are built from their Go modules the first time, which takes about ten minutes
// on two cores. They are kept in the user's cache directory, or in the directory of the
// environment variable SCALEDJOB_E2E_BINARIES. SCALEDJOB_KUBERNETES=1.31 selects the older
// release 1.31.
//
// There are no nodes and no scheduler: [Cluster.Kubelet] runs pods by patching their status.
// [Cluster.User] sends requests as another user, and [Cluster.Requests] lists them.
// [Cluster.KillAPIServer] and [Cluster.StartAPIServer] simulate a crash.
//
// However a test ends, it leaves no processes behind; on Linux also if it is killed.
//
// The methods of a Cluster may be called concurrently, except Close, KillAPIServer and
// StartAPIServer, which belong to a single goroutine.
//
// envtest of controller-runtime starts etcd and kube-apiserver too, but no controller manager. Its
// ports are of the kernel's range for connections, which may take one while the server is down, and
// its processes outlive a test that is killed.
package cluster
