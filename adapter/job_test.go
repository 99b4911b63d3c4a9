package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/strategy"
)

func ready(j *batchv1.Job)     { j.Status.Ready = new(int32(1)) }
func notReady(j *batchv1.Job)  { j.Status.Ready = new(int32(0)) }
func suspend(j *batchv1.Job)   { j.Spec.Suspend = new(true) }
func active(j *batchv1.Job)    { j.Status.Active = 1 }
func hasFailed(j *batchv1.Job) { j.Status.Failed = 1 }

func observe(t *testing.T, target Target, o Options, j *batchv1.Job, pods ...corev1.Pod) Job {
	w, err := Observe(target, o, []batchv1.Job{*j}, pods)
	require.NoError(t, err)
	jobs, known := w.Jobs(ownerUID)
	require.True(t, known)
	require.Len(t, jobs, 1)
	return jobs[0]
}

func TestPhase(t *testing.T) {
	target, job := newTarget(), func(changes ...func(*batchv1.Job)) *batchv1.Job { return jobOf(newTarget(), 1, changes...) }
	byCondition := newTarget()
	byCondition.PendingPodConditions = []string{"Ready", "Claimed"}
	pods := Options{Pods: true}
	for name, test := range map[string]struct {
		target       Target
		options      Options
		job          *batchv1.Job
		pods         []corev1.Pod
		want         Phase
		neverStarted bool
	}{
		"complete":                     {target, Options{}, job(complete, suspend), nil, Succeeded, false},
		"failed":                       {target, Options{}, job(having(batchv1.JobFailed), deleting), nil, Failed, false},
		"being deleted":                {target, Options{}, job(deleting, ready), nil, Terminating, false},
		"about to fail":                {target, Options{}, job(having(batchv1.JobFailureTarget)), nil, Terminating, false},
		"about to succeed":             {target, Options{}, job(having(batchv1.JobSuccessCriteriaMet)), nil, Terminating, false},
		"suspended":                    {target, Options{}, job(suspend, ready), nil, Suspended, false},
		"suspended since its creation": {target, Options{}, job(suspend), nil, Suspended, true},
		"new, pods not watched":        {target, Options{}, job(), nil, Pending, false},
		"new, no pod":                  {target, pods, job(), nil, Pending, true},
		"ready":                        {target, Options{}, job(ready), nil, Running, false},
		"one pod has succeeded":        {target, Options{}, job(func(j *batchv1.Job) { j.Status.Succeeded = 1 }), nil, Running, false},
		"ready, pod not in the cache":  {target, pods, job(ready, active), nil, Running, false},
		"pod in the cache is pending":  {target, pods, job(active), []corev1.Pod{*podOf(job(), corev1.PodPending)}, Pending, true},
		"active pod not in the cache":  {target, pods, job(active), nil, Pending, false},
		"pod runs":                     {target, pods, job(active), []corev1.Pod{*podOf(job(), corev1.PodRunning)}, Running, false},
		"pod succeeded":                {target, pods, job(), []corev1.Pod{*podOf(job(), corev1.PodSucceeded)}, Running, false},
		"pod failed":                   {target, pods, job(hasFailed), []corev1.Pod{*podOf(job(), corev1.PodFailed)}, Pending, false},
		"pod with one condition":       {byCondition, pods, job(active), []corev1.Pod{*podOf(job(), corev1.PodRunning, "Ready")}, Pending, false},
		"ready, without conditions":    {byCondition, pods, job(active, ready), []corev1.Pod{*podOf(job(), corev1.PodRunning)}, Pending, false},
		"pod with all conditions":      {byCondition, pods, job(active), []corev1.Pod{*podOf(job(), corev1.PodRunning, "Claimed", "Ready")}, Running, false},
		"condition is not True": {byCondition, pods, job(active), []corev1.Pod{func() corev1.Pod {
			p := podOf(job(), corev1.PodRunning, "Claimed", "Ready")
			p.Status.Conditions[1].Status = corev1.ConditionFalse
			return *p
		}()}, Pending, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := observe(t, test.target, test.options, test.job, test.pods...)
			require.Equal(t, test.want, got.Phase)
			require.Equal(t, test.neverStarted, got.NeverStarted)
		})
	}
	require.Equal(t, "in flight unknown phase", InFlight.String()+" "+Phase(9).String())
}

