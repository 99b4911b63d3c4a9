package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/schedule"
)

// at sets the clock of the controller, in seconds after the creation of the ScheduledJob.
func (w *fixture) at(seconds float64) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	w.now = func() time.Time { return at }
}

// expires deletes the finished Jobs whose time to live is over, as Kubernetes does.
func (w *fixture) expires() (deleted int) {
	for _, j := range w.existing() {
		if ttl := j.Spec.TTLSecondsAfterFinished; ttl != nil && len(j.Status.Conditions) > 0 &&
			!w.now().Before(j.Status.Conditions[0].LastTransitionTime.Add(time.Duration(*ttl)*time.Second)) {
			require.NoError(w.t, w.client.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), "n", j.Name))
			deleted++
		}
	}
	return deleted
}

func (w *fixture) existing() []batchv1.Job {
	l, err := w.client.BatchV1().Jobs("n").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	w.did()
	return l.Items
}

// reconcileAny reconciles with the newest caches, with or without an error.
func (w *fixture) reconcileAny(revision int) {
	w.lists(fmt.Sprint(revision))
	_, _ = w.reconcile(context.Background(), w.sees().key())
	w.did()
	w.told()
}

// A run that succeeds while no controller watches has succeeded, whatever its time to live,
// and executes once: if its Job had been observed, and if it had not.
func TestTimeToLive(t *testing.T) {
	for _, observed := range []bool{true, false} {
		t.Run(fmt.Sprint("observed ", observed), func(t *testing.T) {
			w := newFixture(t, "  schedule: {timeSpec: R1//PT1S, blockOnFailure: true}\n  ttlSecondsAfterFinished: 0\n")
			created := 0
			w.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				created++
				return false, nil, nil
			})
			w.at(0)
			w.reconcileAny(1)
			if observed {
				w.at(1)
				w.reconcileAny(2)
			}
			w.finishes(batchv1.JobComplete)
			w.at(40)
			w.expires()
			w.restart()
			w.reconcileAny(3)
			status := w.sees().Status
			require.Len(t, status.Completed, 1)
			require.True(t, status.Last.Success, "%+v", status.Last)
			require.False(t, status.Blocked)

			// Its time to live is set when no create can arrive any more.
			w.at(80)
			w.reconcileAny(4)
			require.Equal(t, 1, w.expires())
			for i := range 5 {
				w.at(float64(90 + i))
				w.reconcileAny(5 + i)
			}
			require.Equal(t, 1, created)
			require.Len(t, w.sees().Status.Completed, 1)
			require.True(t, w.sees().Status.Last.Success)
		})
	}
}

// lateJobs is an API server that does not answer the first create, which arrives later, and
// rejects the next creates.
type lateJobs struct {
	job     *batchv1.Job
	creates []string
	rejects bool
}

func (l *lateJobs) create(a clienttesting.Action) (bool, runtime.Object, error) {
	job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
	l.creates = append(l.creates, job.Labels["jobTag"])
	switch {
	case l.job == nil:
		l.job = job
		return true, nil, errors.New("no answer within 15s")
	case l.rejects:
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, job.Name, errors.New("quota"))
	}
	return false, nil, nil
}

