package kedametrics

import (
	"crypto/sha256"
	"embed"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// The kind that stands for a workload.
const (
	group  = "scaledjob.github.io"
	kind   = "ReadingTarget"
	plural = "readingtargets"
)

// Files holds the definition of the kind, crd/readingtargets.yaml.
//
//go:embed crd/readingtargets.yaml
var Files embed.FS

// LabelReader is the label of the objects of a [Reader]. Its value is Options.Name.
const LabelReader = "scaledjob.github.io/reader"

const (
	finalizer    = "finalizer.keda.sh"
	pauseOut     = "autoscaling.keda.sh/paused-scale-out"
	labelObject  = "scaledobject.keda.sh/name"
	hpaPrefix    = "keda-hpa-"
	longestName  = 63 - len(hpaPrefix) // KEDA names the HPA, and puts the name in a label
	cronType     = "cron"
	longestSpec  = 512 << 10 // bytes of triggers and environment
	annotationOf = "autoscaling.keda.sh/"
)

var (
	scaledObjects  = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	readingTargets = schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: plural}
	hpas           = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
)

// A form is what KEDA needs of an owner. Its hash is part of the name.
type form struct {
	Kind, UID string
	Triggers  []manifest.ScaleTrigger
	Interval  int64 // seconds
	Container string
	Pod       corev1.PodSpec
}

// formOf leaves out what KEDA does not use, so that other edits leave the objects alone.
func formOf(o *Owner) form {
	f := form{Kind: o.Kind, UID: string(o.UID), Interval: max(1, int64(o.Interval/time.Second)), Container: o.Container}
	f.Pod.ServiceAccountName = o.Pod.ServiceAccountName
	for _, c := range o.Pod.Containers {
		f.Pod.Containers = append(f.Pod.Containers, corev1.Container{Name: c.Name, Env: c.Env, EnvFrom: c.EnvFrom})
	}
	names := manifest.TriggerNames(o.Triggers)
	for i, t := range o.Triggers {
		if t.Name != "" {
			t.Name = names[i] // KEDA refuses a name that occurs twice
		}
		t.UseCachedMetrics, t.MetricType = t.Type != cronType, ""
		f.Triggers = append(f.Triggers, t)
	}
	return f
}

// name returns the name of both objects.
func (f *form) name(owner string) (string, error) {
	data, err := json.Marshal(f)
	if err == nil && len(data) > longestSpec {
		err = fmt.Errorf("the triggers and the environment have %d bytes; use at most %d", len(data), longestSpec)
	}
	sum := sha256.Sum256(data)
	hash := "-" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
	return strings.TrimRight(owner[:min(len(owner), longestName-len(hash))], "-.") + hash, err
}

// target returns the object that stands for the workload.
func (t *tracked) target() (*unstructured.Unstructured, error) {
	pod, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&t.form.Pod)
	if err != nil {
		return nil, err
	}
	if len(t.form.Pod.Containers) == 0 {
		delete(pod, "containers")
	}
	return t.object(readingTargets, kind, map[string]any{
		"spec":   map[string]any{"replicas": int64(0), "template": map[string]any{"spec": pod}},
		"status": map[string]any{"replicas": int64(0), "selector": LabelReader + "=none"},
	}), nil
}

// scaledObject returns KEDA's object.
func (t *tracked) scaledObject() (*unstructured.Unstructured, error) {
	data, err := json.Marshal(t.form.Triggers)
	var triggers []any
	if err == nil {
		err = json.Unmarshal(data, &triggers)
	}
	target := map[string]any{"apiVersion": readingTargets.GroupVersion().String(), "kind": kind, "name": t.name}
	if t.form.Container != "" {
		target["envSourceContainerName"] = t.form.Container
	}
	for i, trigger := range triggers {
		if trigger := trigger.(map[string]any); t.form.Triggers[i].Metadata == nil {
			trigger["metadata"] = map[string]any{} // required
		}
	}
	o := t.object(scaledObjects, "ScaledObject", map[string]any{"spec": map[string]any{
		"scaleTargetRef": target, "pollingInterval": t.form.Interval, "minReplicaCount": int64(0), "maxReplicaCount": int64(1), "triggers": triggers,
	}})
	o.SetAnnotations(map[string]string{pauseOut: "true"})
	return o, err
}

func (t *tracked) object(r schema.GroupVersionResource, kind string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(r.GroupVersion().WithKind(kind))
	o.SetNamespace(t.owner.Namespace)
	o.SetName(t.name)
	o.SetLabels(map[string]string{LabelReader: t.reader.Name, labelObject: t.name})
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: t.owner.APIVersion, Kind: t.owner.Kind, Name: t.owner.Name, UID: t.owner.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	return o
}

// intact reports whether nobody has edited the object. KEDA itself edits metadata and status of a ScaledObject only.
func intact(o *unstructured.Unstructured) bool {
	if o.GetKind() == kind {
		return o.GetGeneration() <= 1
	}
	pauses := 0
	for key := range o.GetAnnotations() {
		if strings.HasPrefix(key, annotationOf) {
			pauses++
		}
	}
	return o.GetGeneration() <= 1 && pauses == 1 && o.GetAnnotations()[pauseOut] == "true"
}

// seriesOf returns the metrics in the HPA's spec.
func (t *tracked) seriesOf(hpa *autoscalingv2.HorizontalPodAutoscaler) (all []*series) {
	names, used := manifest.TriggerNames(t.owner.Triggers), map[string]bool{}
	for _, m := range hpa.Spec.Metrics {
		if m.External == nil || m.External.Target.AverageValue == nil {
			continue
		}
		s := &series{name: m.External.Metric.Name, target: m.External.Target.AverageValue.AsApproximateFloat64()}
		s.trigger = s.name
		var i int // KEDA begins the name with the trigger's position
		if _, err := fmt.Sscanf(s.name, "s%d-", &i); err == nil && i >= 0 && i < len(names) {
			s.trigger, s.cron = names[i], t.owner.Triggers[i].Type == cronType
		}
		if used[s.trigger] { // a trigger with several metrics
			s.trigger = s.name
		}
		used[s.trigger] = true
		all = append(all, s)
	}
	return all
}
