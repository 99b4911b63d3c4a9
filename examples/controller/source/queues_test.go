package source_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/scaling"
)

// What cannot be read is a metric that has failed, beside those that can, until it can.
func TestQueues(t *testing.T) {
	client := fake.NewClientset(configMap("mail", "a", values{"n": "7"}))
	s := job(scaledjob.ScaleTrigger{})
	s.Spec.Triggers = nil
	var triggers []scaledjob.Trigger
	for _, name := range []string{"a", "b"} {
		s.Spec.Triggers = append(s.Spec.Triggers, scaledjob.ScaleTrigger{
			Type: "kubernetes-resource", Metadata: values{"resourceKind": "ConfigMap", "resourceName": name, "key": "n"},
		})
		triggers = append(triggers, scaledjob.Trigger{Name: name, Target: 5})
	}
	queues := (&source.Resolver{Client: client}).Queues(func() (*scaledjob.ScaledJob, error) { return s, nil }, triggers, time.Minute)
	metrics, err := queues.Read(t.Context())
	require.ErrorContains(t, err, "trigger b: ")
	require.NotContains(t, err.Error(), "trigger a")
	require.Equal(t, []scaling.Metric{{Name: "a", Value: 7, Target: 5}, {Name: "b", Failed: true}}, metrics)

	_, err = client.CoreV1().ConfigMaps("mail").Create(t.Context(), configMap("mail", "b", values{"n": "3"}), metav1.CreateOptions{})
	require.NoError(t, err)
	metrics, err = queues.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, []scaling.Metric{{Name: "a", Value: 7, Target: 5}, {Name: "b", Value: 3, Target: 5}}, metrics)
	queues.Close()
	_, err = queues.Read(t.Context())
	require.Error(t, err, "closed")
	(*source.Queues)(nil).Close()
}
