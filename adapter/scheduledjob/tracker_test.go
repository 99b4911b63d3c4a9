package scheduledjob

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/schedule"
)

// A fixture is a Tracker with a fake API server and a ScheduledJob.
type fixture struct {
	*Tracker
	client *fake.Clientset
	at     time.Time
	s      *ScheduledJob
	config Config
}

func newFixture() *fixture {
	st := &fixture{client: fake.NewClientset(), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), s: &ScheduledJob{}}
	st.s.Namespace, st.s.Name, st.s.UID = "n", "job", "u"
	st.config = Config{Namespace: "n", Name: "job", TTL: new(int32(7))}
	st.Tracker = &Tracker{Client: st.client, Late: 30 * time.Second, Terms: requests.OneShot(), Now: func() time.Time { return st.at }}
	return st
}

// now sends what was decided in the present term.
func (st *fixture) now() sender { return sender{st.Tracker, st.Terms.Term()} }

func (st *fixture) job(tag string) *batchv1.Job {
	return st.config.NewJob(st.s.Owner(), schedule.Run{Tag: tag})
}

// A create that was answered has no effect any more if it failed. The code decides.
func TestAnswered(t *testing.T) {
	for _, err := range []error{
		errors.New("timeout"), apierrors.NewInternalError(errors.New("etcd")), apierrors.NewTimeoutError("slow", 1),
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}},
	} {
		require.False(t, answered(err), "not known: %v", err)
	}
	st := newFixture()
	for _, err := range []error{
		apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "job", nil), apierrors.NewTooManyRequests("later", 1), apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "quota", nil),
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: 400, Message: "admission webhook denied the request"}},
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Message: "denied", Reason: "PolicyViolation"}},
	} {
		require.True(t, answered(err), "rejected: %v", err)
	}
	for _, err := range []error{fmt.Errorf("limit: %w", adapter.ErrNotSent), apierrors.NewAlreadyExists(schema.GroupResource{}, "job")} {
		require.True(t, answered(err))
		require.False(t, st.absent(t.Context(), st.job("tag"), err), "the run may start at once, or its name is taken: %v", err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	require.True(t, st.absent(t.Context(), st.job("tag"), forbidden))
	require.NoError(t, st.client.Tracker().Add(st.job("tag")))
	require.False(t, st.absent(t.Context(), st.job("tag"), forbidden), "it exists")
}

// A create of a Job that exists succeeds if the Job is the run's own.
func TestCreate(t *testing.T) {
	st := newFixture()
	own, foreign := st.job("own"), st.job("foreign")
	foreign.OwnerReferences[0].UID = "another"
	for _, job := range []*batchv1.Job{own, foreign} {
		require.NoError(t, st.client.Tracker().Add(job))
	}
	require.NoError(t, st.now().create(t.Context(), st.job("new"), "u"))
	require.NoError(t, st.now().create(t.Context(), own, "u"))
	require.ErrorContains(t, st.now().create(t.Context(), foreign, "u"), "already exists, and has another owner")
	st.client.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("timeout")
	})
	err := st.now().create(t.Context(), own, "u")
	require.ErrorContains(t, err, "already exists")
	require.ErrorContains(t, err, "timeout")
}

// Only the Jobs of the runs that a decision names change: deleted, those of stopped runs in the
// foreground, or with their time to live.
// Nothing changes if the state is not stored, nor while a create may arrive.
func TestCarry(t *testing.T) {
	st := newFixture()
	var jobs []batchv1.Job
	for _, tag := range []string{"stopped", "dropped", "done", "other"} {
		job := st.job(tag)
		job.UID = "uid-of-a-job"
		require.NoError(t, st.client.Tracker().Add(job))
		jobs = append(jobs, *job)
	}
	order := Order{Owner: st.s.Owner(), Config: st.config, Seen: Observation{Cached: jobs, term: st.Terms.Term()},
		Decision: schedule.Decision{Stop: []string{"stopped"}, Delete: []string{"dropped"}, Expire: []string{"done"}, Start: []schedule.Run{{Tag: "new", Attempts: 1}}}}
	verbs := func() (all []string) {
		for _, a := range st.client.Actions() {
			all = append(all, a.GetVerb()+" "+a.GetResource().Resource)
			if d, ok := a.(clienttesting.DeleteActionImpl); ok {
				all[len(all)-1] += fmt.Sprintf(" %s of %s", *d.DeleteOptions.PropagationPolicy, *d.DeleteOptions.Preconditions.UID)
			}
		}
		st.client.ClearActions()
		return all
	}
	order.Store = func(context.Context) error { return errors.New("conflict") }
	require.EqualError(t, st.Carry(t.Context(), order), "conflict")
	require.Empty(t, verbs())
	order.Store = func(context.Context) error { return nil }
	st.Start()
	require.NoError(t, st.Carry(t.Context(), order))
	require.Equal(t, []string{"create jobs"}, verbs())
	st.at = st.at.Add(30 * time.Second)
	require.NoError(t, st.Carry(t.Context(), order))
	require.Equal(t, []string{"create jobs", "get jobs", "delete jobs Foreground of uid-of-a-job", "delete jobs Background of uid-of-a-job", "patch jobs"}, verbs())
	done, err := st.client.BatchV1().Jobs("n").Get(t.Context(), st.job("done").Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 7, *done.Spec.TTLSecondsAfterFinished)
	require.Nil(t, ttlPatch(done), "it has begun")
	l, err := st.client.BatchV1().Jobs("n").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, l.Items, 3)
}

