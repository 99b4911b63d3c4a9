package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/schedule"
)

// What people do to schedules with kubectl, and what it shows them. With -v its output is printed.
func TestPoints(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not installed")
	}
	s := newFixture(t)
	s.install(t)
	for name, test := range map[string]func(*fixture, *testing.T){
		"copy": (*fixture).copied, "backfill": (*fixture).backfilledAroundNow, "clock": (*fixture).clockWasAhead, "ended": (*fixture).endedWhileWaiting,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s, t)
		})
	}
}

// kubectl runs kubectl in the namespace.
func (j *job) kubectl(input string, args ...string) string {
	j.t.Helper()
	command := exec.Command("kubectl", append([]string{"--kubeconfig", j.cluster.Kubeconfig(), "-n", j.namespace}, args...)...)
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	require.NoError(j.t, err, "%s", output)
	j.t.Logf("$ kubectl %s\n%s", strings.Join(args, " "), output)
	return string(output)
}

// A failed run's Job is copied under another name, with its labels and owner. Both stay, and one event names the
// copy, also when the controller starts again.
func (s *fixture) copied(t *testing.T) {
	j := s.namespace(t, "copied")
	p := j.controller("-resync=1s")
	j.apply("job", "  schedule: {timeSpec: R//P1D}\n  maxRestart: 0\n"+pod(map[string]string{exits: "1"}))
	j.becomes(time.Minute, func(t *assert.CollectT) { require.EqualValues(t, 1, j.status(t).Failed) })
	original := j.jobs(t)[0]
	data := j.kubectl("", "get", "job", original.Name, "-o", "json")
	var again batchv1.Job
	require.NoError(t, json.Unmarshal([]byte(data), &again))
	again.ObjectMeta = metav1.ObjectMeta{Name: "again", Labels: original.Labels, OwnerReferences: original.OwnerReferences}
	again.Spec.Selector, again.Spec.Template.Labels, again.Status = nil, nil, batchv1.JobStatus{}
	copied, err := json.Marshal(again)
	require.NoError(t, err)
	j.kubectl(string(copied), "create", "-f", "-")
	foreign := func(t require.TestingT) int {
		return strings.Count(j.kubectl("", "get", "events.v1.events.k8s.io", "-o", "custom-columns=REASON:.reason,NOTE:.note"), "ForeignJob")
	}
	j.becomes(time.Minute, func(t *assert.CollectT) { require.Equal(t, 1, foreign(t)) })
	p.Kill()
	j.controller("-resync=1s")
	time.Sleep(5 * time.Second)
	require.Equal(t, 1, foreign(t))
	for _, name := range []string{original.Name, "again"} {
		require.Contains(t, j.kubectl("", "get", "jobs"), name)
	}
	require.Contains(t, j.kubectl("", "describe", "scheduledjob", "job"), "To run again, create a RunRequest with spec.job job and spec.tag")
}

// A backfill whose span begins before now and ends after it runs the part before.
func (s *fixture) backfilledAroundNow(t *testing.T) {
	j := s.namespace(t, "backfilled")
	j.controller("-resync=1s")
	begin := time.Now().UTC().Add(-10*24*time.Hour - 2*time.Hour).Format(time.RFC3339)
	j.apply("job", "  schedule: {timeSpec: R/"+begin+"/P1D}\n  historyLimit: 100\n"+pod(nil))
	at := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.RFC3339) }
	request := func(name string, from, to int) {
		j.kubectl(fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: RunRequest\nmetadata: {name: %s}\nspec: {job: job, backfill: {from: %q, to: %q, together: true}}\n",
			name, at(from), at(to)), "apply", "-f", "-")
	}
	request("future", 1, 5)
	request("around", -3, 3)
	j.becomes(time.Minute, func(t *assert.CollectT) {
		require.EqualValues(t, 3, j.status(t).Succeeded)
		for _, name := range []string{"future", "around"} {
			require.Equal(t, schedule.Completed, j.answer(t, name).Status)
		}
	})
	require.Contains(t, j.kubectl("", "get", "runrequest", "future", "-o", "yaml"), "4 occurrences of the span were due after the request")
	require.Contains(t, j.kubectl("", "get", "runrequest", "around", "-o", "yaml"), "3 occurrences of the span were due after the request")
	j.stays(3*time.Second, func(t require.TestingT) { require.Len(t, j.jobs(t), 3) })
	j.kubectl("", "get", "jobs,scheduledjobs,runrequests")
}

