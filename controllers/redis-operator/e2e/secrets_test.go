package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

var password = secret.New("redis")

// A Redis with TLS and a password, whose Secret is wrong, then right; servers that send back
// what they are sent; and a ScaledJob of another namespace, which the Secret does not help.
// The output and the metrics have no secret; tellsNoSecret looks at the objects.
func (s *fixture) secrets(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	server := redistest.StartEncrypted(t, certificate, "--requirepass", password)
	server.Push("orders", 30, redis.Options{Password: password, TLSConfig: certificate.TLS()})
	p, other := s.place(t, "secrets"), s.place(t, "other-secrets")
	p.grantSecret("redis")
	other.grantSecret("redis")
	secret.Add(string(certificate.Key))
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "redis"}, StringData: map[string]string{
		"password": password + "-old", "ca.crt": string(certificate.Cert), "tls.crt": string(certificate.Cert), "tls.key": string(certificate.Key),
	}}
	require.NoError(t, s.client.Create(t.Context(), credentials))
	create := func(p *place, name, address string) {
		sj := p.scaledJob(name, address, "orders", "1h")
		sj.Spec.RedisAuth = &v1.RedisAuth{SecretKeyRef: v1.SecretKeyRef{Name: "redis", Key: "password"}}
		if name == "consumer" {
			sj.Spec.RedisTLS = &v1.RedisTLS{SecretName: "redis"}
		}
		require.NoError(t, s.client.Create(t.Context(), sj))
	}
	create(p, "consumer", server.Address)
	create(other, "consumer", server.Address)
	for name, be := range redistest.Hostile {
		create(p, regexp.MustCompile(`\W+`).ReplaceAllString(strings.ToLower(name), "-"), redistest.Listen(t, be).Address)
	}
	o, second := p.operator("-log-level=debug"), other.operator()
	p.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "QueueConnected"))
		require.Contains(t, p.get(t, "consumer").Status.Conditions[0].Message, "refuses the user name or the password")
	})
	credentials.StringData = map[string]string{"password": password}
	require.NoError(t, s.client.Update(t.Context(), credentials))
	p.becomes(start, func(t *assert.CollectT) { require.Len(t, p.active(t), 3) })
	require.Contains(t, p.events(t), "RedisUnreachable")
	other.becomes(10*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "False SecretUnreadable", other.condition(t, "consumer", "QueueConnected"))
	})
	require.Empty(t, other.jobs(t))

	_, metrics := processtest.Get(o.metrics + "/metrics")
	require.Contains(t, metrics, `namespace="secrets"`)
	secret.Absent(t, "metrics", metrics)
	require.Contains(t, p.text(&eventsv1.EventList{}), "does not know the command that reads a list", "of the server that repeats what it is sent")
	o.Stop()
	second.Stop()
}

// grantSecret lets the operator read a Secret, as config/samples/password.yaml does.
func (p *place) grantSecret(name string) {
	p.t.Helper()
	p.apply(p.t, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: redis-operator-secrets, namespace: %[1]s}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [%[2]s], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: redis-operator-secrets, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: redis-operator-secrets}
subjects: [{kind: ServiceAccount, name: redis-operator, namespace: redis-operator}]`, p.namespace, name))
}

// The operator of config/tenant, which has no ClusterRole, gets the lease and creates Jobs in its
// namespace.
func (s *fixture) namespaced(t *testing.T) {
	// The namespace production is that of the article's manifest.
	s.apply(t, strings.ReplaceAll(processtest.Permissions(t, "../config/tenant"), "tenant", "production"))
	const list = "scaledjob-e2e-namespaced"
	s.push(t, s.list(t, list), 30)
	p := &place{s, t, "production"}
	require.NoError(t, s.client.Create(t.Context(), p.scaledJob("namespaced", s.address, list, "1h")))
	access := s.cluster.UserKubeconfig(t, "system:serviceaccount:redis-operator-production:redis-operator")
	o := s.start(t, "-kubeconfig", access, "-namespace=production", "-lease-namespace=redis-operator-production")
	p.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "True Reconciled", p.condition(t, "namespaced", "Ready"))
		require.EqualValues(t, 3, p.get(t, "namespaced").Status.ActiveJobs)
	})
	o.Stop()
	require.NotContains(t, o.Output(), "forbidden")
}

// text is all of a kind that there is.
func (p *place) text(list client.ObjectList) string {
	p.t.Helper()
	require.NoError(p.t, p.client.List(p.t.Context(), list, client.InNamespace(p.namespace)))
	data, err := json.Marshal(list)
	require.NoError(p.t, err)
	return string(data)
}
