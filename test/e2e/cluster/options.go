package cluster

// An Option changes the cluster that [Start] and [New] start.
type Option func(*options)

type options struct {
	controllers, server, manager []string
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

// WithAutoscaler switches the controller of HorizontalPodAutoscalers on. It decides once a second, and
// not every 15 seconds as by default. Its values come from KEDA's metrics server (package operator).
func WithAutoscaler() Option {
	return func(o *options) {
		WithControllers("horizontal-pod-autoscaler-controller")(o)
		o.manager = append(o.manager, "--horizontal-pod-autoscaler-sync-period=1s")
	}
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