// A status that says that occurrences of next year were handled is reported with both times. An annotation
// cures it, and no run repeats.
func (s *fixture) clockWasAhead(t *testing.T) {
	j := s.namespace(t, "ahead")
	j.controller("-resync=1s")
	j.apply("job", "  schedule: {timeSpec: R//PT2S}\n  historyLimit: 100\n"+pod(nil))
	started := func(t require.TestingT) int64 { return j.status(t).Started }
	j.becomes(time.Minute, func(t *assert.CollectT) { require.GreaterOrEqual(t, started(t), int64(2)) })
	ahead := time.Now().UTC().AddDate(1, 0, 0).Truncate(time.Second).Format(time.RFC3339)
	j.kubectl("", "patch", "scheduledjob", "job", "--subresource=status", "--type=merge", "-p", `{"status":{"handled":"`+ahead+`"}}`)
	j.becomes(time.Minute, func(t *assert.CollectT) { require.Equal(t, "ClockAhead", j.status(t).Reason) })
	require.Contains(t, j.kubectl("", "get", "scheduledjobs"), "ClockAhead")
	described := j.kubectl("", "describe", "scheduledjob", "job")
	require.Contains(t, described, "the clock reads "+time.Now().UTC().Format("2006-01-02T"))
	require.Contains(t, described, "occurrences up to "+ahead)
	before := started(t)
	j.stays(5*time.Second, func(t require.TestingT) {
		require.LessOrEqual(t, started(t), before+1, "a Job may not have been observed")
	})
	j.kubectl("", "annotate", "scheduledjob", "job", schedule.AnnotationRewind+"=1")
	j.becomes(time.Minute, func(t *assert.CollectT) { require.GreaterOrEqual(t, started(t), before+3) })
	j.kubectl("", "get", "scheduledjobs")
	require.Contains(t, j.kubectl("", "describe", "scheduledjob", "job"), "Rewound")
	require.Len(t, j.jobs(t), j.created(), "no run is created again")
}

// A run that waits while its job is suspended does not start once the schedule was removed, or ended before it.
func (s *fixture) endedWhileWaiting(t *testing.T) {
	for name, edit := range map[string]string{
		"removed": `{"spec":{"schedule":null}}`,
		"moved":   `{"spec":{"schedule":{"endTime":"` + time.Now().UTC().AddDate(0, 0, -2).Format(time.RFC3339) + `"}}}`,
	} {
		j := s.namespace(t, "ended-"+name)
		j.controller("-resync=1s")
		j.apply("job", "  schedule: {timeSpec: R//P1D}\n  suspend: true\n"+pod(nil))
		j.becomes(time.Minute, func(t *assert.CollectT) { require.Len(t, j.status(t).Pending, 1) })
		j.kubectl("", "patch", "scheduledjob", "job", "--type=merge", "-p", edit)
		j.becomes(time.Minute, func(t *assert.CollectT) { require.Empty(t, j.status(t).Pending) })
		require.Contains(t, j.kubectl("", "describe", "scheduledjob", "job"), "Waiting runs are dropped, because the schedule was removed or has ended")
		j.kubectl("", "patch", "scheduledjob", "job", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
		j.stays(4*time.Second, func(t require.TestingT) { require.Empty(t, j.jobs(t)) })
		j.kubectl("", "get", "scheduledjobs,jobs")
	}
}
