package cluster

// An Option changes the cluster that [Start] and [New] start.
type Option func(*options)

type options struct {
	controllers, server []string
}

// WithServer adds flags of kube-apiserver.
func WithServer(flags ...string) Option {
	return func(o *options) { o.server = append(o.server, flags...) }
}

// WithControllers switches further controllers of kube-controller-manager on,
// such as deployment-controller and replicaset-controller.
func WithControllers(names ...string) Option {
	return func(o *options) { o.controllers = append(o.controllers, names...) }
}

func newOptions(opts []Option) options {
	o := options{controllers: []string{
		"job-controller", "garbage-collector-controller", "ttl-after-finished-controller", "namespace-controller",
		"serviceaccount-controller", "pod-garbage-collector-controller", "resourcequota-controller",
	}}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}
