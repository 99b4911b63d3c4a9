// Package kedametrics reads the triggers of any owner of Jobs with KEDA: KEDA's operator polls the queues,
// its metrics server answers with the values, and a [Reader] says when there is a new reading to decide on.
//
//	clients, err := kedametrics.Connect(config, 0)
//	reader := kedametrics.New(kedametrics.Options{Clients: clients, Name: "my-controller", Decide: polls.Now})
//	go reader.Run(ctx)                      // for a term: it creates and deletes objects
//	err = reader.Track(kedametrics.Owner{…}) // again after each edit; cheap if nothing changed
//	reader.Complete()                        // once every owner is tracked: deletes the objects of others
//	reading, found := reader.Take(uid)       // in the poll that Decide asked for; each reading is taken once
//	decision := scaling.Decide(policy, scaling.Observation{Metrics: reading.Metrics, …})
//	reader.Untrack(uid)                      // deletes the owner's objects
//
// # Objects
//
// For each owner there is a ScaledObject and a ReadingTarget, which stands for a workload with 0 replicas and the
// environment of the owner's pods. The annotation paused-scale-out keeps it at 0, so that the HPA that KEDA makes
// rests. Both are controlled by the owner and have one name with a hash of everything that KEDA needs: an edit makes new
// ones, and the old ones go. The kind's CRD is in the folder crd, and in [Files].
//
// # Readings
//
//  1. Metrics and targets come from the HPA's spec, the values from external.metrics.k8s.io, and then KEDA's verdict on
//     activation from the ScaledObject's status.
//  2. A reading is complete when every metric that can be read has a value of a new poll of KEDA. A new poll is
//     recognised by its timestamp, which is never compared with this process's clock. A metric whose read failed is unreadable in
//     this poll. If none can be read, or there are only cron triggers, a reading is complete once an interval.
//  3. A reading is decided on once, and again only if KEDA's verdict becomes active meanwhile. A reading that was there when this
//     process began may have been decided on by another, and is left alone.
//  4. The next read comes an interval after the last new value was seen. A metric is read at most once a second, and
//     after an error once an interval.
//  5. A value that keeps its timestamp for three intervals, and at least two minutes, is unreadable.
//  6. After five reads in a row without an answer of KEDA, of any owners, one probe stands for all, every 5 s. When KEDA
//     answers again, all owners are read within 5 s. Owners whose reads hang share a quarter of the slots.
//
// KEDA reports NaN, infinite and negative values as 0. Where KEDA is not installed, a trigger kubernetes-resource
// that names a ConfigMap is read without it, so that samples run anywhere.
//
// # Deletion
//
// A ScaledObject that has been terminating for ten minutes loses KEDA's finalizer, if no owner had a new reading and no probe
// an answer in that time: without KEDA it would hold up its namespace for ever. A Reader that tracks nobody does this for
// the ScaledObjects of others that have its label.
package kedametrics

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/scaling"
)

// An Owner is an object with triggers.
type Owner struct {
	adapter.Owner
	Triggers []manifest.ScaleTrigger
	// Interval is the time between polls, in whole seconds. It is at least 1 s.
	Interval time.Duration
	// Container is the container whose environment triggers may name, the first by default.
	Container string
	// Pod is the specification of the owner's pods. Only the ServiceAccount and the environment of its
	// containers are used.
	Pod corev1.PodSpec
}

// A Reading is what a decision needs. The zero value has no metric.
type Reading struct {
	Metrics []scaling.Metric
	// Problems are why metrics could not be read.
	Problems []Problem
	// Slow is the time between KEDA's polls, if KEDA polls less often than the owner asks, else 0.
	Slow time.Duration
	// Object is the name of the ScaledObject, whose events have KEDA's own words, or "" if they do not explain the problems.
	Object string
}

// Err returns the problems as one error, or nil.
func (r Reading) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	var texts []string
	for _, p := range r.Problems {
		texts = append(texts, p.String())
	}
	text := strings.Join(texts, "; ")
	if r.Object != "" {
		text += fmt.Sprintf(" (see the events of scaledobject %s)", r.Object)
	}
	return errors.New(text)
}