// Values with names have them in JSON too.
func TestNamesInJSON(t *testing.T) {
	w := newWriter(t, newServer(), newTarget(), Options{})
	w.show(jobOf(newTarget(), 1, complete))
	jobs, _ := w.Jobs(ownerUID)
	data, err := json.Marshal(struct {
		Job
		Deletion
	}{jobs[0], jobs[0].Delete(rollout.Orphan, HistoryLimit)})
	require.NoError(t, err)
	for _, want := range []string{`"Phase":"succeeded"`, `"Propagation":"orphan"`, `"Reason":"HistoryLimit"`} {
		require.Contains(t, string(data), want)
	}
}

// A Job that ran is pending from when it was first observed without a Running pod, so
// that a readiness flap or a replaced pod makes no Job stuck.
func TestPendingSince(t *testing.T) {
	for name, flap := range map[string]struct {
		options Options
		run     func(w *writer, j *batchv1.Job)
		stop    func(w *writer, j *batchv1.Job)
	}{
		"readiness": {Options{},
			func(w *writer, j *batchv1.Job) { w.show(jobOf(newTarget(), 1, ready)) },
			func(w *writer, j *batchv1.Job) { w.show(jobOf(newTarget(), 1, notReady)) }},
		"replaced pod": {Options{Pods: true},
			func(w *writer, j *batchv1.Job) { w.showPod(podOf(j, corev1.PodRunning)) },
			func(w *writer, j *batchv1.Job) { _ = w.podFeed().Delete(podOf(j, corev1.PodRunning)) }},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTarget()
			target.StuckAfter, target.Policy.Strategy = time.Minute, strategy.PendingAware{}
			w := newWriter(t, newServer(), target, flap.options)
			j := jobOf(target, 1)
			w.show(j)
			at := func(d time.Duration) (stuck, create int64) {
				w.clock = noon.Add(d)
				counts, _ := w.Counts(ownerUID, w.clock)
				return counts.Stuck, w.Plan(ownerUID, items(1), w.clock).Create
			}
			check := func(d time.Duration, stuck int64) {
				t.Helper()
				gotStuck, create := at(d)
				require.Equal(t, stuck, gotStuck)
				require.Equal(t, stuck, create)
			}
			check(time.Minute-1, 0)
			check(time.Minute, 1)
			flap.run(w, j)
			check(time.Hour, 0)
			flap.stop(w, j)
			check(time.Hour+time.Minute-1, 0)
			require.NoError(t, w.Track(target))
			check(time.Hour+time.Minute, 1)
			flap.run(w, j)
			check(time.Hour+time.Minute, 0)
		})
	}
}

// A Job that was resumed is pending from then, and one that ran before the tracker
// observed it is pending from now.
func TestPendingSinceUnknown(t *testing.T) {
	started := func(d time.Duration) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Status.StartTime = new(metav1.NewTime(noon.Add(d))) }
	}
	target := newTarget()
	require.Equal(t, noon, observe(t, target, Options{}, jobOf(target, 1, started(-1))).PendingSince)
	require.Equal(t, noon.Add(time.Hour), observe(t, target, Options{}, jobOf(target, 1, started(time.Hour))).PendingSince)
	require.WithinDuration(t, time.Now(), observe(t, target, Options{}, jobOf(target, 1, hasFailed)).PendingSince, time.Minute)
	require.Zero(t, observe(t, target, Options{}, jobOf(target, 1, ready)).PendingSince)

	w := newWriter(t, newServer(), target, Options{})
	w.show(jobOf(target, 1, started(time.Hour)))
	w.show(jobOf(target, 1, started(2*time.Hour)))
	jobs, _ := w.Jobs(ownerUID)
	require.Equal(t, noon.Add(2*time.Hour), jobs[0].PendingSince)
}

