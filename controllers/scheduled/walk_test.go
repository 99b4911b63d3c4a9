package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A walk is a controller on an API server that keeps old versions, from which stale
// caches are filled.
type walk struct {
	*fixture
	t        *rapid.T
	at       time.Time
	states   []*scheduledJob
	jobLists [][]any // by revision, from 1
	created  map[string]int
	ended    map[string]bool // whether the Job succeeded, by tag
	rejects  bool
	asked    int
	premises map[string]int
	copies   map[string]bool // names of Jobs that were copied by hand
	behind   int             // reconciles that see the Jobs as they were before an answer was lost
	before   int             // the revision of those Jobs
}

var errStopped = errors.New("the process stopped")

// chance is true in one of n draws.
func (k *walk) chance(name string, n int) bool { return rapid.IntRange(1, n).Draw(k.t, name) == n }

// stops stops the process between two steps: before a request or after it.
func (k *walk) stops(when string) {
	if k.chance("stops "+when, 12) {
		k.premises["stopped "+when]++
		panic(errStopped)
	}
}

func newWalk(t *rapid.T, premises map[string]int, spec string) *walk {
	k := &walk{t: t, at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), created: map[string]int{}, ended: map[string]bool{}, premises: premises, copies: map[string]bool{}}
	k.fixture = newFixtureOf(t, context.Background(), spec)
	k.now = func() time.Time { return k.at }
	k.states = append(k.states, k.sees())
	k.snapshot()
	k.listsAt(func() int { return len(k.jobLists) })
	k.client.PrependReactor("create", "jobs", k.create)
	k.client.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		k.stops("before a delete")
		return false, nil, nil
	})
	k.custom.PrependReactor("update", "scheduledjobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		k.stops("before the status")
		return false, nil, nil
	})
	k.custom.PrependReactor("patch", "runrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		k.stops("before an answer")
		return false, nil, nil
	})
	return k
}

func (k *walk) create(a clienttesting.Action) (bool, runtime.Object, error) {
	k.stops("before a create")
	job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
	exists := slices.ContainsFunc(k.all(), func(j *batchv1.Job) bool { return j.Name == job.Name })
	if k.rejects {
		k.premises["rejected"]++
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, job.Name, errors.New("quota"))
	}
	if exists {
		k.premises["created before"]++
		return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "jobs"}, job.Name)
	}
	tag := job.Labels["jobTag"]
	if k.created[tag]++; k.created[tag] > 1 {
		k.t.Fatalf("run %s executes twice", tag)
	}
	job = job.DeepCopy()
	job.UID, job.CreationTimestamp = types.UID("uid-"+job.Name), metav1.NewTime(k.at.Truncate(time.Second))
	require.NoError(k.t, k.client.Tracker().Add(job))
	k.snapshot()
	if k.chance("answer is lost", 3) {
		k.premises["lost answer"]++
		k.behind, k.before = 4, len(k.jobLists)-1
		return true, nil, errors.New("timeout")
	}
	return true, job, nil
}

// all are the Jobs that exist.
func (k *walk) all() (all []*batchv1.Job) {
	list, err := k.client.Tracker().List(batchv1.SchemeGroupVersion.WithResource("jobs"), batchv1.SchemeGroupVersion.WithKind("Job"), "n")
	require.NoError(k.t, err)
	for i := range list.(*batchv1.JobList).Items {
		all = append(all, &list.(*batchv1.JobList).Items[i])
	}
	return all
}

// snapshot keeps the Jobs as a new revision.
func (k *walk) snapshot() {
	var list []any
	for _, j := range k.all() {
		list = append(list, j)
	}
	k.jobLists = append(k.jobLists, list)
}

