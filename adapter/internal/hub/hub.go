// Package hub holds what package adapter offers adapter/member alone: Jobs of owners in another cluster.
package hub

// A Place is a cluster that is not the owner's. The zero value is the owner's cluster. Jobs in
// another cluster have labels instead of an owner reference, which the garbage collector
// would act on.
type Place struct {
	Home    string // name of the owners' cluster
	Cluster string // makes the names of an owner's Jobs differ between clusters; needs Home
}

// Options are the part of adapter.Options that member sets.
type Options struct {
	Place
	Namespaces []string // each is watched by itself; none means Options.Namespace
	Labels     []string // keys of the labels that adapter.Job.Labels has
}
