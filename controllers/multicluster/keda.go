package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// Reasons of the condition Ready of an object that KEDA does not scale.
const (
	reasonAdopting       = "WaitingForMembers"
	reasonKEDAMissing    = "KEDAMissing"
	reasonKEDASilent     = "WaitingForKEDA"
	reasonForeignObject  = "ScaledObjectNotOurs"
	reasonObjectRejected = "ScaledObjectNotWritten"
)

// Conditions of a DistributedScaledObject that KEDA's ScaledObject and HorizontalPodAutoscaler report.
var (
	scaledObjectConditions = []string{scaledjob.ConditionActive, "Fallback"}
	autoscalerConditions   = []string{string(autoscalingv2.AbleToScale), string(autoscalingv2.ScalingActive), string(autoscalingv2.ScalingLimited)}
)

// kedaReport is what KEDA and its HorizontalPodAutoscaler say about an object. The zero value says nothing. Their
// messages can have what a queue's server answers, and are left out.
type kedaReport struct {
	conditions []metav1.Condition
	problem    *metav1.Condition // as Ready has it; nil for none
}

// fail returns the report with the problem.
func (r kedaReport) fail(problem metav1.Condition) kedaReport {
	r.problem = &problem
	return r
}

// err returns the problem as an error.
func (r kedaReport) err() error {
	if r.problem == nil {
		return nil
	}
	return errors.New(r.problem.Message)
}

// scaleByKEDA lets KEDA scale the object, once the object has a number, and returns what KEDA says about it.
func (o *object) scaleByKEDA(ctx context.Context, plan *replicas.Decision) (r kedaReport) {
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	if o.config.Replicas == nil {
		return o.adopt(ctx, plan)
	}
	scaled, err := o.writeScaledObject(ctx)
	switch {
	case notServed(err):
		return r.fail(notReady(reasonKEDAMissing, "The API server does not serve ScaledObjects: install KEDA in the hub cluster"))
	case errors.Is(err, errForeign):
		return r.fail(notReady(reasonForeignObject, adapter.ErrorText(err)))
	case err != nil:
		return r.fail(notReady(reasonObjectRejected, "The ScaledObject: "+adapter.ErrorText(err)))
	}
	reported := conditionsOf(scaled)
	r.conditions = mirror(reported, scaledObjectConditions)
	describe := "kubectl describe scaledobject " + scaled.GetName()
	switch ready := reported[scaledjob.ConditionReady]; ready.Status {
	case metav1.ConditionTrue:
	case metav1.ConditionFalse:
		return r.fail(notReady(ready.Reason, "KEDA reports a problem, and explains it in events: "+describe))
	default:
		return r.fail(unknown(reasonKEDASilent, "KEDA's operator has not reported that it scales the object: "+describe))
	}
	name, _, _ := unstructured.NestedString(scaled.Object, "status", "hpaName")
	return o.reportAutoscaler(ctx, name, r)
}

// adopt makes the sum of the members' replicas the first number, when each member has answered or is excluded.
func (o *object) adopt(ctx context.Context, plan *replicas.Decision) (r kedaReport) {
	var sum int64
	for i := range plan.Shares {
		s := &plan.Shares[i]
		silent := s.Reason == replicas.ReasonUnreachable || s.Reason == replicas.ReasonUnconfirmed || s.Reason == replicas.ReasonNotAsked
		if silent && !s.Excluded {
			return r.fail(unknown(reasonAdopting, fmt.Sprintf("Scaling begins with the replicas that the members have, and member %s has not said how many", s.Name)))
		}
		sum += int64(s.Current)
	}
	number := []operation{{"test", "/metadata/generation", o.current.GetGeneration()}, {"add", "/spec/replicas", min(sum, 1<<31-1)}}
	if err := o.patch(ctx, number); err != nil {
		return r.fail(notReady(reasonNotStored, "spec.replicas: "+adapter.ErrorText(err)))
	}
	return r.fail(unknown(reasonAdopting, fmt.Sprintf("Scaling begins with %s, as many as the members have", field.Plural(sum, "replica"))))
}