// A rejected create is final, unless an earlier create of the run may still arrive: one of this
// process that was not answered, or one of a process before. A create that the API server answered
// with an error of its own may have had its effect.
func TestMayArrive(t *testing.T) {
	st := newFixture()
	st.Start()
	var answer error
	st.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("quota"))
	try := func(attempts int64, err error) []schedule.Rejection {
		answer = err
		st.rejected = nil
		require.Error(t, st.now().start(t.Context(), st.job("r"), "u", schedule.Run{Tag: "r", Attempts: attempts}))
		return st.rejected["u"]
	}
	rejected := func(attempt int64, may bool) []schedule.Rejection {
		return []schedule.Rejection{{Tag: "r", Attempt: attempt, Reason: adapter.ErrorText(forbidden), MayArrive: may}}
	}
	require.Equal(t, rejected(1, false), try(1, forbidden), "the first create of the run")
	require.Equal(t, rejected(2, true), try(2, forbidden), "a process before may have sent the first")
	st.at = st.at.Add(30 * time.Second)
	require.Equal(t, rejected(3, false), try(3, forbidden))
	require.Empty(t, try(4, errors.New("no answer")))
	require.Equal(t, rejected(5, true), try(5, forbidden))
	st.at = st.at.Add(30 * time.Second)
	require.Equal(t, rejected(6, false), try(6, forbidden))
	internal := apierrors.NewInternalError(errors.New("webhook"))
	require.Equal(t, []schedule.Rejection{{Tag: "r", Attempt: 1, Reason: adapter.ErrorText(internal), MayArrive: true}}, try(1, internal))
	st.at = st.at.Add(30 * time.Second)
	st.Late = 0 // the default
	st.late(st.job("another"))
	require.Len(t, st.until, 1, "expired names are forgotten")
	st.at = st.at.Add(30*time.Second - 1)
	require.True(t, st.mayArrive(nameOf(st.job("another"))))
	st.at = st.at.Add(1)
	require.False(t, st.mayArrive(nameOf(st.job("another"))))
}

// The pods of a Job are listed once, when the Job has failed: not for a Job that is active
// or has succeeded, nor when the state has the exit code or has dropped the run.
func TestPodsOfNewFailures(t *testing.T) {
	st := newFixture()
	var jobs []batchv1.Job
	for tag, condition := range map[string]batchv1.JobConditionType{
		"active": "", "succeeded": batchv1.JobComplete, "new": batchv1.JobFailed, "known": batchv1.JobFailed, "dropped": batchv1.JobFailed,
	} {
		job := st.job(tag)
		if condition != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
		}
		jobs = append(jobs, *job)
	}
	st.s.Status.Completed, st.s.Status.PendingDeletion = []schedule.Run{{Tag: "known"}}, []string{"dropped"}
	require.NoError(t, st.client.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: map[string]string{batchv1.JobNameLabel: "job-new"}}}))
	var selected []string
	st.client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.ListAction).GetListRestrictions()
		selected = append(selected, r.Labels.String()+" "+r.Fields.String())
		return false, nil, nil
	})
	pods, err := st.failedPods(t.Context(), st.s, jobs)
	require.NoError(t, err)
	require.Len(t, pods, 1)
	require.Equal(t, []string{"batch.kubernetes.io/job-name=job-new status.phase=Failed"}, selected)
}

