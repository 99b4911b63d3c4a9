package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
)

// ScaledObjects is KEDA's resource.
var ScaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// ReaderOfObjects is the value of the label kedametrics.LabelReader of the ScaledObjects.
const ReaderOfObjects = "multicluster-objects"

// IsScalingAnnotation reports whether KEDA pauses or activates by the annotation. A ScaledObject has those of its
// DistributedScaledObject.
func IsScalingAnnotation(name string) bool { return slices.Contains(scalingAnnotations, name) }

var scalingAnnotations = []string{
	manifest.AnnotationPaused, annotationPausedReplicas, "autoscaling.keda.sh/paused-scale-in", "autoscaling.keda.sh/paused-scale-out",
	"autoscaling.keda.sh/force-activation",
}

// ScaledObject returns the ScaledObject with which KEDA scales the DistributedScaledObject: the ScaledObject's spec is
// scaledObjectSpec with the object itself as the target. The original counts are not KEDA's to restore.
func ScaledObject(object *unstructured.Unstructured) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(object.Object, "spec", "scaledObjectSpec") // a copy
	spec["scaleTargetRef"] = map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "name": object.GetName()}
	unstructured.RemoveNestedField(spec, "advanced", "restoreToOriginalReplicaCount")
	scaled := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	scaled.SetGroupVersionKind(ScaledObjects.GroupVersion().WithKind("ScaledObject"))
	scaled.SetNamespace(object.GetNamespace())
	scaled.SetName(object.GetName())
	annotations := map[string]string{}
	for name, value := range object.GetAnnotations() {
		if IsScalingAnnotation(name) {
			annotations[name] = value
		}
	}
	scaled.SetAnnotations(annotations)
	scaled.SetLabels(map[string]string{kedametrics.LabelReader: ReaderOfObjects})
	return scaled
}

// check returns the fields that cannot have a meaning across clusters.
func (s *ScaledObjectSpec) check(problems *field.Errors) {
	refuse := func(wrong bool, path string, found any, fix string) {
		problems.Check(!wrong, objectField+"."+path, found, fix)
	}
	name := s.Advanced.HorizontalPodAutoscalerConfig.Name
	refuse(name != "", "advanced.horizontalPodAutoscalerConfig.name", name, "nothing: KEDA overwrites any HorizontalPodAutoscaler of that name")
	const averages = "AverageValue, which is the default: Value needs ready pods beside the HorizontalPodAutoscaler, and the pods are on the members"
	const literal = "a value or an authenticationRef: the object has no pod template, and so no environment"
	modified := s.Advanced.ScalingModifiers.MetricType
	refuse(modified == "Value", "advanced.scalingModifiers.metricType", modified, averages)
	container := s.ScaleTargetRef.EnvSourceContainerName
	refuse(container != "", "scaleTargetRef.envSourceContainerName", container, "nothing: the object has no pod template, and so no environment")
	refuse(len(s.Triggers) == 0, "triggers", "none", "at least one trigger")
	for i, t := range s.Triggers {
		path := fmt.Sprintf("triggers[%d].", i)
		refuse(t.Type == "cpu" || t.Type == "memory", path+"type", t.Type,
			"a trigger with a value of its own, such as prometheus: the usage of pods on several clusters has no common source")
		refuse(t.MetricType == "Value", path+"metricType", t.MetricType, averages)
		for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
			refuse(strings.HasSuffix(key, "FromEnv"), path+"metadata."+key, t.Metadata[key], literal)
		}
	}
}

// RefuseClusterAuthentications returns an error for each trigger that uses a ClusterTriggerAuthentication. KEDA lets
// every namespace use every one, towards any host. path is the field that holds the triggers.
func RefuseClusterAuthentications(path string, triggers []manifest.ScaleTrigger) error {
	var problems field.Errors
	for i, t := range triggers {
		refused := t.AuthenticationRef != nil && t.AuthenticationRef.Kind == "ClusterTriggerAuthentication"
		problems.Check(!refused, fmt.Sprintf("%s.triggers[%d].authenticationRef.kind", path, i), "ClusterTriggerAuthentication",
			"a TriggerAuthentication of the namespace: the administrator has not allowed ClusterTriggerAuthentications (-allow-cluster-authentication)")
	}
	return problems.Err()
}

const annotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"

// frozen reports whether the annotations leave every member as it is: paused does, and a value that cannot be read.
// With paused-replicas KEDA sets the number.
func frozen(annotations map[string]string) (bool, error) {
	text, exists := annotations[annotationPausedReplicas]
	if !exists {
		return paused(annotations)
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return true, &field.Error{
			Path: "metadata.annotations[" + annotationPausedReplicas + "]", Found: strconv.Quote(text),
			Fix: "a number of 0 or more; until then every member stays as it is",
		}
	}
	return false, nil
}
