package member_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// Jobs of an owner that does not exist any more are orphans: they are counted, listed, and
// deleted only by Delete. An owner that appears while the Jobs are listed has none, and without
// a read of the hub cluster there are none.
func TestOrphans(t *testing.T) {
	o := member.Options{Key: []byte("the hub's")}
	w := newFixture(t, o, "a").ready()
	w.demand = 3
	noErrors(t, w.poll())
	w.shown(3)
	w.forge("a", w.jobs("a")[0], func(j *batchv1.Job) { j.Name, j.Labels[adapter.LabelOwner] = "forged", "gone" })
	w.all.Untrack(owner)
	require.Equal(t, map[string][]member.Owned{"a": {{Owner: owner, Namespace: "shop", Jobs: 3}}}, w.all.Owners())
	c := w.member("a", o)
	exist := func(uids ...types.UID) func(context.Context) (map[types.UID]bool, error) {
		return func(context.Context) (map[types.UID]bool, error) {
			all := map[types.UID]bool{}
			for _, uid := range uids {
				all[uid] = true
			}
			return all, nil
		}
	}
	found, err := c.Orphans(t.Context(), exist("another", owner))
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = c.Orphans(t.Context(), func(context.Context) (map[types.UID]bool, error) { return nil, errors.New("forbidden") })
	require.ErrorContains(t, err, "forbidden")
	found, err = c.Orphans(t.Context(), exist("another"))
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Len(t, w.jobs("a"), 4)
	require.NoError(t, c.Delete(t.Context(), found))
	require.Len(t, w.jobs("a"), 1, "and not the forged one")
	w.eventually("none is left", func() bool { return len(w.all.Owners()["a"]) == 0 })
}

// However many pages the orphans have, and however long their deletion takes, each request has a
// deadline of its own.
func TestManyOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow)
		w.sites["a"] = newSite("a")
		c := w.member("a", slow)
		var pages atomic.Int64
		w.sites["a"].PrependReactor("list", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
			time.Sleep(slow.Timeout / 2)
			page := &batchv1.JobList{}
			for i := range 20 {
				page.Items = append(page.Items, batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(pages.Load(), i), Labels: map[string]string{member.LabelHome: home}}})
			}
			if pages.Add(1) < 30 {
				page.Continue = "more"
			}
			return true, page, nil
		})
		found, err := c.Orphans(t.Context(), func(context.Context) (map[types.UID]bool, error) { return nil, nil })
		require.NoError(t, err)
		require.Len(t, found, 600)
		var deleted atomic.Int64
		w.sites["a"].breaks(on("delete", func(func() error) error { deleted.Add(1); time.Sleep(slow.Timeout / 2); return nil }))
		require.NoError(t, c.Delete(t.Context(), found))
		require.EqualValues(t, 600, deleted.Load())
	})
}

// The orphans of a namespace that cannot be read hide none of another.
func TestOrphansOfOthers(t *testing.T) {
	o := member.Options{Namespaces: []string{"mail", "shop"}}
	w := newFixture(t, o)
	w.sites["a"] = newSite("a")
	w.sites["a"].PrependReactor("list", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() == "mail" {
			return true, nil, errors.New("too large")
		}
		return true, &batchv1.JobList{Items: []batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Labels: map[string]string{member.LabelHome: home}}}}}, nil
	})
	found, err := w.member("a", o).Orphans(t.Context(), func(context.Context) (map[types.UID]bool, error) { return nil, nil })
	require.ErrorContains(t, err, `namespace "mail": list Jobs: too large`)
	require.Len(t, found, 1)
}