// Jobs that are pending, suspended, stuck, outdated and strays, counted together. A rollout
// counts the outdated Jobs as terminating, and none of them as stuck.
func TestCounts(t *testing.T) {
	old, target := newTarget(), newTarget()
	target.Revision.Generation, target.Rollout, target.StuckAfter = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, time.Minute
	w := newWriter(t, newServer(), target, Options{})
	age := func(d time.Duration) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.CreationTimestamp = metav1.NewTime(noon.Add(-d)) }
	}
	for i, j := range []*batchv1.Job{
		jobOf(target, 1, ready), jobOf(target, 2, age(time.Hour)), jobOf(target, 3, age(time.Minute)), jobOf(target, 4, age(time.Minute-1)),
		jobOf(target, 5, suspend, age(time.Hour)), jobOf(target, 6, deleting, age(time.Hour)), jobOf(target, 7, complete),
		jobOf(old, 8, ready, age(time.Hour)), jobOf(old, 9, age(time.Hour)), jobOf(old, 10, age(time.Second)),
		jobOf(target, 11, age(time.Hour)), jobOf(old, 12, ready),
	} {
		if j.UID = types.UID(fmt.Sprint("job-", i)); i == 10 {
			j.Namespace = "mail"
		}
		w.show(j)
	}
	o := w.owners[ownerUID]
	require.Equal(t, scaling.JobCounts{Running: 9, Pending: 6, Suspended: 1, Stuck: 3, Terminating: 1}, o.counts(noon, nil))
	require.Equal(t, scaling.JobCounts{Running: 5, Pending: 4, Suspended: 1, Stuck: 2, Terminating: 5}, o.counts(noon, o.leaving(noon)))

	w.show(jobOf(target, 13, age(time.Hour), func(j *batchv1.Job) { j.UID = "job-13" }))
	require.Equal(t, int64(4), o.counts(noon, nil).Stuck, "a Job more")
	one := newWriter(t, newServer(), target, Options{})
	one.show(jobOf(old, 1, age(time.Hour)))
	require.Equal(t, scaling.JobCounts{Terminating: 1}, one.owners[ownerUID].counts(noon, one.owners[ownerUID].leaving(noon)))
}

// A pod that meets the conditions has started its Job, also in phase Pending. From then on
// the Job has run.
func TestRanByConditions(t *testing.T) {
	target := newTarget()
	target.PendingPodConditions = []string{"Ready"}
	w := newWriter(t, newServer(), target, Options{Pods: true})
	j := jobOf(target, 1, active)
	w.show(j)
	phase := func() (Phase, time.Time) {
		jobs, _ := w.Jobs(ownerUID)
		return jobs[0].Phase, jobs[0].PendingSince
	}
	is, since := phase()
	require.Equal(t, Pending, is)
	require.Equal(t, noon, since)
	w.showPod(podOf(j, corev1.PodPending, "Ready"))
	is, _ = phase()
	require.Equal(t, Running, is)
	w.passes(time.Hour)
	w.showPod(podOf(j, corev1.PodPending))
	for range 2 {
		is, since = phase()
		require.Equal(t, Pending, is)
		require.Equal(t, noon.Add(time.Hour), since)
		w.passes(time.Minute)
		w.show(jobOf(target, 1, active, hasFailed))
	}
}

// A pod without a controller, such as an orphan, belongs to the Job that its labels name.
func TestPodByLabels(t *testing.T) {
	target := newTarget()
	j := jobOf(target, 1, active)
	p := podOf(j, corev1.PodRunning)
	p.OwnerReferences = nil
	require.Equal(t, Pending, observe(t, target, Options{Pods: true}, j, *p).Phase)
	p.Labels = map[string]string{batchv1.ControllerUidLabel: string(j.UID), batchv1.JobNameLabel: j.Name}
	require.Equal(t, Running, observe(t, target, Options{Pods: true}, j, *p).Phase)
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Keeper", Name: "k", UID: "keeper", Controller: new(true)}}
	require.Equal(t, Running, observe(t, target, Options{Pods: true}, j, *p).Phase, "the labels come first")
}

