package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// All four apply as they are, and the status has what the page shows.
func (s *fixture) documented(t *testing.T) {
	q, password := s.space(t, "documented"), secret.New("password")
	q.deployment(one, "nginx")
	q.deployment(two, "nginx")
	q.apply(t, q.namespace, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mock-metric}\ndata: {metric-value: '25'}")
	read := func(name string) string { // with a password that is found
		return strings.ReplaceAll(manifest.Read(t, "../testdata/distributedscaled"+name+".yaml"), "guest:password", "guest:"+password)
	}
	for _, name := range []string{"object", "job", "job-failover"} {
		q.apply(t, q.namespace, read(name))
	}
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		ready, _ := q.condition(t, dso, "nginx", "Ready")
		require.Equal(t, "True Ready", ready)
		status := q.status(t, dso, "nginx")
		require.EqualValues(t, 2, status["membersHealthyCount"])
		require.EqualValues(t, 2, status["membersTotalCount"])
		require.EqualValues(t, 5, status["totalCurrentReplicas"])
		require.Equal(t, "kedify-agent-distributedscaledobject=nginx", status["selector"])
		for name, replicas := range map[string]int{one: 2, two: 3} {
			require.Equal(t, replicas, q.replicas(t, name, "nginx"))
			m := q.member(t, dso, "nginx", name)
			require.EqualValues(t, replicas, m["currentReplicas"])
			require.EqualValues(t, replicas, m["desiredReplicas"])
			require.Equal(t, "Ready", m["state"])
			require.Equal(t, "Cluster is healthy", m["description"])
			require.Contains(t, m["id"], "/"+name+".kubeconfig+kedify-agent@"+name)
			require.NotEmpty(t, m["lastStatusChangeTime"])
		}
	})
	q.becomes(func(t *assert.CollectT) {
		ready, lacks := q.condition(t, dsj, "processor-job-failover", "Ready")
		require.Equal(t, "False SpecCheckFailed", ready)
		require.Contains(t, lacks, "spec.scaledJobSpec.jobTargetRef: found nothing")
		require.Contains(t, lacks, "spec.scaledJobSpec.triggers: found none")
	})
	q.hasJobStatus()
	overrides := read("job-overrides")
	require.Contains(t, overrides, password)
	q.apply(t, q.namespace, overrides)
	q.hasJobStatus()

	// With the mode that KEDA wants it goes as far as the broker, which is not there.
	value := "          value: \"5\"\n"
	require.Contains(t, overrides, value)
	q.apply(t, q.namespace, strings.Replace(overrides, value, value+"          mode: QueueLength\n", 1))
	q.becomes(func(t *assert.CollectT) {
		q.isOf(t, dsj, "processor-job")
		_, why := q.condition(t, dsj, "processor-job", "Ready")
		require.Contains(t, why, `trigger "rabbit"`)
	})
}

// hasJobStatus checks the status of processor-job, whose broker is not there.
func (q *space) hasJobStatus() {
	q.becomes(func(t *assert.CollectT) {
		ready, why := q.condition(t, dsj, "processor-job", "Ready")
		require.Equal(t, "False TriggerError", ready, why)
		require.Contains(t, why, `trigger "rabbit": KEDA cannot use a trigger`)
		status := q.status(t, dsj, "processor-job")
		q.isOf(t, dsj, "processor-job")
		require.Equal(t, "kedify-agent-distributedscaledjob=processor-job", status["selector"])
		for _, field := range []string{"desiredJobs", "runningJobs", "pendingJobs"} {
			require.EqualValues(t, 0, status[field])
		}
		for _, name := range names[:2] {
			m := q.member(t, dsj, "processor-job", name)
			for field, value := range map[string]any{
				"description": "Cluster is healthy", "runningJobs": int64(0), "pendingJobs": int64(0), "stuckJobs": int64(0),
				"softTainted": false, "state": "Ready", "excluded": false,
			} {
				require.Equal(t, value, m[field], field)
			}
			require.Contains(t, m["id"], "/"+name+".kubeconfig+kedify-agent@"+name)
			require.NotEmpty(t, m["lastStatusChangeTime"])
		}
	})
}