// The causes of pending Jobs are those of their pods, and of their own events if they have none.
func TestCauses(t *testing.T) {
	w := newFixture(t, member.Options{})
	var forbidden atomic.Bool
	attempts := map[string][]corev1.Event{} // by Job
	for _, name := range []string{"a", "b"} {
		s := newSite(name)
		s.PrependReactor("list", "events", func(a ktesting.Action) (bool, runtime.Object, error) {
			of, exact := a.(ktesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("involvedObject.name")
			if forbidden.Load() || !exact {
				return true, &corev1.EventList{Items: []corev1.Event{{Message: "a page of events of others"}}}, map[bool]error{true: errForbidden}[forbidden.Load()]
			}
			return true, &corev1.EventList{Items: attempts[of]}, nil
		})
		w.sites[name] = s
		w.add(name, member.Options{})
	}
	w.ready()
	w.demand = 4
	noErrors(t, w.poll())
	w.shown(4)
	w.plan()
	name := func(on string, i int) string { return w.jobs(on)[i].Name }
	for i, status := range []corev1.PodStatus{
		{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}},
		{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name("a", i), Labels: map[string]string{batchv1.JobNameLabel: name("a", i)}}, Status: status}
		_, err := w.sites["a"].CoreV1().Pods("shop").Create(t.Context(), p, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	ended := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name("b", 0), Labels: map[string]string{batchv1.JobNameLabel: name("b", 0)}}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	_, err := w.sites["b"].CoreV1().Pods("shop").Create(t.Context(), ended, metav1.CreateOptions{}) // the next is rejected
	require.NoError(t, err)
	quota := `Error creating: pods "x-%d" is forbidden: exceeded quota: pods`
	for i, message := range []string{quota, quota, quota, "an older reason"} { // each attempt for a Job has an event
		e := corev1.Event{Message: strings.ReplaceAll(message, "%d", fmt.Sprint(i)), LastTimestamp: metav1.NewTime(time.Unix(int64(1000-i), 0))}
		attempts[name("b", i%2)] = append(attempts[name("b", i%2)], e)
	}
	attempts[name("a", 0)] = []corev1.Event{{Message: "of before it had a pod"}}
	require.Equal(t, map[string]string{
		"a": "1 ImagePullBackOff: no such image; 1 Unschedulable: 0/3 nodes", "b": "2 without a pod: exceeded quota: pods",
	}, w.all.Causes(t.Context(), w.seen, []string{"a", "b", "c"}))
	forbidden.Store(true)
	require.Equal(t, map[string]string{"b": "2 without a known cause: the hub may not list events there"}, w.all.Causes(t.Context(), w.seen, []string{"b"}))
	require.Empty(t, w.observe()["b"].Failures, "a cause that cannot be read is no failure of the owner")
}

// A silent API server does not answer lists of pods.
type silent struct{ *site }

func (s silent) CoreV1() coreclient.CoreV1Interface { return silentCore{s.site.CoreV1()} }

type silentCore struct{ coreclient.CoreV1Interface }

func (c silentCore) Pods(n string) coreclient.PodInterface {
	return silentPods{c.CoreV1Interface.Pods(n)}
}

type silentPods struct{ coreclient.PodInterface }

func (silentPods) List(ctx context.Context, _ metav1.ListOptions) (*corev1.PodList, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// However long a request may take, the causes of all members take Options.Deadline at most.
func TestSlowCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow)
		w.sites["a"] = newSite("a")
		c, err := member.New("a", both(silent{w.sites["a"]}), member.Options{Terms: requests.OneShot(), Home: home, Timeout: time.Minute})
		require.NoError(t, err)
		require.NoError(t, w.all.Add(t.Context(), c))
		w.ready()
		w.demand = 6
		noErrors(t, w.poll())
		w.shown(6)
		w.plan()
		begin := time.Now()
		require.Empty(t, w.all.Causes(t.Context(), w.seen, []string{"a"}))
		require.LessOrEqual(t, time.Since(begin), 10*time.Second)
		w.all.Remove("a")
	})
}

// With 3 s of latency to a member a poll takes as long as Patience allows, other members get
// their Jobs at once, and the slow one its own with the following polls, never too many.
func TestSlowMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow)
		w.all.Patience = time.Second
		w.policy.Scaling.Bounds.Max = 40
		for _, name := range []string{"a", "b"} {
			w.sites[name] = newSite(name)
			w.add(name, slow)
		}
		w.ready()
		w.sites["a"].breaks(on("create", func(send func() error) error { time.Sleep(3 * time.Second); return send() }))
		w.demand = 40
		begin := time.Now()
		for poll := range 12 {
			sent := time.Now()
			reports := w.poll()
			require.LessOrEqual(t, time.Since(sent), time.Second)
			noErrors(t, reports)
			if poll == 0 {
				require.Len(t, w.jobs("b"), 20)
			}
			time.Sleep(4 * time.Second)
			require.LessOrEqual(t, len(w.jobs("a"))+len(w.jobs("b")), 40)
		}
		require.Len(t, append(w.jobs("a"), w.jobs("b")...), 40, "after %s", time.Since(begin))
		w.demand = 0
		w.sites["a"].breaks(nil)
		w.poll()
		w.all.Untrack(owner)
		for _, c := range w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides) {
			require.NoError(t, c.Err)
		}
		require.Empty(t, append(w.jobs("a"), w.jobs("b")...))
		w.all.Remove("a")
		w.all.Remove("b")
	})
}