// A Job by itself is described as by a tracker that does not watch pods.
func TestJobOf(t *testing.T) {
	target := newTarget()
	for _, change := range []func(*batchv1.Job){complete, having(batchv1.JobFailed), having(batchv1.JobFailureTarget), deleting, suspend, ready, active} {
		j := jobOf(target, 1, change)
		want := observe(t, target, Options{}, j)
		want.Number = 0
		require.Equal(t, want, JobOf(j))
	}
	require.Zero(t, JobOf(jobOf(target, 1, hasFailed)).PendingSince, "it has run, at a time that is not known")
}

// KEDA's annotation is read too, and what is no positive number is unknown.
func TestRevision(t *testing.T) {
	target := newTarget()
	target.Revision = rollout.Revision{Generation: 7, TemplateHash: "x"}
	j := jobOf(target, 1)
	require.Equal(t, target.Revision, observe(t, target, Options{}, j).Revision)
	j.Annotations = map[string]string{"scaledjob.keda.sh/generation": "6"}
	require.Equal(t, rollout.Revision{Generation: 6}, observe(t, target, Options{}, j).Revision)
	j.Annotations = map[string]string{AnnotationGeneration: "12"}
	require.Equal(t, rollout.Revision{Generation: 12}, observe(t, target, Options{}, j).Revision)
	for _, text := range []string{"", "x", "-1", "99999999999999999999"} {
		j.Annotations = map[string]string{AnnotationGeneration: text}
		require.Zero(t, observe(t, target, Options{}, j).Revision, text)
	}
	require.Equal(t, target.NewJob(1).Annotations, target.NewJob(2).Annotations)
	target.Revision.TemplateHash = ""
	require.NotContains(t, target.NewJob(1).Annotations, AnnotationTemplateHash, "no Job is outdated")
}

// A hash changes with what a Job is made from, and with nothing else. It stays the same in all releases: the
// literal values are those of the first.
func TestTemplateHash(t *testing.T) {
	hash := func(text string) string {
		var template map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &template))
		return TemplateHash(template)
	}
	template := `{"parallelism":1,"suspend":false,"template":{"spec":{"containers":[{"name":"a","image":"i:1","args":["","x"]}]}}}`
	require.Equal(t, "03831adb62", hash(template))
	for name, text := range map[string]string{
		"order":        `{"template":{"spec":{"containers":[{"image":"i:1","args":["","x"],"name":"a"}]}},"suspend":false,"parallelism":1}`,
		"time to live": strings.Replace(template, `{`, `{"ttlSecondsAfterFinished":60,`, 1),
		"empty fields": strings.Replace(template, `"name":"a"`, `"name":"a","env":[],"resources":{"limits":{"x":null}},"tty":null,"workingDir":""`, 1),
		"metadata":     strings.Replace(template, `"template":{`, `"template":{"metadata":{"creationTimestamp":null,"labels":{}},`, 1),
	} {
		require.Equal(t, hash(template), hash(text), name)
	}
	for name, text := range map[string]string{
		"image":            strings.Replace(template, "i:1", "i:2", 1),
		"false":            strings.Replace(template, `"suspend":false,`, "", 1),
		"an empty element": strings.Replace(template, `"",`, "", 1),
		"a number":         strings.Replace(template, `"parallelism":1`, `"parallelism":0`, 1),
		"a new field":      strings.Replace(template, `"name":"a"`, `"name":"a","fieldOfTomorrow":1`, 1),
		"inner ttl":        strings.Replace(template, `"spec":{`, `"spec":{"ttlSecondsAfterFinished":60,`, 1),
	} {
		require.NotEqual(t, hash(template), hash(text), name)
	}
	unstructured := map[string]any{"parallelism": int64(1), "suspend": false}
	require.Equal(t, hash(`{"parallelism":1,"suspend":false}`), TemplateHash(unstructured), "a number is a number")
	require.Len(t, unstructured, 2)
}

