package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// table is what kubectl get prints of the ScheduledJobs of the namespace.
func (j *job) table(t require.TestingT) string {
	data, err := j.client.Discovery().RESTClient().Get().AbsPath("/apis/scaledjob.github.io/v1alpha1/namespaces/"+j.namespace+"/scheduledjobs").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(j.t.Context())
	require.NoError(t, err)
	var found metav1.Table
	require.NoError(t, json.Unmarshal(data, &found))
	var b strings.Builder
	for _, c := range found.ColumnDefinitions {
		if c.Priority == 0 {
			fmt.Fprintf(&b, "%-21s", strings.ToUpper(c.Name))
		}
	}
	for _, r := range found.Rows {
		b.WriteString("\n")
		for i, cell := range r.Cells {
			if found.ColumnDefinitions[i].Priority == 0 {
				if cell == nil {
					cell = ""
				}
				fmt.Fprintf(&b, "%-21v", cell)
			}
		}
	}
	return b.String()
}

// described is what kubectl describe prints of the events of the ScheduledJob.
func (j *job) described(t require.TestingT) string {
	l, err := j.client.EventsV1().Events(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var b strings.Builder
	for _, e := range l.Items {
		if e.Regarding.Kind == "ScheduledJob" {
			fmt.Fprintf(&b, "%-8s %-15s %s\n", e.Type, e.Reason, e.Note)
		}
	}
	return b.String()
}

// The columns and the status of a healthy, a rejected, a blocked and a late schedule say which is
// which. With -v they are printed.
func (s *fixture) printed(t *testing.T) {
	for name, test := range map[string]struct{ spec, reason, progressing string }{
		"healthy":  {"  schedule: {timeSpec: R//PT2S}\n" + pod(nil), "", "True Progressing"},
		"rejected": {"  schedule: {timeSpec: R//PT2S}\n  template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}\n", "CreateRejected", "False CreateRejected"},
		"blocked":  {"  schedule: {timeSpec: R//PT2S, blockOnFailure: true}\n  maxRestart: 0\n" + pod(map[string]string{exits: "3"}), "Blocked", "False Blocked"},
		"late":     {"  schedule: {timeSpec: R//PT2S, skipOutdated: false}\n  concurrencyPolicy: Wait\n" + pod(map[string]string{works: "1h"}), "OtherRunIsActive", "True OtherRunIsActive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := s.namespace(t, "printed-"+name)
			j.controller("-request-timeout=1s", "-resync=1s")
			j.apply("job", test.spec)
			j.becomes(60*time.Second, func(t *assert.CollectT) {
				status := j.status(t)
				require.GreaterOrEqual(t, status.Due, int64(3))
				require.Equal(t, test.reason, status.Reason)
				require.NotEmpty(t, status.NextScheduleTime)
				for _, c := range status.Conditions {
					if c.Type == "Progressing" {
						require.Equal(t, test.progressing, string(c.Status)+" "+c.Reason)
					}
				}
				require.Contains(t, j.table(t), test.reason)
			})
			status := j.status(t)
			status.Completed = nil
			data, err := yaml.Marshal(status)
			require.NoError(t, err)
			t.Logf("\n%s\n%s%s", j.table(t), data, j.described(t))
		})
	}
}
