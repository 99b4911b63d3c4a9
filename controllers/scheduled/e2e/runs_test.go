package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// A controller that is killed at any step of a run, before a request or after it, and is away
// for longer than the time to live: the run executes once, and has succeeded. Its Job is deleted.
// The steps are the requests: the state with the create, the create, the state with the Job, the
// state with the outcome, and the patch of the time to live or the delete.
func (s *fixture) killedAnywhere(t *testing.T) {
	const steps = 5
	for name, spec := range map[string]string{"expires": "  ttlSecondsAfterFinished: 0\n", "dropped": "  historyLimit: 0\n"} {
		for step := range 2 * steps {
			after := step >= steps
			step %= steps
			t.Run(fmt.Sprintf("%s step %d after %t", name, step+1, after), func(t *testing.T) {
				t.Parallel()
				j := s.namespace(t, fmt.Sprintf("%s-%d-%t", name, step+1, after))
				at := 0
				g, kubeconfig := s.gated(t, func(r *http.Request, _ bool) bool {
					if isStatus(r) || isJob(r, http.MethodPost) || isJob(r, http.MethodPatch) || isJob(r, http.MethodDelete) {
						at++
						return at > step
					}
					return false
				})
				g.after = after
				p := j.controller("-kubeconfig", kubeconfig, "-request-timeout=1s")
				j.apply("job", "  schedule: {timeSpec: R1//PT1S, blockOnFailure: true}\n"+spec+pod(map[string]string{works: "1s"}))
				g.waits()
				p.Kill()
				time.Sleep(4 * time.Second)
				j.controller("-request-timeout=1s", "-resync=1s")
				j.becomes(90*time.Second, func(t *assert.CollectT) {
					status := j.status(t)
					require.Equal(t, schedule.Completed, status.Last.Status)
					require.True(t, status.Last.Success, "%+v", status.Last)
					require.False(t, status.Blocked)
					require.Empty(t, j.jobs(t))
				})
				j.stays(3*time.Second, func(t require.TestingT) { require.Empty(t, j.jobs(t)) })
				require.Len(t, s.pods.of(j.namespace), 1)
				require.Equal(t, [3]int64{1, 1, 0}, [3]int64{j.status(t).Due, j.status(t).Started, j.status(t).Missed})
			})
		}
	}
}

// A create is not answered and arrives late, and the creates in between are rejected: no second
// run starts.
func (s *fixture) unanswered(t *testing.T) {
	j := s.namespace(t, "unanswered")
	var mu sync.Mutex
	var late *http.Request
	rejects := true
	g, kubeconfig := s.gated(t, func(*http.Request, bool) bool { return false })
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !isJob(r, http.MethodPost):
			return false
		case late == nil:
			body, _ := io.ReadAll(r.Body)
			late = r.Clone(context.Background())
			late.Body = io.NopCloser(bytes.NewReader(body))
			mu.Unlock()
			<-r.Context().Done()
			mu.Lock()
			return true
		case rejects:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"denied by policy no-jobs","code":403}`)
			return true
		}
		return false
	}
	j.controller("-kubeconfig", kubeconfig, "-request-timeout=10s", "-resync=1s")
	j.apply("job", "  schedule: {timeSpec: R3//PT12S, skipOutdated: false}\n  allowConcurrentRun: false\n"+pod(map[string]string{works: "1h"}))
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "CreateRejected", j.status(t).Reason)
		require.EqualValues(t, 1, j.status(t).ActiveRuns)
		require.Contains(t, j.events(t), "CreateRejected")
	})
	mu.Lock()
	rejects = false
	r := late
	mu.Unlock()
	g.forward(r)
	j.stays(10*time.Second, func(t require.TestingT) { require.LessOrEqual(t, len(j.jobs(t)), 1) })
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Len(t, j.status(t).Running, 1) })
	require.Len(t, s.pods.of(j.namespace), 1)
}

// While an admission policy denies Jobs, the status says so, in the words of the policy. It
// ends with the policy.
func (s *fixture) denied(t *testing.T) {
	j := s.namespace(t, "denied")
	policy := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-jobs}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: "namespaceObject.metadata.name != 'denied'", message: no Jobs in this namespace}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-jobs}
spec: {policyName: no-jobs, validationActions: [Deny]}
`
	s.apply(t, policy)
	time.Sleep(3 * time.Second) // until the API server uses it
	_, p := s.scheduledIn(t, j, "  schedule: {timeSpec: R//PT2S}\n"+pod(nil), "-resync=1s", "-metrics-bind-address=127.0.0.1:0")
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		status := j.status(t)
		require.Equal(t, "CreateRejected", status.Reason)
		require.Positive(t, status.MissedBy[schedule.CreateRejected])
		require.Equal(t, status.Missed, status.MissedBy[schedule.CreateRejected])
		require.NotEmpty(t, status.NextScheduleTime)
		condition := ""
		for _, c := range status.Conditions {
			if c.Type == "Progressing" {
				condition = string(c.Status) + " " + c.Reason + " " + c.Message
			}
		}
		require.Regexp(t, "^False CreateRejected .*no Jobs in this namespace", condition)
		_, metrics := p.Get("/metrics")
		require.Contains(t, metrics, `scheduledjob_held{namespace="denied",reason="CreateRejected",scheduledjob="job"} 1`)
	})
	for _, o := range manifest.Objects(t, policy) {
		require.NoError(t, manifest.Client(t, s.cluster.Config(), o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
	}
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.NotEqual(t, "CreateRejected", j.status(t).Reason)
		require.Positive(t, j.status(t).Started)
	})
}