// The prototype reaches the Job, and the Job shares no memory with it.
func TestNewJob(t *testing.T) {
	target := newTarget()
	target.Job.Labels, target.Job.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"}
	target.Job.Spec.Parallelism, target.Job.Spec.BackoffLimit = new(int32(2)), new(int32(3))
	target.Job.Name, target.Job.OwnerReferences = "mine", []metav1.OwnerReference{{Name: "orders", UID: ownerUID}}
	s := newServer()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(1)
	require.NoError(t, err)
	got, want := s.all(t)[0], target.NewJob(1)
	require.Equal(t, want.Spec, got.Spec)
	require.Equal(t, want.Labels, got.Labels)
	require.Equal(t, want.Annotations, got.Annotations)
	require.Equal(t, want.OwnerReferences, got.OwnerReferences)
	require.Equal(t, map[string]string{"team": "a", LabelOwner: string(ownerUID)}, got.Labels)
	require.Equal(t, "b", got.Annotations["note"])
	require.Equal(t, corev1.RestartPolicyOnFailure, got.Spec.Template.Spec.RestartPolicy)
	require.Equal(t, int32(3), *got.Spec.BackoffLimit)

	want.Labels["team"], *want.Spec.Parallelism, want.Spec.Template.Spec.Containers[0].Name = "c", 9, "x"
	require.Equal(t, "a", target.Job.Labels["team"])
	require.Equal(t, int32(2), *target.Job.Spec.Parallelism)
	require.Equal(t, "worker", target.Job.Spec.Template.Spec.Containers[0].Name)
	require.Equal(t, "mine", target.Job.Name)

	target.Job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	require.Equal(t, corev1.RestartPolicyNever, target.NewJob(1).Spec.Template.Spec.RestartPolicy)
	target.Revision = rollout.Revision{Generation: 12, TemplateHash: "x"}
	require.Equal(t, []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Queue", Name: "orders", UID: ownerUID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}, target.NewJob(1).OwnerReferences)
	require.Equal(t, map[string]string{"note": "b", AnnotationGeneration: "12", AnnotationTemplateHash: "x"}, target.NewJob(1).Annotations)
}

// The rollout comes first: the Jobs that it deletes are terminating in the same poll.
func TestRollout(t *testing.T) {
	for _, test := range []struct {
		strategy        rollout.Strategy
		paused          bool
		deleted, create int64
	}{
		{rollout.Gradual, false, 0, 1},
		{rollout.Drain, false, 1, 1},
		{rollout.Immediate, false, 3, 1},
		{rollout.Immediate, true, 0, 0},
	} {
		t.Run(test.strategy.String(), func(t *testing.T) {
			s, target := newServer(), newTarget()
			target.Policy.Bounds.Max = 4
			w := newWriter(t, s, target, Options{Pods: true})
			_, err := w.poll(3)
			require.NoError(t, err)
			for i, j := range s.all(t) {
				switch i {
				case 0:
					w.show(s.change(t, &j, active))
					w.showPod(podOf(&j, corev1.PodPending))
				case 1:
					w.show(s.change(t, &j, func(j *batchv1.Job) { active(j); ready(j) }))
				case 2:
					w.show(s.change(t, &j, suspend))
					w.show(s.change(t, &j, func(j *batchv1.Job) { suspend(j); hasFailed(j) }))
				}
			}
			target.Revision.Generation, target.Rollout = 2, rollout.Policy{Strategy: test.strategy, Propagation: rollout.Foreground, EveryEdit: true}
			target.Policy.Paused = test.paused
			require.NoError(t, w.Track(target))
			plan := w.Plan(ownerUID, items(9), noon)
			require.Len(t, plan.Delete, int(test.deleted))
			require.Equal(t, test.create, plan.Create)
			if !test.paused {
				require.Equal(t, test.deleted, plan.Decision.Trace.Jobs.Terminating)
				require.Equal(t, 3-test.deleted, plan.Decision.Trace.Jobs.Running)
			}
			for i, d := range plan.Delete {
				require.Equal(t, rollout.Foreground, d.Propagation)
				require.Equal(t, Outdated, d.Reason)
				require.Equal(t, target.NewJob(int64(i+1)).Name, d.Name)
			}
			result, err := w.Apply(context.Background(), s, plan)
			require.NoError(t, err)
			require.Equal(t, Result{Created: test.create, Outdated: int(test.deleted)}, result)
			for _, action := range s.Actions() {
				if d, isDelete := action.(ktesting.DeleteAction); isDelete {
					require.Equal(t, metav1.DeletePropagationForeground, *d.GetDeleteOptions().PropagationPolicy)
				}
			}
			again := w.Plan(ownerUID, items(9), noon)
			require.Zero(t, again.Create, "the cache shows the deleted Jobs still")
			require.Empty(t, again.Delete)
		})
	}
}

// A Job that has changed since it was observed is not deleted: its pod may have started.
func TestDrainIsConditional(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{Pods: true})
	_, err := w.poll(1)
	require.NoError(t, err)
	w.catchUp(t)
	target.Revision.Generation, target.Rollout = 2, rollout.Policy{Strategy: rollout.Drain, EveryEdit: true}
	require.NoError(t, w.Track(target))
	j := s.all(t)[0]
	s.change(t, &j, active) // not shown
	result, err := w.poll(0)
	require.NoError(t, err)
	require.Zero(t, result)
	require.Len(t, s.all(t), 1)
	w.catchUp(t) // with an active pod that the cache of pods does not show
	require.Empty(t, w.Plan(ownerUID, items(0), noon).Delete)
	w.showPod(podOf(&j, corev1.PodPending))
	result, err = w.poll(0)
	require.NoError(t, err)
	require.Equal(t, Result{Outdated: 1}, result)
}