var errForeign = errors.New("there is a ScaledObject of this name that belongs to somebody else: rename this object, or ask the owner of the other")

// writeScaledObject creates or updates the ScaledObject that targets the object, and returns it.
func (o *object) writeScaledObject(ctx context.Context) (*unstructured.Unstructured, error) {
	client := o.Dynamic.Resource(api.ScaledObjects).Namespace(o.current.GetNamespace())
	desired := api.ScaledObject(o.current)
	controls := true
	desired.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: o.current.GetAPIVersion(), Kind: o.current.GetKind(), Name: o.current.GetName(), UID: o.uid, Controller: &controls,
	}})
	scaled, err := client.Get(ctx, desired.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !notServed(err):
		return client.Create(ctx, desired, metav1.CreateOptions{FieldManager: name})
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(scaled, o.current):
		return nil, errForeign
	}
	annotations := maps.Clone(scaled.GetAnnotations())
	maps.DeleteFunc(annotations, func(name, _ string) bool {
		_, wants := desired.GetAnnotations()[name]
		return !wants && api.IsScalingAnnotation(name)
	})
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, desired.GetAnnotations())
	if reflect.DeepEqual(scaled.Object["spec"], desired.Object["spec"]) && maps.Equal(annotations, scaled.GetAnnotations()) {
		return scaled, nil
	}
	scaled = scaled.DeepCopy()
	scaled.Object["spec"] = desired.Object["spec"]
	scaled.SetAnnotations(annotations)
	return client.Update(ctx, scaled, metav1.UpdateOptions{FieldManager: name})
}

// notServed reports whether the API server has no such resource.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// reportAutoscaler adds what the HorizontalPodAutoscaler of that name says. A paused object has none.
func (o *object) reportAutoscaler(ctx context.Context, name string, r kedaReport) kedaReport {
	reported := map[string]metav1.Condition{}
	autoscaler, err := o.Requests.AutoscalingV2().HorizontalPodAutoscalers(o.current.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		for _, c := range autoscaler.Status.Conditions {
			reported[string(c.Type)] = metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason}
		}
	case !apierrors.IsNotFound(err):
		return r.fail(unknown(reasonKEDASilent, "The HorizontalPodAutoscaler cannot be read: "+adapter.ErrorText(err)))
	}
	r.conditions = append(r.conditions, mirror(reported, autoscalerConditions)...)
	active := reported[string(autoscalingv2.ScalingActive)]
	failing := active.Status == metav1.ConditionStatus(corev1.ConditionFalse) && active.Reason != "ScalingDisabled" // at 0 replicas
	if reason := o.kedaAway(failing); reason != "" && reason != kedametrics.DefinitionMissing {
		return r.fail(unknown(string(reason), "The replicas stay as they are: "+reason.Text()))
	}
	if failing {
		return r.fail(unknown(active.Reason, "The HorizontalPodAutoscaler cannot decide, and explains it in events: kubectl describe hpa "+name))
	}
	return r
}

// conditionsOf returns the conditions in an object's status, by type.
func conditionsOf(u *unstructured.Unstructured) map[string]metav1.Condition {
	reported := map[string]metav1.Condition{}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		text := func(key string) string { s, _ := fields[key].(string); return s }
		reported[text("type")] = metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason")}
	}
	return reported
}

// mirror returns the conditions of these types as they were reported.
func mirror(reported map[string]metav1.Condition, types []string) []metav1.Condition {
	var conditions []metav1.Condition
	for _, kind := range types {
		c, found := reported[kind]
		if !found || c.Status == "" {
			c = metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
		}
		if c.Reason == "" {
			c.Reason = scaledjob.ReasonUnknown
		}
		c.Message = "As KEDA and its HorizontalPodAutoscaler report it"
		conditions = append(conditions, c)
	}
	return conditions
}