// An active run ends before its Job has finished, while its pods are pending, run, or are about to be
// restarted: a user deletes the Job in each way, the run is cancelled, or a scheduled run replaces it.
// The run is active until its pods are gone, and has the outcome. The next run does not overlap. While no controller
// runs, pods go with their Job; it deletes those of an orphan when it is back.
func (s *fixture) endedEarly(t *testing.T) {
	const requested, scheduled = "  allowConcurrentRun: false\n", "  schedule: {timeSpec: R2//PT20S}\n  concurrencyPolicy: Replace\n"
	deletes := func(how metav1.DeletionPropagation) func(*job, string) {
		return func(j *job, _ string) {
			require.NoError(j.t, j.client.BatchV1().Jobs(j.namespace).Delete(j.t.Context(), j.jobs(j.t)[0].Name, metav1.DeleteOptions{PropagationPolicy: &how}))
		}
	}
	cancels := func(j *job, tag string) { j.patch(`{"spec": {"cancel": ["` + tag + `"]}}`) }
	for _, way := range []struct {
		name, spec string
		end        func(j *job, tag string) // nil if the schedule replaces the run
		stopped    string                   // of the run; "" is lost
	}{
		{"background", requested, deletes(metav1.DeletePropagationBackground), ""},
		{"foreground", requested, deletes(metav1.DeletePropagationForeground), ""},
		{"orphan", requested, deletes(metav1.DeletePropagationOrphan), ""},
		{"cancelled", requested, cancels, "cancelled"},
		{"replaced", scheduled, nil, "replaced"},
	} {
		active := func(n int32) func(schedule.Pods) bool { return func(p schedule.Pods) bool { return p.Active == n } }
		restarting := func(p schedule.Pods) bool { return p.Failed > 0 }
		for _, test := range []struct {
			name  string
			pods  int
			away  bool // the controller
			does  map[string]string
			ready func(schedule.Pods) bool // for the end of the run
		}{
			{"pending", 1, false, map[string]string{pends: "true"}, active(1)},
			{"running", 1, false, map[string]string{works: "1h"}, active(1)},
			{"restarting", 1, false, map[string]string{exits: "1"}, restarting},
			{"running-away", 3, true, map[string]string{works: "1h"}, active(3)},
			{"restarting-away", 3, true, map[string]string{exits: "1"}, restarting},
		} {
			if test.away && way.stopped != "" {
				continue // the controller stops the run
			}
			t.Run(way.name+" "+test.name, func(t *testing.T) {
				t.Parallel()
				j := s.namespace(t, way.name+"-"+test.name)
				p := j.controller("-request-timeout=1s", "-resync=1s")
				j.apply("job", fmt.Sprintf("%s  maxRestart: 20\n  podCount: %d\n%s", way.spec, test.pods, pod(test.does)))
				if way.end != nil {
					j.request("one")
				}
				tag := ""
				j.becomes(60*time.Second, func(t *assert.CollectT) {
					running := j.status(t).Running
					require.Len(t, running, 1)
					require.True(t, test.ready(running[0].Pods), "%+v", running[0].Pods)
					tag = running[0].Tag
				})
				if test.away {
					p.Kill()
				}
				since := time.Now()
				if way.end != nil {
					j.request("two")
					way.end(j, tag)
				} else if next, err := time.Parse(time.RFC3339, j.status(t).NextScheduleTime); err == nil {
					since = next
				}
				if test.away && way.name != "orphan" {
					j.becomes(bound, func(t *assert.CollectT) { require.Empty(t, j.unfinishedPods(t)) })
				}
				if test.away {
					j.controller("-request-timeout=1s", "-resync=1s")
					since = time.Now()
				}
				j.becomes(bound+time.Until(since), func(t *assert.CollectT) {
					require.LessOrEqual(j.t, len(j.unfinishedPods(t)), test.pods, "the runs overlap")
					status := j.status(t)
					require.Len(t, status.Completed, 1)
					require.Equal(t, tag, status.Last.Tag)
					require.Equal(t, [2]any{way.stopped, way.stopped == ""}, [2]any{status.Last.Stopped, status.Last.Lost})
					require.True(t, test.ready(status.Last.Pods), "%+v", status.Last.Pods)
					require.Len(t, status.Running, 1)
					require.Contains(t, j.events(t), map[bool]string{true: "RunLost", false: "RunStopped"}[way.stopped == ""])
				})
				t.Logf("ended and followed after %v", time.Since(since))
			})
		}
	}
}

