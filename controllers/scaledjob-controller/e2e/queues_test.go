package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/test/e2e/process"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// Items in real brokers become Jobs that take each item once. KEDA has the password from a TriggerAuthentication, and
// the address from a variable of the pods.
func TestQueues(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	t.Run("redis", s.usesRedis)
	t.Run("rabbitmq", s.usesRabbitMQ)
}

// broker makes a namespace with a Secret and a TriggerAuthentication for a broker. The pods of the returned spec have its
// address, and a trigger has the reference.
func (s *fixture) broker(t *testing.T, namespace, address, user, password string, annotations map[string]string) (spec, reference string) {
	t.Helper()
	s.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Secret
metadata: {name: broker, namespace: %[1]s}
stringData: {address: %[2]q, username: %[3]q, password: %[4]q}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: broker, namespace: %[1]s}
spec: {secretTargetRef: [{parameter: username, name: broker, key: username}, {parameter: password, name: broker, key: password}]}
`, namespace, address, user, password))
	return strings.Replace(job(annotations), "env: [", "env: [{name: BrokerAddress, valueFrom: {secretKeyRef: {name: broker, key: address}}}, ", 1),
		"authenticationRef: {name: broker}"
}

// 30 items and five a Job make six Jobs, and the history keeps two.
func (s *fixture) usesRedis(t *testing.T) {
	list, user, password := s.workers.list(t), "scaledjob-e2e", secret.New("redis")
	if s.workers.redis.Do(t.Context(), "ACL", "SETUSER", user, "reset", "on", ">"+password, "~"+list, "+@all").Err() != nil {
		t.Skip("no Redis with users: SCALEDJOB_REDIS is not set")
	}
	t.Cleanup(func() { s.workers.redis.Do(t.Context(), "ACL", "DELUSER", user) })
	spec, reference := s.broker(t, "redis", s.workers.address, user, password, map[string]string{takesRedis: list, takesItems: "5", works: "1s"})
	s.workers.send(t, list, 0, 30)
	q, p := s.scaled(t, "redis", spec+"  successfulJobsHistoryLimit: 2\n"+
		fmt.Sprintf("  triggers: [{type: redis, metadata: {addressFromEnv: BrokerAddress, listName: %q, listLength: '5'}, %s}]\n", list, reference))
	most := 0
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		most = max(most, len(q.jobs(t)))
		s.workers.once(t, list, 30)
	})
	require.Equal(t, 6, most)
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Len(t, q.jobs(t), 2, "of the history")
		require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready"))
		require.Equal(t, "False ScalerNotActive", q.condition(t, "Active"))
		require.Equal(t, []string{"JobsCreated", "ScaledJobActive", "ScaledJobInactive", "ScaledJobReady"}, q.events(t))
	})
	q.seesMetrics(p)
	p.Stop()
}

func (q *queue) seesMetrics(p *process.Process) {
	for _, path := range []string{"/healthz", "/readyz"} {
		code, _ := p.Get(path)
		require.Equal(q.t, 200, code)
	}
	q.becomes(10*time.Second, func(t *assert.CollectT) {
		_, metrics := p.Get("/metrics")
		for _, want := range []string{
			`scaledjob_queue_length{namespace="redis",scaledjob="consumer",trigger="redis"} 0`,
			`scaledjob_jobs_created_total{namespace="redis",scaledjob="consumer"} 6`,
			`scaledjob_jobs_deleted_total{namespace="redis",reason="history",scaledjob="consumer"} 4`,
		} {
			require.Contains(t, metrics, want)
		}
		require.NotContains(t, metrics, `scaledjob_jobs{namespace="redis",scaledjob="consumer"`)
	})
	require.NoError(q.t, q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Delete(q.t.Context(), "consumer", metav1.DeleteOptions{}))
	q.becomes(time.Minute, func(t *assert.CollectT) { // the collector learns of new kinds every half a minute
		_, metrics := p.Get("/metrics")
		require.NotContains(t, metrics, `scaledjob="consumer"`)
		require.Empty(t, q.jobs(t), "collected")
	})
}

// A message for each Job, which takes it away when it starts.
func (s *fixture) usesRabbitMQ(t *testing.T) {
	name := s.workers.queue(t)
	address, err := url.Parse(s.workers.rabbitURL)
	require.NoError(t, err)
	password, _ := address.User.Password()
	user := address.User.Username()
	address.User = nil
	spec, reference := s.broker(t, "rabbitmq", address.String(), user, password, map[string]string{takesRabbit: name, takesItems: "1", works: "500ms"})
	s.workers.publish(t, name, 30)
	q, p := s.scaled(t, "rabbitmq", spec+"  maxReplicaCount: 30\n  successfulJobsHistoryLimit: 3\n  scalingStrategy: {strategy: accurate}\n"+
		fmt.Sprintf("  triggers: [{type: rabbitmq, metadata: {hostFromEnv: BrokerAddress, queueName: %q, mode: QueueLength, value: '1'}, %s}]\n", name, reference))
	most := 0
	q.becomes(60*time.Second, func(t *assert.CollectT) {
		most = max(most, len(q.jobs(t)))
		s.workers.once(t, name, 30)
		require.Len(t, q.jobs(t), 3, "of the history")
	})
	require.Equal(t, 30, most)
	_, metrics := p.Get("/metrics")
	require.Contains(t, metrics, `scaledjob_jobs_created_total{namespace="rabbitmq",scaledjob="consumer"} 30`)
	p.Stop()
}
