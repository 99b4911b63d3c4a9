package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// The controller needs each of its permissions, and no others.
func (s *fixture) permissions(t *testing.T) {
	permissions.Exact(t, s.cluster.Requests(t), account, installed(t), "get configmaps", // without KEDA
		"patch keda.sh/scaledobjects", "get keda.sh/scaledobjects", "get scaledjob.github.io/readingtargets") // of a KEDA that is away for long, and of two controllers
}

// No ScaledJob, Job or event of the controller has a secret of the other tests. KEDA's own events have what servers answer.
func (s *fixture) tellsNoSecret(t *testing.T) {
	for _, resource := range []schema.GroupVersionResource{scaledJobs, batchv1.SchemeGroupVersion.WithResource("jobs"), eventsv1.SchemeGroupVersion.WithResource("events")} {
		list, err := s.dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, list.Items)
		for _, u := range list.Items {
			if reporter, found := u.Object["reportingController"]; found && reporter != "scaledjob-controller" {
				continue
			}
			text, err := u.MarshalJSON()
			require.NoError(t, err)
			secret.Absent(t, u.GetKind()+" "+u.GetName(), string(text))
		}
	}
}

// Servers are sent a password, a token and a URL with a password, and repeat them in their
// errors. Neither the output nor the metrics have them; tellsNoSecret looks at the objects.
func (s *fixture) keepsSecrets(t *testing.T) {
	password, token, login := secret.New("password"), secret.New("token"), secret.New("login")
	e := secret.NewEcho(t)
	s.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: secrets}
---
apiVersion: v1
kind: Secret
metadata: {name: brokers, namespace: secrets}
stringData: {password: %s, token: %s}
---
apiVersion: v1
kind: Namespace
metadata: {name: keda}
---
apiVersion: v1
kind: Secret
metadata: {name: brokers, namespace: keda}
stringData: {host: "http://guest:%s@%s/"}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: redis, namespace: secrets}
spec: {secretTargetRef: [{parameter: password, name: brokers, key: password}]}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: http, namespace: secrets}
spec: {secretTargetRef: [{parameter: token, name: brokers, key: token}]}
---
apiVersion: keda.sh/v1alpha1
kind: ClusterTriggerAuthentication
metadata: {name: rabbitmq}
spec: {secretTargetRef: [{parameter: host, name: brokers, key: host}]}
`, password, token, login, e.HTTP))
	q := &queue{s, t, "secrets"}
	for i, trigger := range []string{ // one that cannot be built fails all of its ScaledJob
		fmt.Sprintf("{type: metrics-api, metadata: {url: 'http://%s/queue', valueLocation: depth, targetValue: '1', authMode: bearer}, authenticationRef: {name: http}}", e.HTTP),
		"{type: rabbitmq, metadata: {protocol: http, mode: QueueLength, value: '1', queueName: a}, authenticationRef: {name: rabbitmq, kind: ClusterTriggerAuthentication}}",
		fmt.Sprintf("{type: redis, metadata: {address: %q, listName: a, listLength: '1'}, authenticationRef: {name: redis}}", e.Redis),
	} {
		name := []string{"http", "rabbitmq", "consumer"}[i]
		s.apply(t, fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: %s, namespace: %s}\nspec:\n  pollingInterval: 1\n%s  triggers: [%s]\n", name, q.namespace, job(nil), trigger))
	}
	p := s.start(t, "-namespace", q.namespace, "-leader-elect=false", "-log-level=debug")
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "False TriggerError", q.condition(t, "Ready"))
		require.Contains(t, q.events(t), "ScalerFailed")
		require.ElementsMatch(t, []string{password, token, login}, secret.In(e.Requests()))
	})
	_, metrics := p.Get("/metrics")
	require.Contains(t, metrics, `namespace="secrets"`)
	secret.Absent(t, "metrics", metrics)
	p.Stop()
}