// While a create that was not answered may arrive, a later rejected create of the same run
// ends nothing: no other run starts, and a cancelled run does not complete. A process that
// started since does not know which creates were answered.
func TestUnansweredThenRejected(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		for _, cancelled := range []bool{false, true} {
			t.Run(fmt.Sprint("restarts ", restarts, " cancelled ", cancelled), func(t *testing.T) {
				w := newFixture(t, "  schedule: {timeSpec: R2//PT1S, skipOutdated: false}\n  allowConcurrentRun: false\n")
				l := &lateJobs{rejects: true}
				w.client.PrependReactor("create", "jobs", l.create)
				w.at(0)
				w.reconcileAny(1)
				if restarts {
					w.restart()
					w.tracker.Start()
				}
				for i := range 4 { // the second create is rejected, and told
					w.at(1.5 + float64(i)/10)
					w.reconcileAny(2)
				}
				require.Len(t, slices.Compact(slices.Clone(l.creates)), 1, "%v", l.creates)
				require.GreaterOrEqual(t, len(l.creates), 2)
				if cancelled {
					w.edit("spec.cancel", []any{l.job.Labels["jobTag"]})
				}
				l.rejects = false
				w.at(9)
				w.reconcileAny(2)
				for _, r := range w.sees().Status.Completed {
					require.NotEqual(t, l.job.Labels["jobTag"], r.Tag, "it may still execute")
				}
				_ = w.client.Tracker().Add(l.job) // it arrives; AlreadyExists if it was tried again
				w.at(29)
				w.reconcileAny(3)
				require.Equal(t, 1, len(w.existing()), "%v", l.creates)
				require.Len(t, w.sees().Status.Running, 1)
			})
		}
	}
}

// Hours of rejected creates show in a condition, with the words of the API server, in the
// reason, in the cause of missed runs, and in an event. They end with the first Job. So do hours
// of failures of the API server and of a webhook, after which a create may have had its effect, and hours without an
// answer, which has no words.
func TestRejectedForHours(t *testing.T) {
	for name, test := range map[string]struct {
		err           error
		reason, words string
		missed        string
	}{
		"policy":    {apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("denied by policy no-jobs")), "CreateRejected", "denied by policy no-jobs", "CreateRejected"},
		"webhook":   {apierrors.NewInternalError(errors.New("failed calling webhook no-jobs")), "CreateRejected", "failed calling webhook no-jobs", "CreateRejected"},
		"no answer": {errors.New("connection refused"), "CreateUnanswered", "its Job was asked for and has not been observed", "Outdated"},
	} {
		t.Run(name, func(t *testing.T) { rejectedForHours(t, test.err, test.reason, test.words, test.missed) })
	}
}

func rejectedForHours(t *testing.T, err error, reason, words, cause string) {
	w := newFixture(t, "  schedule: {timeSpec: R//PT1M}\n")
	end := w.refuses("create jobs", err)
	events := map[string]int{}
	go1 := func(second int) {
		w.at(float64(second))
		w.lists(fmt.Sprint(second + 1))
		_, _ = w.reconcile(t.Context(), w.sees().key())
		for _, e := range w.told() {
			events[strings.Join(strings.Fields(e)[:2], " ")]++
		}
		w.did()
	}
	for second := 0; second < 5*3600; second += 60 {
		go1(second)
	}
	status := w.object()
	require.Regexp(t, "^False "+reason+": .*"+words, w.condition("Progressing"))
	require.Equal(t, reason, status["reason"])
	require.Equal(t, "2026-01-01T05:00:00Z", status["nextScheduleTime"])
	missed := status["missedBy"].(map[string]any)
	require.Equal(t, []string{cause}, slices.Collect(maps.Keys(missed)))
	require.EqualValues(t, status["missedCount"], missed[cause])
	require.Equal(t, 1, events["Warning "+reason])
	require.LessOrEqual(t, events["Warning RunsMissed"], 1, "%v", events)
	end()
	for second := 5 * 3600; second < 5*3600+600; second += 20 {
		go1(second)
	}
	require.Regexp(t, `^True `, w.condition("Progressing"))
	require.NotContains(t, w.object(), "reason")
}