// unfinishedPods are the names of the pods of the namespace that have not ended.
func (j *job) unfinishedPods(t require.TestingT) (names []string) {
	l, err := j.client.CoreV1().Pods(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range l.Items {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			names = append(names, p.Name)
		}
	}
	return names
}

// Without the controller a ScheduledJob and its namespace can be deleted, with an active run that
// may restart its pod. If the run has several pods, Kubernetes keeps the namespace as long as a
// deleted pod is to be restarted, which it cannot be: the controller deletes the Job, or the user
// the ScheduledJob.
func (s *fixture) uninstalled(t *testing.T) {
	for _, test := range []struct {
		name                    string
		pods                    int
		namespace, scheduledJob bool
		controller              bool
	}{
		{"scheduledjob", 1, false, true, false},
		{"namespace", 1, true, false, false},
		{"both", 2, true, true, false},
		{"namespace-controller", 2, true, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := s.namespace(t, "uninstalled-"+test.name)
			p := j.controller("-request-timeout=1s", "-resync=1s")
			j.apply("job", fmt.Sprintf("  ttlSecondsAfterFinished: 0\n  maxRestart: 3\n  podCount: %d\n%s", test.pods, pod(map[string]string{works: "1h"})))
			j.request("one")
			j.becomes(60*time.Second, func(t *assert.CollectT) {
				running := j.status(t).Running
				require.Len(t, running, 1)
				require.EqualValues(t, test.pods, running[0].Pods.Active)
			})
			if !test.controller {
				p.Kill()
			}
			namespaces := j.client.CoreV1().Namespaces()
			if test.namespace {
				require.NoError(t, namespaces.Delete(t.Context(), j.namespace, metav1.DeleteOptions{}))
			}
			since := time.Now()
			if test.scheduledJob && test.namespace {
				j.becomes(bound, func(t *assert.CollectT) { require.Empty(t, j.unfinishedPods(t)) })
			}
			if test.scheduledJob {
				j.delete(scheduledJobs, "job")
			}
			j.becomes(bound, func(t *assert.CollectT) {
				require.Empty(t, j.jobs(t))
				pods, err := j.client.CoreV1().Pods(j.namespace).List(j.t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Empty(t, pods.Items)
				if test.namespace {
					_, err := namespaces.Get(j.t.Context(), j.namespace, metav1.GetOptions{})
					require.True(t, apierrors.IsNotFound(err), "%v", err)
				}
			})
			t.Logf("gone after %v", time.Since(since))
		})
	}
}