// A run whose Job is gone is active as long as its pods, which are deleted if nobody else does.
// The status says who deleted the Job, if an event does.
func TestPodsOfDeletedJobs(t *testing.T) {
	st := newFixture()
	st.s.Status.Checkpoint = schedule.Checkpoint{Version: 1, Handled: st.at, Running: []schedule.Run{{Tag: "r", Status: schedule.Running}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "p", Labels: map[string]string{labelName: st.s.Name, LabelTag: "r", batchv1.JobNameLabel: "job-r"}}}
	require.NoError(t, st.client.Tracker().Add(pod))
	other := pod.DeepCopy() // of another ScheduledJob, whose short digests may be equal
	other.Name, other.Labels[labelName] = "other", "another"
	require.NoError(t, st.client.Tracker().Add(other))
	require.NoError(t, st.client.Tracker().Add(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "n"}, Reason: "JobDeleted",
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: "job-r"}, ReportingController: "janitor"}))
	decide := func() schedule.Decision {
		seen, err := st.Observe(t.Context(), st.s, nil, 0)
		require.NoError(t, err)
		d := decideAt(schedule.Policy{UID: "u"}, seen.Observation, st.s.Status.Checkpoint, st.at)
		require.NoError(t, st.Carry(t.Context(), Order{Owner: st.s.Owner(), Decision: d, Seen: seen, Store: func(context.Context) error { return nil }}))
		st.s.Status.Checkpoint = d.Checkpoint
		return d
	}
	require.Len(t, decide().Checkpoint.Running, 1)
	d := decide() // its pod has been deleted
	require.Len(t, d.Checkpoint.Completed, 1)
	require.Equal(t, schedule.Lost, d.Checkpoint.Last.Outcome())
	require.Equal(t, "janitor", d.Checkpoint.Last.DeletedBy)
	_, err := st.client.CoreV1().Pods("n").Get(t.Context(), "other", metav1.GetOptions{})
	require.NoError(t, err)
}

// Who deleted a Job, and whether a namespace is being deleted, may stay unread: the error says so, and
// the Jobs are known.
func TestUnread(t *testing.T) {
	st := newFixture()
	st.s.Status.Checkpoint = schedule.Checkpoint{Version: 1, Handled: st.at, Running: []schedule.Run{{Tag: "r", Status: schedule.Running}}}
	for verb, resource := range map[string]string{"list": "events", "get": "namespaces"} {
		st.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New(resource + " cannot be read")
		})
	}
	waits := st.job("waits")
	waits.CreationTimestamp = metav1.NewTime(st.at.Add(-time.Minute))
	seen, err := st.Observe(t.Context(), st.s, []batchv1.Job{*waits}, 0)
	require.ErrorContains(t, err, "list the events of Job job-r, which may name who deleted it: events cannot be read")
	require.ErrorContains(t, err, "read whether the namespace of Job job-waits is being deleted: namespaces cannot be read")
	require.True(t, seen.JobsKnown)
	require.False(t, seen.Ending)
	require.Equal(t, schedule.Lost, decideAt(schedule.Policy{UID: "u"}, seen.Observation, st.s.Status.Checkpoint, st.at).Checkpoint.Last.Outcome())
}

// A copy of a run's Job, made by hand with its labels and owner, is nobody's run. It and its pods stay.
func TestCopies(t *testing.T) {
	st := newFixture()
	st.Start()
	st.at = st.at.Add(time.Minute)
	failed := st.job("r")
	failed.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	again := st.job("r")
	again.Name = "job-again"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: map[string]string{labelName: "job", LabelTag: "gone", batchv1.JobNameLabel: "job-again"}}}
	for _, object := range []runtime.Object{failed, again, pod} {
		require.NoError(t, st.client.Tracker().Add(object))
	}
	st.s.Status.Checkpoint = schedule.Checkpoint{Version: 1, Handled: st.at, Completed: []schedule.Run{{Tag: "r", Status: schedule.Completed, Started: st.at}}, Running: []schedule.Run{{Tag: "gone"}}}
	seen, err := st.Observe(t.Context(), st.s, []batchv1.Job{*failed, *again}, 0)
	require.NoError(t, err)
	require.Len(t, seen.Jobs, 1)
	require.Empty(t, seen.Orphans)
	require.Len(t, seen.Foreign, 1)
	require.Equal(t, "job-again", seen.Foreign[0].Name)
	d := decideAt(schedule.DefaultPolicy(), seen.Observation, st.s.Status.Checkpoint, st.at)
	require.Empty(t, append(d.Stop, d.Delete...))
	order := Order{Owner: st.s.Owner(), Config: st.config, Seen: seen, Decision: schedule.Decision{Stop: []string{"r"}, Delete: []string{"r"}}, Store: func(context.Context) error { return nil }}
	require.NoError(t, st.Carry(t.Context(), order))
	_, err = st.client.BatchV1().Jobs("n").Get(t.Context(), "job-again", metav1.GetOptions{})
	require.NoError(t, err)
}

