package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter/internal/build"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A dispatcher is a writer of a keyed owner whose term is older than L.
func newDispatcher(t require.TestingT, s *server, most int64) *writer {
	target := newTarget()
	target.Keyed, target.History = true, keepNone
	target.Policy.Bounds.Max = most
	target.Job.Spec.Template.Spec.ServiceAccountName = "runner"
	target.Job.Labels = map[string]string{"scaledjob.github.io/pool": "linux", "team": "ci"}
	target.Job.Spec.Template.Labels = target.Job.Labels
	w := newWriter(t, s, target, Options{})
	w.clock = noon.Add(late)
	w.catchUp(t)
	return w
}

// dispatch polls with items that the source lists now.
func (w *writer) dispatch(list ...Item) (Result, error) {
	return w.Apply(context.Background(), w.server, w.planItems(list...))
}

// planItems plans with items that the source lists now.
func (w *writer) planItems(list ...Item) Plan {
	return w.PlanItems(ownerUID, w.clock, func() ([]Item, int64, error) { return list, 0, nil })
}

func keys(names ...string) (list []Item) {
	for _, name := range names {
		list = append(list, Item{Key: name})
	}
	return list
}

// An item with a key that is longer than the tracker keeps gets one Job, which has the key. The hash that the
// tracker keeps instead is another key.
func TestLongKey(t *testing.T) {
	s := newServer()
	list := keys(fmt.Sprintf("%02000d", 1), fmt.Sprintf("%02000d", 2))
	list = append(list, Item{Key: build.Key(list[0].Key)})
	w := newDispatcher(t, s, 5)
	result, err := w.dispatch(list...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 3}, result)
	w.catchUp(t)
	var made []Item
	for _, j := range s.all(t) {
		made = append(made, Item{Key: j.Annotations[AnnotationKey]})
	}
	require.ElementsMatch(t, list, made)
	result, err = w.dispatch(list...)
	require.NoError(t, err)
	require.Zero(t, result)
}

// Each item gets a Job of its own, in the order of the source, up to the maximum.
func TestItems(t *testing.T) {
	s := newServer()
	w := newDispatcher(t, s, 2)
	result, err := w.dispatch(keys("a/1", "b/2", "c/3")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 2}, result)
	w.catchUp(t)
	byKey := map[string]batchv1.Job{}
	for _, j := range s.all(t) {
		byKey[j.Annotations[AnnotationKey]] = j
	}
	require.Contains(t, byKey, "a/1")
	require.Contains(t, byKey, "b/2")
	require.Len(t, byKey["a/1"].Name, len("orders-")+32)
	result, err = w.dispatch(keys("a/1", "b/2", "c/3")...)
	require.NoError(t, err)
	require.Zero(t, result)

	a := byKey["a/1"]
	s.change(t, &a, complete)
	w.catchUp(t)
	result, err = w.dispatch(keys("a/1", "b/2", "c/3")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result, "a finished item that stays listed is not run again, and keeps its Job")
	w.catchUp(t)
	plan := w.planItems(keys("a/1", "b/2", "c/3")...)
	require.Contains(t, plan.String(), `held      stillThere: 1 items stay listed though their objects have finished or are not ours, such as "a/1"`)
	require.NotContains(t, new(w.planItems(keys("b/2", "c/3")...)).String(), "stillThere", "it is no longer listed")
	require.NotContains(t, new(w.planItems(Item{Key: "a/1", Attempt: 1})).String(), "stillThere", "its attempt is raised")
	require.Contains(t, new(newDispatcher(t, s, 2).planItems(keys("a/1")...)).String(), "stillThere", "in the first poll of a process")
	result, err = w.dispatch(keys("b/2", "c/3")...)
	require.NoError(t, err)
	require.Equal(t, Result{Pruned: 1}, result, "a list that began after the end was shown lacks the item")
}

