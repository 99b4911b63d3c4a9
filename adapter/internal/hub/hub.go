// Package hub is the seam between adapter and adapter/member: Jobs of owners in another cluster.
package hub

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelHome is the label with the name of the owner's cluster, on Jobs in another cluster and their pods.
const LabelHome = "scaledjob.github.io/home"

// A Place is a cluster that is not the owner's. The zero value is the owner's cluster. Jobs in
// another cluster have labels instead of an owner reference, which the garbage collector
// would act on.
type Place struct {
	Home    string // name of the owners' cluster
	Cluster string // makes the names of an owner's Jobs differ between clusters; needs Home
}

// Options are those of a tracker of such Jobs.
type Options struct {
	Place
	Namespaces []string                 // each is watched by itself; none means adapter.Options.Namespace
	Labels     []string                 // keys of the labels that a tracked Job has in its Labels
	Ours       func(metav1.Object) bool // false for Jobs and pods that count for nobody; nil is true
}

// Watched returns the namespaces to watch, each by itself.
func (o *Options) Watched(namespace string) []string {
	if len(o.Namespaces) > 0 {
		return o.Namespaces
	}
	return []string{namespace}
}

// PodSelector returns the selector of the pods. In another cluster, others may have many.
func (o *Options) PodSelector() string {
	if o.Home != "" {
		return LabelHome + "=" + o.Home
	}
	return batchv1.JobNameLabel
}

// Counts reports whether a Job or a pod counts for an owner.
func (o *Options) Counts(object metav1.Object) bool { return o.Ours == nil || o.Ours(object) }

// Pick returns the labels of a Job that it keeps, or nil.
func (o *Options) Pick(labels map[string]string) (picked map[string]string) {
	for _, key := range o.Labels {
		if value, ok := labels[key]; ok {
			if picked == nil {
				picked = map[string]string{}
			}
			picked[key] = value
		}
	}
	return picked
}

// Picked returns the labels that an adapter.Job keeps. Package adapter sets it: an author with one
// cluster does not see them.
var Picked func(job any) map[string]string

// Visit calls visit for each Job that a tracker's cache shows, with its owner, tracked or not, and the labels
// that it keeps. Package adapter sets it.
var Visit func(tracker any, visit func(owner types.UID, namespace string, labels map[string]string))

// A Client is the client of another cluster. NewTracker and Apply ask for what it has beside.
type Client interface {
	Hub() Options
	Labels() []map[string]string // of the first Jobs that a plan creates, one for each
}

// OptionsOf returns the options of a tracker with the client.
func OptionsOf(client any) (o Options) {
	if elsewhere, remote := client.(Client); remote {
		o = elsewhere.Hub()
	}
	return o
}

// A Queue has the labels of the next Jobs.
type Queue []map[string]string

// LabelsOf returns the labels of the Jobs that a client creates.
func LabelsOf(client any) Queue {
	if elsewhere, remote := client.(Client); remote {
		return slices.Clone(elsewhere.Labels())
	}
	return nil
}

// Next removes and returns the labels of the next Job, or nil.
func (q *Queue) Next() (first map[string]string) {
	if len(*q) > 0 {
		first, *q = (*q)[0], (*q)[1:]
	}
	return first
}
