package kedametrics

import (
	"context"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/scaling"
)

// withoutKEDA reads the triggers that name a number in a ConfigMap. For the others KEDA is missing.
func (t *tracked) withoutKEDA(ctx context.Context, missing Reason, interval time.Duration) time.Duration {
	reading := Reading{}
	names := manifest.TriggerNames(t.owner.Triggers)
	for i, trigger := range t.owner.Triggers {
		metric, reason := scaling.Metric{Name: names[i], Failed: true}, missing
		if trigger.Type == "kubernetes-resource" && trigger.Metadata["resourceKind"] == "ConfigMap" {
			metric, reason = t.configMap(ctx, names[i], trigger.Metadata)
		}
		if reason != "" {
			reading.Problems = append(reading.Problems, Problem{names[i], reason})
		}
		reading.Metrics = append(reading.Metrics, metric)
	}
	return t.once(reading.shorten(), interval)
}

// configMap reads a number in a ConfigMap of the owner's namespace.
func (t *tracked) configMap(ctx context.Context, name string, metadata map[string]string) (m scaling.Metric, reason Reason) {
	m = scaling.Metric{Name: name, Failed: true}
	object, err := t.reader.Requests.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).
		Namespace(t.owner.Namespace).Get(ctx, metadata["resourceName"], metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return m, Forbidden
	case err != nil:
		return m, ConfigMapUnreadable
	}
	text, found, _ := unstructured.NestedString(object.Object, "data", metadata["key"])
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		found = found && err == nil
		return n
	}
	m.Value, m.Target = number(text), number(metadata["targetValue"])
	if activation := metadata["activationTargetValue"]; activation != "" {
		m.ActivationThreshold = number(activation)
	}
	if !found {
		return scaling.Metric{Name: name, Failed: true}, ConfigMapUnreadable
	}
	m.Failed = false
	return m, ""
}