// An item whose Job has failed runs again, as often as Retries allows. One that succeeded does not.
func TestRetries(t *testing.T) {
	s := newServer()
	w, target := newDispatcher(t, s, 5), newTarget()
	target.Keyed, target.Retries, target.Policy.Bounds.Max = true, 2, 5
	require.NoError(t, w.Track(target))
	end := func(is batchv1.JobConditionType) {
		w.catchUp(t)
		for _, j := range s.all(t) {
			s.change(t, &j, func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: is, Status: corev1.ConditionTrue}}
			})
		}
	}
	for attempt := range 3 {
		result, err := w.dispatch(keys("a")...)
		require.NoError(t, err)
		require.Equal(t, Result{Created: 1}, result)
		result, err = w.Apply(t.Context(), s, w.PlanItems(ownerUID, w.clock, func() ([]Item, int64, error) {
			end(batchv1.JobFailed)
			w.catchUp(t)
			return keys("a"), 0, nil
		}))
		require.NoError(t, err)
		require.Zero(t, result, "the list began before the end was shown")
		require.Len(t, s.all(t), attempt+1)
	}
	result, err := w.dispatch(keys("a", "b")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result, "of b")
	require.Contains(t, new(w.planItems(keys("a", "b")...)).String(), `stillThere: 1 items stay listed though their objects have finished or are not ours, such as "a"`)
	end(batchv1.JobComplete)
	w.catchUp(t)
	result, err = w.dispatch(keys("a", "b")...)
	require.NoError(t, err)
	require.Zero(t, result)

	target.Keyed = false
	require.ErrorContains(t, target.Validate(), "Retries: found 2")
}

// Before L of the term has passed, without a list, and from a list that began before the
// read, nothing is created.
func TestItemsWait(t *testing.T) {
	s, target := newServer(), newTarget()
	target.Keyed = true
	w := newWriter(t, s, target, Options{})
	result, err := w.dispatch(keys("a")...)
	require.NoError(t, err)
	require.Zero(t, result)
	require.Contains(t, new(w.planItems(keys("a")...)).String(), "newTerm")
	w.clock = noon.Add(late)
	for _, failed := range []error{nil, errors.New("a part is missing")} {
		result, err = w.Apply(t.Context(), s, w.PlanItems(ownerUID, w.clock, func() ([]Item, int64, error) {
			w.catchUp(t)
			return keys("a"), 0, failed
		}))
		require.NoError(t, err)
		require.Zero(t, result)
	}
	result, err = w.dispatch(keys("a")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
}

// An item's template, patch and labels cannot change what ownership needs.
func TestItemsKeepOwnership(t *testing.T) {
	s := newServer()
	w := newDispatcher(t, s, 5)
	item := Item{
		Key: "a", Labels: map[string]string{LabelOwner: "another", hub.LabelHome: "another", "scaledjob.github.io/pool": "x", "ci": "yes"},
		Template: &batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Namespace: "mail", OwnerReferences: []metav1.OwnerReference{{UID: "another"}}},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				ServiceAccountName: "admin", Containers: []corev1.Container{{Name: "build", Image: "golang"}},
			}}},
		},
		Patch: []byte(`{"metadata": {"namespace": "mail", "name": "x", "annotations": {"scaledjob.github.io/key": "b"}},
			"spec": {"template": {"spec": {"serviceAccountName": "admin", "containers": [{"name": "build", "image": "golang:1.26"}]}}}}`),
	}
	result, err := w.dispatch(item)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
	j := s.all(t)[0]
	require.Equal(t, "shop", j.Namespace)
	require.Equal(t, ownerUID, j.OwnerReferences[0].UID)
	require.Len(t, j.OwnerReferences, 1)
	require.Equal(t, "a", j.Annotations[AnnotationKey])
	require.Equal(t, "runner", j.Spec.Template.Spec.ServiceAccountName)
	require.Equal(t, "golang:1.26", j.Spec.Template.Spec.Containers[0].Image)
	require.Equal(t, map[string]string{"ci": "yes", "scaledjob.github.io/pool": "linux"}, j.Spec.Template.Labels)
	require.Equal(t, map[string]string{"ci": "yes", "scaledjob.github.io/pool": "linux", LabelOwner: string(ownerUID)}, j.Labels)

	for i, patch := range []string{"{", "[]", `{"spec": 1}`, `{"spec": {"template": {"spec": {"containers": [{"name": []}]}}}}`, `{"spec": {"template": {"spec": {"$retainKeys": [{}]}}}}`} {
		_, err = w.dispatch(Item{Key: fmt.Sprint(i), Patch: []byte(patch)})
		require.ErrorContains(t, err, fmt.Sprintf("item %q: Patch", fmt.Sprint(i)))
	}
}