// Warning returns a text about polls of KEDA that come late, or "".
func (r Reading) Warning() string {
	if r.Slow == 0 {
		return ""
	}
	return fmt.Sprintf("KEDA polls about every %s, less often than asked; raise --kube-api-qps of its operator", r.Slow)
}

// A Problem is why a metric, or all of them, could not be read.
type Problem struct {
	Trigger string // its name, or "" for all
	Reason  Reason
}

// String returns the problem in words. They are fixed: KEDA's own may hold credentials.
func (p Problem) String() string {
	if p.Trigger == "" {
		return p.Reason.Text()
	}
	return fmt.Sprintf("trigger %.63q: %s", p.Trigger, p.Reason.Text())
}

// A Reason says why triggers could not be read.
type Reason string

const (
	Starting              Reason = "Starting"              // the caches are not filled yet
	Waiting               Reason = "Waiting"               // KEDA has not read the triggers yet
	TriggerNotBuilt       Reason = "TriggerNotBuilt"       // KEDA cannot use the trigger; it then reads none of the owner
	TriggerFailed         Reason = "TriggerFailed"         // KEDA could not read the queue
	NoValue               Reason = "NoValue"               // KEDA has no single value
	Stale                 Reason = "Stale"                 // KEDA has not polled for long
	KEDAMissing           Reason = "KEDAMissing"           // ScaledObjects are not served
	KEDAUnavailable       Reason = "KEDAUnavailable"       // the operator or the metrics server does not answer
	MetricsServerMissing  Reason = "MetricsServerMissing"  // external.metrics.k8s.io is not served
	OtherMetricsServer    Reason = "OtherMetricsServer"    // external.metrics.k8s.io is another server's
	DefinitionMissing     Reason = "DefinitionMissing"     // the CRD of this package is not installed
	Forbidden             Reason = "Forbidden"             // RBAC, a policy or a quota does not allow the objects or the reads
	Conflict              Reason = "Conflict"              // an object of the name is somebody else's
	Refused               Reason = "Refused"               // the API server rejects the objects
	Unanswered            Reason = "Unanswered"            // the API server does not answer
	ClusterAuthentication Reason = "ClusterAuthentication" // not allowed for this kind of owner
	ConfigMapUnreadable   Reason = "ConfigMapUnreadable"   // without KEDA only
)

var texts = map[Reason]string{
	Starting:              "starting",
	Waiting:               "KEDA has not read the triggers yet",
	TriggerNotBuilt:       "KEDA cannot use a trigger, and reads none of them",
	TriggerFailed:         "KEDA could not read the trigger",
	NoValue:               "KEDA does not have exactly one value for the trigger",
	Stale:                 "KEDA has not polled the trigger for several polling intervals",
	KEDAMissing:           "KEDA is not installed: scaledobjects.keda.sh is not served",
	KEDAUnavailable:       "KEDA's operator or metrics server does not answer",
	MetricsServerMissing:  "KEDA's metrics server is not installed: external.metrics.k8s.io is not served",
	OtherMetricsServer:    "external.metrics.k8s.io belongs to another metrics server than KEDA's; see kubectl get apiservice v1beta1.external.metrics.k8s.io",
	DefinitionMissing:     "the custom resource " + plural + "." + group + " is not installed",
	Forbidden:             "access to ScaledObjects, " + plural + ", HPAs, external metrics or ConfigMaps is forbidden; see the rights in the README",
	Conflict:              "the ScaledObject or " + kind + " of this name belongs to another program: rename this object, or let only one of the two serve it",
	Refused:               "the API server rejects the ScaledObject of the triggers",
	Unanswered:            "the API server did not answer",
	ClusterAuthentication: "a ClusterTriggerAuthentication needs the administrator's flag -allow-cluster-authentication",
	ConfigMapUnreadable:   "the number in the ConfigMap could not be read",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }
