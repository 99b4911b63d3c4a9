package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/scaling"
)

// An autoscaler decides the number of replicas of all members together. That number, which
// is stored in the status, is to it what spec.replicas is to a HorizontalPodAutoscaler.
type autoscaler struct {
	state    scaledobject.State
	number   *int32                // as last decided; nil before the first decision
	decision scaledobject.Decision // the last that was the autoscaler's turn
	metrics  []scaling.Metric      // as last read
	unread   error                 // why some were not read
	nextRead time.Time             // of the next read of all triggers
	nextSync time.Time             // of the next decision
	stored   time.Time             // when the state was put into the status
	delay    time.Duration         // since a decision that was not stored; 0 if it was
}

// resume goes on with a stored state. The newest recommendation held until the process
// ended, and the last activity is at most a minute older than it says.
func (a *autoscaler) resume(s *objectStatus, now time.Time) {
	if s.Scaling == nil || json.Unmarshal(s.Autoscaler, &a.state) != nil {
		a.state = scaledobject.State{}
		return
	}
	a.number = s.Scaling.DesiredReplicas
	if all := a.state.Autoscaler.Recommendations; len(all) > 0 {
		all[len(all)-1].At = now
	}
	if last := a.state.LastActive; s.Scaling.Active && last.Before(now) {
		a.state.LastActive = earliest(last.Add(storeInterval), now).Truncate(time.Second)
	}
}

// storeInterval is the longest time for which a change of times alone is not stored.
const storeInterval = time.Minute

// changed reports whether the state differs from the stored one in more than times.
func changed(was json.RawMessage, is scaledobject.State) bool {
	var before scaledobject.State
	if json.Unmarshal(was, &before) != nil {
		return true
	}
	return !slices.EqualFunc(before.Autoscaler.Recommendations, is.Autoscaler.Recommendations, func(a, b horizontal.Recommendation) bool { return a.Replicas == b.Replicas }) ||
		!slices.EqualFunc(before.Autoscaler.Ups, is.Autoscaler.Ups, func(a, b horizontal.Event) bool { return a.At.Equal(b.At) && a.Change == b.Change }) ||
		!slices.EqualFunc(before.Autoscaler.Downs, is.Autoscaler.Downs, func(a, b horizontal.Event) bool { return a.At.Equal(b.At) && a.Change == b.Change }) ||
		before.LastActive.IsZero() != is.LastActive.IsZero() || !maps.Equal(before.Failures, is.Failures)
}

// measure reads the triggers that are due: all of them each polling interval, and those
// without useCachedMetrics at each decision. It reports whether all were read, and the
// triggers that were read alone.
func (o *object) measure(ctx context.Context, now time.Time) (all bool, alone map[string]bool) {
	owner := o.owner
	all = !now.Before(o.nextRead)
	if !all {
		owner.Skip = o.config.Cached()
		if now.Before(o.nextSync) || len(owner.Skip) == len(owner.Triggers) {
			return false, nil
		}
	}
	err := o.environment(ctx, &owner)
	var metrics []scaling.Metric
	if err == nil {
		metrics, err = o.reader.Read(ctx, owner)
	}
	if ctx.Err() != nil {
		return false, nil // and unread for that reason only
	}
	kept := slices.DeleteFunc(slices.Clone(o.metrics), func(m scaling.Metric) bool {
		return all || slices.ContainsFunc(metrics, func(n scaling.Metric) bool { return n.Name == m.Name })
	})
	o.metrics, alone = append(kept, metrics...), map[string]bool{}
	if err != nil || !slices.ContainsFunc(kept, func(m scaling.Metric) bool { return m.Failed }) {
		o.unread = err
	}
	if all {
		o.nextRead = now.Add(max(time.Second, o.config.PollingInterval))
		return true, nil
	}
	for i, t := range o.config.Triggers {
		if !owner.Skip[i] {
			alone[t.Name] = true
		}
	}
	return false, alone
}

// environment adds the containers of the workload of that name in the hub cluster, to whose
// environment triggers refer. Their Secrets and ConfigMaps are the hub's as well.
func (o *object) environment(ctx context.Context, owner *triggers.Owner) error {
	if o.config.Container == "" {
		return nil
	}
	resource := map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets"}[o.config.Workload.Kind.Kind]
	kind := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	u, err := o.dynamic.Resource(kind).Namespace(o.seen.GetNamespace()).Get(ctx, o.config.Workload.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	spec, _, err := unstructured.NestedMap(u.Object, "spec", "template", "spec")
	if err != nil {
		return err
	}
	// An edit of the workload changes no generation of the object.
	owner.Container, owner.Pod, owner.Generation = o.config.Container, corev1.PodSpec{}, 0
	return runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &owner.Pod)
}

// decide decides the number, if it is time to.
func (o *object) decide(ctx context.Context, clusters []replicas.Cluster, now time.Time) {
	all, alone := o.measure(ctx, now)
	turn := !now.Before(o.nextSync)
	if ctx.Err() != nil || !all && !turn {
		return
	}
	p := o.config.Scaling
	if p.Modifiers != nil {
		m := *p.Modifiers
		m.Formula = func(values map[string]*float64) (*float64, error) {
			return o.reader.Formula(ctx, o.owner, o.config.Formula, values)
		}
		p.Modifiers = &m
	}
	seen := o.workload(clusters)
	seen.Now, seen.Triggers, seen.Fresh, seen.Between = now, o.config.Observe(o.metrics, o.unread, alone), all, !turn
	d := scaledobject.Decide(p, o.state, seen)
	if ctx.Err() != nil {
		return
	}
	o.state.Record(p, d)
	if d.Replicas != d.Current || d.Rule == scaledobject.RuleActivated {
		o.state.Wrote(p, d)
	}
	if turn {
		o.nextSync = now.Add(o.syncPeriod)
	}
	held := d.Rule == scaledobject.RulePaused && p.PausedReplicas == nil || d.Autoscaler != nil && d.Autoscaler.Rule == horizontal.RuleUnreadable
	if o.number != nil || !held {
		o.number = &d.Replicas
	}
	if d.Rule == scaledobject.RuleBetween { // the last decision stands
		d.Rule, d.Autoscaler = o.decision.Rule, o.decision.Autoscaler
	}
	o.decision = d
}

// undo takes back a decision that was not stored, and has it made again soon: after a second,
// then later and later. What was read for it is read again.
func (o *object) undo(before autoscaler, now time.Time) {
	o.number, o.state, o.decision = before.number, before.state, before.decision
	o.delay = min(max(time.Second, 2*o.delay), o.syncPeriod)
	again := now.Add(o.delay)
	o.nextSync = earliest(o.nextSync, again)
	if o.nextRead != before.nextRead {
		o.nextRead = earliest(o.nextRead, again)
	}
}

// workload returns the members as one workload: its replicas are the number as last
// decided, at first the sum of the members'. Replicas that are moving do not count twice.
func (o *object) workload(clusters []replicas.Cluster) scaledobject.Observation {
	var sum, reported, ready int64
	for _, c := range clusters {
		before := o.checkpoint.Members[c.Name]
		switch c.Problem {
		case "", replicas.ReasonWriteFailed:
			sum, reported = sum+int64(c.Replicas), reported+int64(c.Reported)
			if c.Existing != nil {
				ready += int64(*c.Existing)
			}
		case replicas.ReasonUnreachable, replicas.ReasonNotAsked, replicas.ReasonUnconfirmed:
			sum += int64(before.Replicas)
			if !before.Excluded {
				reported, ready = reported+int64(before.Replicas), ready+int64(before.Existing)
			}
		}
	}
	most := int64(1<<31 - 1)
	if o.number != nil {
		sum, most = int64(*o.number), int64(*o.number)
	}
	return scaledobject.Observation{
		Replicas: int32(min(sum, 1<<31-1)), StatusReplicas: int32(min(reported, most)),
		Pods: slices.Repeat([]horizontal.Pod{{Ready: string(corev1.ConditionTrue)}}, int(min(ready, most, 100_000))),
	}
}

// scalingStatus returns the decision as a status, and its conditions.
func (o *object) scalingStatus() (*api.ObjectScaling, []metav1.Condition) {
	d := &o.decision
	if d.At.IsZero() {
		return o.status.Scaling, nil
	}
	s := api.NewObjectScaling(*d, o.number)
	fallback := metav1.Condition{Type: "Fallback", Status: metav1.ConditionFalse, Reason: "NoFallbackFound", Message: "No trigger falls back"}
	if d.Fallback {
		fallback.Status, fallback.Reason, fallback.Message = metav1.ConditionTrue, "FallbackExists", "At least one trigger falls back"
	}
	all := []metav1.Condition{fallback}
	if d.Autoscaler == nil {
		return s, all
	}
	for _, c := range []struct {
		name string
		is   horizontal.Condition
	}{{"AbleToScale", d.Autoscaler.AbleToScale}, {"ScalingActive", d.Autoscaler.ScalingActive}, {"ScalingLimited", d.Autoscaler.Limited}} {
		status := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[c.is.True]
		if c.is.Reason != "" {
			all = append(all, metav1.Condition{Type: c.name, Status: status, Reason: c.is.Reason, Message: "The number of replicas was decided by the rule " + s.Rule})
		}
	}
	return s, all
}

// clone returns a state that shares no memory.
func clone(s horizontal.State) horizontal.State {
	s.Recommendations, s.Ups, s.Downs = slices.Clone(s.Recommendations), slices.Clone(s.Ups), slices.Clone(s.Downs)
	return s
}