// An item's Job has the ServiceAccount of the prototype, also if that is in the field's old name.
func TestOldServiceAccount(t *testing.T) {
	for name, want := range map[string]string{"": "old", "new": "new"} {
		target := newTarget()
		pod := &target.Job.Spec.Template.Spec
		pod.ServiceAccountName, pod.DeprecatedServiceAccount = name, "old"
		job, err := target.tracked(hub.Place{}).jobs.Job(slots.Slot{Key: "a"}, &build.Item{Key: "a"}, nil)
		require.NoError(t, err)
		require.Equal(t, want, job.Spec.Template.Spec.ServiceAccountName)
		require.Empty(t, job.Spec.Template.Spec.DeprecatedServiceAccount)
	}
}

// An item whose Job the tracker would not see gets none: the maximum would not count it.
func TestItemsAreSelected(t *testing.T) {
	for name, item := range map[string]Item{
		"Labels":   {Labels: map[string]string{"app": "other"}},
		"Patch":    {Patch: []byte(`{"metadata": {"labels": {"app": null}}}`)},
		"Template": {Template: &batchv1.JobTemplateSpec{Spec: newTarget().Job.Spec}},
	} {
		s, target := newServer(), newTarget()
		target.Keyed, target.Job.Labels = true, map[string]string{"app": "ci"}
		w := newWriter(t, s, target, Options{Selector: "app=ci"})
		w.clock = noon.Add(late)
		w.catchUp(t)
		item.Key = "a"
		result, err := w.dispatch(append(keys("b"), item)...)
		require.ErrorContains(t, err, `item "a": the tracker does not select its labels: use app=ci`, name)
		require.Equal(t, Result{Created: 1}, result, name)
	}
}