// reconcileOnce fills the caches, as old as drawn, and reconciles.
func (k *walk) reconcileOnce(stale bool) {
	state, revision := len(k.states)-1, len(k.jobLists)
	if stale {
		state -= rapid.IntRange(0, min(state, 4)).Draw(k.t, "stale ScheduledJobs")
		revision -= rapid.IntRange(0, min(revision-1, 6)).Draw(k.t, "stale Jobs")
		if state < len(k.states)-1 {
			k.premises["stale ScheduledJobs"]++
		}
		if revision < len(k.jobLists) {
			k.premises["stale Jobs"]++
		}
		if k.chance("restarts", 2) {
			k.restart()
		}
	}
	if k.behind > 0 {
		k.behind--
		revision = min(revision, k.before)
	}
	require.NoError(k.t, k.scheduled.Replace([]any{k.states[state]}, ""))
	require.NoError(k.t, k.jobs.Replace(k.jobLists[revision-1], fmt.Sprint(revision)))
	k.seesRequests()
	func() {
		defer func() {
			if r := recover(); r == errStopped {
				k.restart()
			} else if r != nil {
				panic(r)
			}
		}()
		_, _ = k.reconcile(k.ctx, k.states[0].key()) // errors are part of the walk
	}()
	k.did()
	k.told()
	if now := k.stored(); now != k.states[len(k.states)-1] {
		k.states = append(k.states, now)
		k.check(now)
	}
	jobs := k.all()
	for name := range k.copies {
		if !slices.ContainsFunc(jobs, func(j *batchv1.Job) bool { return j.Name == name }) {
			k.t.Fatalf("copy %s is deleted", name)
		}
	}
	if len(jobs) != len(k.jobLists[len(k.jobLists)-1]) {
		k.snapshot() // Jobs were deleted
	}
}

func (k *walk) stored() *scheduledJob {
	u := k.get(scheduledJobs, "job")
	if last := k.states[len(k.states)-1]; last.ResourceVersion == u.GetResourceVersion() {
		return last
	}
	return read(u.DeepCopy())
}

// check asserts that a stored status agrees with the Jobs.
func (k *walk) check(s *scheduledJob) {
	is := s.Status
	if is.Due != is.Started+is.PendingScheduled()+is.Missed+is.Dropped {
		k.t.Fatalf("%d due: %d started, %d pending, %d missed, %d dropped", is.Due, is.Started, is.PendingScheduled(), is.Missed, is.Dropped)
	}
	for _, r := range is.Running {
		if k.created[r.Tag] != 1 {
			k.t.Fatalf("run %s is active without a Job", r.Tag)
		}
	}
	for _, r := range is.Completed {
		succeeded, ended := k.ended[r.Tag]
		if r.Lost || r.Stopped == "" && (!ended || r.Success != succeeded) {
			k.t.Fatalf("%+v; its Job ended: %v, succeeded: %v", r, ended, succeeded)
		}
	}
}

// copyJob copies a Job with its labels and owner, as people do to run it again.
func (k *walk) copyJob() {
	jobs := k.all()
	if len(jobs) == 0 || len(k.copies) == 3 {
		return
	}
	j := rapid.SampledFrom(jobs).Draw(k.t, "copied").DeepCopy()
	j.Name, j.Status = fmt.Sprintf("%s-%d", j.Name, len(k.copies)), batchv1.JobStatus{}
	j.UID = types.UID("uid-" + j.Name)
	k.copies[j.Name] = true
	k.premises["copied"]++
	require.NoError(k.t, k.client.Tracker().Add(j))
	k.snapshot()
}

// editSpec edits a field that keeps what was handled, or an annotation.
func (k *walk) editSpec() {
	switch rapid.IntRange(0, 4).Draw(k.t, "field") {
	case 0:
		k.edit("spec.schedule.jitterSeconds", rapid.Int64Range(0, 59).Draw(k.t, "jitter"))
	case 1:
		k.edit("spec.schedule.endTime", "2026-01-01T12:00:00Z")
	case 2:
		k.edit("spec.schedule.timeSpec", "R12/2026-01-01T01:01:00+01:00/PT60S")
	case 3:
		k.edit("spec.schedule.blockOnFailure", false)
	case 4:
		k.edit("metadata.annotations", map[string]any{schedule.AnnotationUnblock: fmt.Sprint(k.at.Unix())})
	}
	k.premises["edited"]++
	k.states = append(k.states, k.stored())
}

func (k *walk) end(which func() bool, succeeds func() bool) {
	for _, j := range k.all() {
		if len(j.Status.Conditions) == 0 && !k.copies[j.Name] && which() {
			condition := batchv1.JobFailed
			if succeeds() {
				condition = batchv1.JobComplete
			}
			k.ended[j.Labels["jobTag"]] = condition == batchv1.JobComplete
			j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: "True", LastTransitionTime: metav1.NewTime(k.at)}}
			jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
			require.NoError(k.t, k.client.Tracker().Delete(jobs, "n", j.Name)) // an update takes ten times as long
			require.NoError(k.t, k.client.Tracker().Add(j))
		}
	}
	k.snapshot()
}