// Ten thousand requests wait where they are. Twenty at a time are told that they wait.
func TestManyRequests(t *testing.T) {
	w := newFixture(t, "  allowConcurrentRun: false\n")
	n := 10_000
	var all []any
	for i := range n {
		all = append(all, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "RunRequest",
			"metadata": map[string]any{"name": fmt.Sprintf("r%05d", i), "namespace": "n", "uid": fmt.Sprintf("6c4f5d8e-9f0a-4b1c-8d2e-%012d", i), "creationTimestamp": "2026-01-01T00:00:00Z",
				"ownerReferences": []any{map[string]any{"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "ScheduledJob", "name": "job", "uid": "u"}}},
			"spec": map[string]any{"job": "job"},
		}})
	}
	require.NoError(t, w.requests.Replace(all, ""))
	w.at(10)
	told := 0
	w.custom.PrependReactor("patch", "runrequests", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if strings.Contains(string(a.(clienttesting.PatchAction).GetPatch()), othersFirst) {
			told++
		}
		return false, nil, nil
	})
	w.reconcileAny(1)
	require.Equal(t, mostTold, told)
	data, err := json.Marshal(w.object())
	require.NoError(t, err)
	t.Log(len(data), "bytes")
	require.Less(t, len(data), 64<<10)
	require.Equal(t, 1, len(w.existing()))
}

// After an outage, at most ten runs that were due before the last one are unfinished at any
// time, and the runs that are due now are not delayed by them.
func TestCatchUp(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R//PT1M, skipOutdated: false}\n")
	w.at(999 * 60)
	w.reconcileAny(1)
	require.Equal(t, 11, len(w.existing()))
	for minute := 1000; minute < 1010; minute++ {
		w.at(float64(minute) * 60)
		w.reconcileAny(minute)
	}
	require.Equal(t, 21, len(w.existing()), "ten more were due")
	w.finishes(batchv1.JobComplete)
	w.reconcileAny(2000)
	w.reconcileAny(2001)
	require.Equal(t, 31, len(w.existing()))
	require.Less(t, len(w.sees().Status.Completed), 100)
}

// A state that was written against an API server with higher resource versions is
// recognised: after one consistent read of the Jobs, runs go on, none twice.
func TestRestored(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R2//PT1M}\n")
	w.at(0)
	w.reconcileAny(5000)
	w.finishes(batchv1.JobComplete)
	w.at(1)
	w.reconcileAny(5001)
	require.EqualValues(t, 5001, w.sees().Status.JobsRevision)
	w.restart()
	w.listsAt(func() int { return 300 })
	w.at(61)
	w.reconcileAny(300)
	w.at(62)
	w.reconcileAny(301)
	require.Equal(t, 2, len(w.existing()))
	require.Regexp(t, `^True .*5001`, w.condition("Restored"))
	require.Len(t, w.sees().Status.Running, 1)
	require.Len(t, w.sees().Status.Completed, 1)
	require.Equal(t, schedule.Completed, w.sees().Status.Completed[0].Status)
}

// object is the status as JSON.
func (w *fixture) object() map[string]any {
	status, _ := w.get(scheduledJobs, "job").Object["status"].(map[string]any)
	return status
}

// condition is the condition as "Status Reason: Message".
func (w *fixture) condition(kind string) string {
	for _, c := range w.sees().Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// A starting deadline of five seconds survives a change of the leader: a term begins without a
// wait, also for a run whose create the process before has sent.
func TestDeadlineAtAChangeOfLeader(t *testing.T) {
	for _, before := range []string{"nothing", "an unanswered create"} {
		t.Run(before, func(t *testing.T) {
			w := newFixture(t, "  schedule: {timeSpec: R1/2026-01-01T00:01:00Z/PT1M}\n  startingDeadlineSeconds: 5\n")
			w.at(59)
			w.reconcileAny(1)
			if before != "nothing" {
				lost := &lateJobs{}
				w.client.PrependReactor("create", "jobs", lost.create)
				w.at(60)
				w.reconcileAny(1)
				require.Len(t, lost.creates, 1)
			}
			w.restart()
			w.at(63)
			w.tracker.Start()
			w.reconcileAny(1)
			require.Equal(t, 1, len(w.existing()))
			w.at(64)
			w.reconcileAny(2)
			require.Len(t, w.sees().Status.Running, 1)
			require.Zero(t, w.sees().Status.Missed)
		})
	}
}