// Finished Jobs go by history, whatever the rollout, in the background.
func TestHistory(t *testing.T) {
	s, target := newServer(), newTarget()
	target.History = history.Policy{Succeeded: history.Keep(1), Failed: history.Keep(0)}
	target.Policy.Paused = true
	w := newWriter(t, s, target, Options{})
	for n := range int64(4) {
		kind := batchv1.JobComplete
		if n == 3 {
			kind = batchv1.JobFailed
		}
		w.show(jobOf(target, n+1, having(kind), func(j *batchv1.Job) { j.Status.CompletionTime = new(metav1.NewTime(noon.Add(-time.Duration(n)))) }))
	}
	plan := w.Plan(ownerUID, nil, noon)
	var names []string
	for _, d := range plan.Delete {
		names = append(names, d.Name)
		require.Equal(t, rollout.Background, d.Propagation)
		require.Equal(t, HistoryLimit, d.Reason)
	}
	require.Equal(t, []string{target.NewJob(3).Name, target.NewJob(2).Name, target.NewJob(4).Name}, names)
}

// A time to live is the tracker's to carry out: no Job has it, and finished Jobs are deleted at
// their age, under the gates of pruning. Jobs of others that have one are counted.
func TestTimeToLive(t *testing.T) {
	s, target := newServer(), newTarget()
	target.Job.Spec.TTLSecondsAfterFinished = new(int32(100))
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(2)
	require.NoError(t, err)
	all := s.all(t)
	require.Len(t, all, 2)
	require.Nil(t, all[0].Spec.TTLSecondsAfterFinished)
	require.NotNil(t, target.Job.Spec.TTLSecondsAfterFinished, "no memory is shared")
	s.change(t, &all[0], complete) // at noon
	w.catchUp(t)
	w.clock = noon.Add(100*time.Second - 1)
	plan := w.Plan(ownerUID, items(0), w.clock)
	require.Empty(t, plan.Delete)
	require.True(t, plan.NextCheck.Equal(noon.Add(100*time.Second)), plan.NextCheck)
	forever := newTarget()
	require.NoError(t, w.Track(forever))
	require.Zero(t, w.Plan(ownerUID, items(0), w.clock).NextCheck, "no age any more")
	require.NoError(t, w.Track(target))
	require.Empty(t, w.Plan(ownerUID, items(0), w.clock).Delete, "known already")
	w.clock = noon.Add(100 * time.Second)
	result, err := w.poll(0)
	require.NoError(t, err)
	require.Equal(t, Result{Pruned: 1}, result)
	w.catchUp(t)
	require.Empty(t, w.Plan(ownerUID, items(0), w.clock.Add(time.Hour)).Delete)

	w.show(jobOf(target, 7, func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(9)) }))
	plan = w.Plan(ownerUID, items(0), w.clock)
	require.Equal(t, int32(1), plan.Expiring)
	require.Contains(t, plan.String(), "1 Job with ttlSecondsAfterFinished")
}