// settle reconciles with a healthy cluster until nothing waits or runs.
func (k *walk) settle() *scheduledJob {
	k.rejects = false
	k.at = k.at.Add(time.Hour)
	for range 300 {
		k.at = k.at.Add(5 * time.Minute)
		k.reconcileOnce(false)
		k.end(func() bool { return true }, func() bool { return true })
		if s := k.stored().Status; len(s.Pending)+len(s.Running) == 0 && s.Due == 12 {
			return k.stored()
		}
	}
	k.t.Fatalf("it never settles: %+v", k.stored().Status)
	return nil
}

// propWalk walks controller and decision together: both lists are stale, answers are
// lost, creates are rejected, the process stops between any two steps, and the clock
// jumps. No run executes twice. Each occurrence ran, or was missed or dropped. Each
// request ran. History and the counts agree with the Jobs.
func propWalk(t *rapid.T, premises map[string]int) {
	policy := rapid.SampledFrom([]schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace}).Draw(t, "policy")
	k := newWalk(t, premises, fmt.Sprintf("  schedule: {timeSpec: R12/2026-01-01T00:01:00Z/PT1M, skipOutdated: %t}\n  concurrencyPolicy: %s\n  historyLimit: %d\n",
		rapid.Bool().Draw(t, "skipOutdated"), policy, rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "historyLimit")))
	t.Repeat(map[string]func(*rapid.T){
		"reconcile":        func(t *rapid.T) { k.t = t; k.reconcileOnce(false) },
		"reconcile again":  func(t *rapid.T) { k.t = t; k.reconcileOnce(false) },
		"reconcile, stale": func(t *rapid.T) { k.t = t; k.reconcileOnce(true) },
		"time passes": func(t *rapid.T) {
			k.at = k.at.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "seconds")) * time.Second)
		},
		"clock jumps": func(t *rapid.T) {
			k.at = k.at.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, "seconds")) * time.Second)
			premises["clock jumps"]++
		},
		"creates fail": func(t *rapid.T) { k.rejects = rapid.Bool().Draw(t, "rejects") },
		"Jobs end": func(t *rapid.T) {
			k.end(func() bool { return rapid.Bool().Draw(t, "ends") }, func() bool { return rapid.Bool().Draw(t, "succeeds") })
		},
		"a copy":  func(t *rapid.T) { k.t = t; k.copyJob() },
		"an edit": func(t *rapid.T) { k.t = t; k.editSpec() },
		"a request": func(*rapid.T) {
			if k.asked < 5 {
				k.asked++
				k.request(fmt.Sprint("r", k.asked), "job")
			}
		},
	})
	k.t = t
	s := k.settle().Status
	scheduled := 0
	for tag := range k.created {
		if !strings.HasPrefix(tag, "asked-") {
			scheduled++
		}
	}
	if s.Started != int64(scheduled) || s.Missed+s.Dropped != 12-int64(scheduled) {
		t.Fatalf("%d scheduled Jobs: %+v", scheduled, s)
	}
	if n := len(k.created) - scheduled; n != k.asked {
		t.Fatalf("%d requests, %d Jobs", k.asked, n)
	}
	if n := s.Succeeded + s.Failed + s.Stopped; n != int64(len(k.created)) {
		t.Fatalf("%d Jobs, %d completed runs", len(k.created), n)
	}
}

func TestWalk(t *testing.T) {
	premises := map[string]int{}
	rare := func(premise string) bool { return premises[premise] < 3 }
	wanted := []string{
		"rejected", "created before", "lost answer", "stale ScheduledJobs", "stale Jobs", "clock jumps", "copied", "edited",
		"stopped before a create", "stopped before a delete", "stopped before the status", "stopped before an answer",
	}
	rounds := 0
	premise.Rounds(t, func(t *rapid.T) { propWalk(t, premises) }, func() bool {
		rounds++
		return rounds == 500 || !slices.ContainsFunc(wanted, rare)
	})
	require.False(t, slices.ContainsFunc(wanted, rare), "too rare: %v", premises)
	t.Log(premises)
}
