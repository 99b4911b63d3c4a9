package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// The controller needs each of its permissions, and no others.
func (s *stand) permissions(t *testing.T) {
	permissions.Exact(t, s.cluster.Requests(t), account, installed(t))
}

// No event, status or other object has a secret of the other tests.
func (s *stand) tellsNoSecret(t *testing.T) { secret.AbsentFromObjects(t, s.cluster.Config()) }

// Servers are sent a password, a token and a URL with a password, and repeat them in their
// errors. Neither the output nor the metrics have them; tellsNoSecret looks at the objects.
func (s *stand) keepsSecrets(t *testing.T) {
	password, token, login := secret.New("password"), secret.New("token"), secret.New("login")
	e := secret.NewEcho(t)
	s.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: secrets}
---
apiVersion: v1
kind: Secret
metadata: {name: brokers, namespace: secrets}
stringData: {password: %s, token: %s, host: "http://guest:%s@%s/"}
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
metadata: {name: rabbitmq, annotations: {scaledjob.github.io/namespaces: secrets, scaledjob.github.io/hosts: 127.0.0.1}}
spec: {secretTargetRef: [{parameter: host, name: brokers, key: host}]}
`, password, token, login, e.HTTP))
	q := &queue{s, t, "secrets"}
	q.apply(job(nil) + fmt.Sprintf(`  triggers:
  - {type: redis, metadata: {address: %q, listName: a, listLength: '1'}, authenticationRef: {name: redis}}
  - {type: metrics-api, metadata: {url: 'http://%s/queue', valueLocation: depth, targetValue: '1', authMode: bearer}, authenticationRef: {name: http}}
  - {type: rabbitmq, metadata: {protocol: http, queueName: a, queueLength: '1'}, authenticationRef: {name: rabbitmq, kind: ClusterTriggerAuthentication}}
  - {type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: none, key: waiting, targetValue: '1'}}
`, e.Redis, e.HTTP))
	p := s.start(t, "-namespace", q.namespace, "-cluster-object-namespace", q.namespace, "-leader-elect=false", "-log-level=debug")
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