// Whether creates of a clock that was ahead had an effect is read when none may arrive any more.
func TestSettled(t *testing.T) {
	st := newFixture()
	st.Start()
	st.s.Status.Checkpoint = schedule.Checkpoint{Version: 1, Handled: st.at.Add(time.Hour), Pending: []schedule.Run{{Tag: "r", Status: schedule.Pending, Due: st.at.Add(time.Hour), Tried: st.at.Add(time.Hour), Attempts: 1}}}
	for _, want := range []bool{false, true} {
		seen, err := st.Observe(t.Context(), st.s, nil, 0)
		require.NoError(t, err)
		require.Equal(t, want, seen.Settled)
		st.at = st.at.Add(30 * time.Second)
	}
}

// The restarts are the failed pods that were replaced.
func TestRestarts(t *testing.T) {
	for text, want := range map[string]int{"": 0, "1": 1, "1,3-5": 4, "x": 0, "5-3": 0} {
		require.Equal(t, want, indexes(text), text)
	}
	st := newFixture()
	st.config.PodCount = 4
	job := st.job("r")
	job.Status.Active, job.Status.Succeeded, job.Status.Failed, job.Status.FailedIndexes = 1, 2, 5, new("0,2")
	require.Equal(t, schedule.Pods{Active: 1, Succeeded: 2, Failed: 5, Restarts: 3}, st.s.Observe([]batchv1.Job{*job}, nil)[0].Pods)
}

// What was decided before the first term is not sent in it.
func TestDecidedBeforeTheFirstTerm(t *testing.T) {
	st := newFixture()
	st.Terms = &requests.Terms{}
	seen, err := st.Observe(t.Context(), st.s, nil, 0)
	require.NoError(t, err)
	st.Terms = requests.OneShot() // as after Begin
	st.client.ClearActions()
	err = st.Carry(t.Context(), Order{Owner: st.s.Owner(), Config: st.config, Seen: seen, Store: func(context.Context) error { return nil },
		Decision: schedule.Decision{Start: []schedule.Run{{Tag: "r", Attempts: 1}}}})
	require.ErrorIs(t, err, requests.ErrEnded)
	require.Empty(t, st.client.Actions())
}

// What was decided in a term before is not sent, and a create of a process in between may still
// arrive, also without Start.
func TestAnotherTerm(t *testing.T) {
	st := newFixture()
	st.Start()
	st.at = st.at.Add(30 * time.Second)
	require.False(t, st.mayArrive(nameOf(st.job("r"))))
	seen, err := st.Observe(t.Context(), st.s, []batchv1.Job{*st.job("old")}, 0)
	require.NoError(t, err)
	seen.Orphans = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}}
	st.client.ClearActions()
	order := Order{Owner: st.s.Owner(), Config: st.config, Seen: seen, Decision: schedule.Decision{
		Start: []schedule.Run{{Tag: "r", Attempts: 1}, {Tag: "q", Attempts: 1}}, Delete: []string{"old"}}}
	order.Store = func(context.Context) error {
		st.Terms.End()
		st.Terms = requests.OneShot() // as after Begin
		st.at = st.at.Add(time.Hour)
		return nil
	}
	for range 2 {
		require.ErrorIs(t, st.Carry(t.Context(), order), adapter.ErrNotSent)
		order.Store = func(context.Context) error { return nil }
		require.Empty(t, st.client.Actions(), "every request is checked")
	}
	st.at = st.at.Add(29 * time.Second)
	require.True(t, st.mayArrive(nameOf(st.job("r"))))
	st.at = st.at.Add(time.Second)
	require.False(t, st.mayArrive(nameOf(st.job("r"))))
	order.Seen.term = st.Terms.Term()
	require.NoError(t, st.Carry(t.Context(), order))
	require.Len(t, st.client.Actions(), 4)
}

// decideAt is schedule.Decide at a time.
func decideAt(p schedule.Policy, o schedule.Observation, c schedule.Checkpoint, now time.Time) schedule.Decision {
	o.Now = now
	return schedule.Decide(p, o, c)
}