// A key that JSON cannot hold is none: the Job would have another key.
func TestKeyIsText(t *testing.T) {
	w := newDispatcher(t, newServer(), 5)
	result, err := w.dispatch(keys("\xff", strings.Repeat("\xfe", 2000), "\x00é")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
	require.Contains(t, new(w.planItems(keys("\xff")...)).String(), "repeated: 1 items have no key or repeat one")
}

// A Job that the owner had before, under any name, is adopted by the annotation of its key.
func TestAdopted(t *testing.T) {
	s := newServer()
	made := newTarget()
	old := made.NewJob(1)
	old.Name, old.Annotations[AnnotationKey] = "by-hand", "a"
	_, err := s.BatchV1().Jobs("shop").Create(t.Context(), old, metav1.CreateOptions{})
	require.NoError(t, err)
	w := newDispatcher(t, s, 5)
	result, err := w.dispatch(keys("a", "b")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
}

// A Job with the name of an item's Job and another key, such as after an edit by hand, is not the
// item's: the whole key is compared.
func TestKeyIsCompared(t *testing.T) {
	s := newServer()
	w := newDispatcher(t, s, 5)
	_, err := w.dispatch(keys("a")...)
	require.NoError(t, err)
	j := s.all(t)[0]
	s.change(t, &j, func(j *batchv1.Job) { j.Annotations[AnnotationKey] = "x" })
	w = newDispatcher(t, s, 5)
	result, err := w.dispatch(keys("a", "b")...)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result, "of b")
	require.Contains(t, new(w.planItems(keys("a", "b")...)).String(), `stillThere: 1 items stay listed though their objects have finished or are not ours, such as "a"`)
}

// Whatever is lost, late, refused or restarted, no item gets two Jobs, no more than the
// maximum run, and each item is served in the end.
func propItems(t *rapid.T, c *premise.Counts) {
	s, most := newServer(), rapid.Int64Range(1, 3).Draw(t, "maximum")
	w := newDispatcher(t, s, most)
	source, made := []string{"a", "b", "c", "d"}, map[string]int{}
	lost, restarted := false, false
	check := func() {
		require.LessOrEqual(t, s.unfinished(t), most)
		for _, j := range s.all(t) {
			if key := j.Annotations[AnnotationKey]; made[string(j.UID)] == 0 {
				made[string(j.UID)]++
				made[key]++
				require.Equal(t, 1, made[key], key)
			}
		}
	}
	finish := func(i int) {
		all := s.all(t)
		if len(all) == 0 {
			return
		}
		if j := &all[i%len(all)]; end(j) == Running {
			s.change(t, j, complete)
			for n, key := range source {
				if key == j.Annotations[AnnotationKey] {
					source = append(source[:n:n], source[n+1:]...)
					break
				}
			}
		}
	}
	poll := func() {
		_, _ = w.dispatch(keys(source...)...)
		check()
	}
	for range rapid.IntRange(5, 25).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"poll", "poll", "finish", "show", "fail", "later", "restart", "stale"}).Draw(t, "step") {
		case "poll":
			poll()
		case "finish":
			finish(rapid.IntRange(0, 5).Draw(t, "Job"))
		case "show":
			w.catchUp(t)
		case "fail":
			rest, after := rapid.IntRange(0, 3).Draw(t, "rest"), rapid.Bool().Draw(t, "after")
			fails := func(verb, name string) error {
				if (verb == "create" || verb == "delete") && int(name[len(name)-1])%3 == rest {
					lost = true
					return errors.New("no answer")
				}
				return nil
			}
			if s.before, s.after = fails, nil; after {
				s.before, s.after = nil, fails
			}
		case "later":
			w.clock = w.clock.Add(late)
		case "restart":
			restarted = true
			w = newDispatcher(t, s, most)
		case "stale": // an answer to a request of before is not used
			_, _ = w.Apply(context.Background(), s, w.PlanItems(ownerUID, w.clock, func() ([]Item, int64, error) {
				old := keys(source...)
				finish(0)
				w.catchUp(t)
				poll()
				return old, 0, nil
			}))
			check()
		}
	}
	s.before, s.after = nil, nil
	for i := 0; len(source) > 0; i++ {
		require.Less(t, i, 60, "%v are never served", source)
		w.clock = w.clock.Add(late)
		poll()
		w.catchUp(t)
		finish(i)
	}
	c.Note("lost", lost)
	c.Note("restarted", restarted)
}

func TestItemsOnce(t *testing.T) {
	premise.CheckN(t, 100, propItems, premise.Least{"lost": 0.1, "restarted": 0.1})
}

// Whatever part of the DELETEs fails, as many Jobs are created as without failures, but for
// a twentieth.
func TestFailingDeletes(t *testing.T) {
	created := map[int]int{}
	for _, percent := range []int{0, 1, 5, 20, 100} {
		s, target := newServer(), newTarget()
		target.History, target.Policy.Bounds.Max = keepNone, 5
		w := newWriter(t, s, target, Options{})
		n := 0
		s.before = func(verb, _ string) error {
			if verb == "delete" {
				if n++; n*percent/100 > (n-1)*percent/100 {
					return errors.New("the webhook is down")
				}
			}
			return nil
		}
		for range 360 { // an hour of 10 s
			w.clock = w.clock.Add(10 * time.Second)
			s.clock = w.clock
			result, _ := w.poll(1)
			created[percent] += int(result.Created)
			for _, j := range s.all(t) {
				if end(&j) == Running {
					s.change(t, &j, complete)
				}
			}
			w.catchUp(t)
		}
	}
	t.Log("Jobs created by the percentage of DELETEs that fail:", fmt.Sprint(created))
	for percent, n := range created {
		require.GreaterOrEqual(t, n, created[0]*95/100, percent)
	}
}

// The plan names why the source could not be read.
func TestUnreadSource(t *testing.T) {
	w := newDispatcher(t, newServer(), 2)
	plan := w.PlanItems(ownerUID, w.clock, func() ([]Item, int64, error) { return nil, 0, errors.New("no route to the\nqueue") })
	require.Contains(t, plan.String(), "noList: the items could not be listed: no route to the queue")
}