// A Job that the API server has agreed to delete is terminating, and a finished one
// is waited for.
func TestDeleted(t *testing.T) {
	target := newTarget()
	w := newWriter(t, newServer(), target, Options{})
	o := w.owners[ownerUID]
	running, done := jobOf(target, 1, ready), jobOf(target, 2, complete)
	w.show(running)
	w.show(done)
	w.clock = noon.Add(late)
	_, err := w.Apply(t.Context(), w.server, Plan{Owner: ownerUID, Delete: []Deletion{{UID: running.UID}, {UID: done.UID, Reason: HistoryLimit}}})
	require.NoError(t, err)
	for range 2 {
		counts, _ := w.Counts(ownerUID, noon)
		require.Equal(t, scaling.JobCounts{Terminating: 1}, counts)
		require.True(t, o.held(slots.DeletePending))
		w.show(jobOf(target, 1, ready)) // an event from before
	}
	w.show(jobOf(target, 2, complete, deleting))
	require.False(t, o.held(slots.DeletePending))
	w.gone(running)
	counts, _ := w.Counts(ownerUID, noon)
	require.Zero(t, counts)
}

// A delete of a finished Job that was not answered is asked for.
func TestUnansweredPrune(t *testing.T) {
	for name, deleted := range map[string]bool{"not deleted": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			s, target := newServer(), newTarget()
			target.History.Succeeded = history.Keep(0)
			w := newWriter(t, s, target, Options{})
			_, err := w.poll(1)
			require.NoError(t, err)
			j := s.all(t)[0]
			s.change(t, &j, complete)
			w.catchUp(t)
			lost := func(verb, _ string) error {
				if verb == "delete" {
					return errors.New("no answer")
				}
				return nil
			}
			if s.before = lost; deleted {
				s.before, s.after = nil, lost
			}
			deletes, gets := s.Requests("delete", "jobs"), s.Requests("get", "jobs")
			w.clock = noon.Add(late)
			_, err = w.poll(0)
			require.ErrorContains(t, err, "no answer")
			s.before, s.after = nil, nil
			require.Zero(t, w.Plan(ownerUID, items(3), w.clock).Create)
			w.clock = w.clock.Add(late)
			_, err = w.poll(0)
			require.NoError(t, err)
			require.Equal(t, deletes+1, s.Requests("delete", "jobs"), "it was asked for, and not deleted again")
			require.Equal(t, gets+1, s.Requests("get", "jobs"))
			w.catchUp(t)
			require.Equal(t, int64(3), w.Plan(ownerUID, items(3), w.clock).Create)
			w.clock = w.clock.Add(20 * late)
			_, err = w.poll(0)
			require.NoError(t, err)
			require.Empty(t, s.all(t))
			w.catchUp(t)
			require.Equal(t, int64(3), w.Plan(ownerUID, items(3), w.clock).Create)
		})
	}
}
