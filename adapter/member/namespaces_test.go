package member_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A member with permissions in named namespaces only is read there: each namespace is listed and
// watched, and a list is complete with the last of them.
func TestNamespaces(t *testing.T) {
	for _, serves := range [][]string{{}, {"shop"}, {"other", "shop"}, {"shop", "other", "third"}} {
		t.Run(fmt.Sprint(len(serves)), func(t *testing.T) {
			w := newFixture(t, quick)
			w.sites["a"] = newSite("a")
			everywhere := func(a ktesting.Action) (bool, runtime.Object, error) {
				of := a.(ktesting.ListAction).GetListRestrictions().Labels // the test's own lists have none
				return a.GetNamespace() == "" && len(serves) > 0 && !of.Empty(), nil, errors.New("forbidden in the cluster")
			}
			w.sites["a"].PrependReactor("list", "jobs", everywhere)
			w.sites["a"].PrependReactor("list", "pods", everywhere)
			o := member.Options{Namespaces: serves, Pods: true}
			w.add("a", o)
			w.ready()
			w.demand = 7
			noErrors(t, w.poll())
			w.shown(7)
			require.Len(t, w.jobs("a"), 7)
			w.change("a", runs)
			require.NoError(t, w.sites["a"].Clientset.BatchV1().Jobs("shop").Delete(t.Context(), w.jobs("a")[0].Name, metav1.DeleteOptions{}))
			w.shown(6)
			w.all.Untrack(owner)
			require.NoError(t, w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides)[0].Err)
			require.Empty(t, w.jobs("a"), "deletion reads each namespace, too")
		})
	}
}

// A member is never reached for an owner whose namespace it does not serve, and the others have his
// Jobs; once it serves the namespace, it has its share.
func TestNamespaceIsNotServed(t *testing.T) {
	w := newFixture(t, quick, "a", "b")
	o := quick
	o.Namespaces = []string{"mail", "web"}
	w.add("a", o)
	w.eventually("b is known", func() bool { return w.observe()["b"].Reach == jobs.Reachable })
	require.Equal(t, jobs.NeverReached, w.observe()["a"].Reach)
	o.Namespaces = []string{"mail", "shop"}
	w.add("a", o)
	w.ready()
}

// A namespace in which the hub may not list Jobs concerns its owners only: the others create and
// delete there, also if it is refused from the start, and if it is the first of all.
func TestForbiddenNamespace(t *testing.T) {
	for _, before := range []bool{false, true} {
		w := newFixture(t, member.Options{}, "b")
		w.sites["a"] = newSite("a")
		var forbidden, failing atomic.Bool
		forbidden.Store(before)
		var breaks atomic.Pointer[func()] // ends the present watch
		of := func(a ktesting.Action) (bool, error) {
			if failing.Load() {
				return a.GetNamespace() == "mail", errors.New("connection reset")
			}
			return forbidden.Load() && a.GetNamespace() == "mail", errForbidden
		}
		w.sites["a"].PrependReactor("list", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
			fails, err := of(a)
			return fails && !a.(ktesting.ListAction).GetListRestrictions().Labels.Empty(), nil, err
		})
		w.sites["a"].PrependWatchReactor("jobs", func(a ktesting.Action) (bool, watch.Interface, error) {
			if fails, err := of(a); fails {
				return true, nil, err
			}
			there, err := w.sites["a"].Tracker().Watch(batchv1.SchemeGroupVersion.WithResource("jobs"), a.GetNamespace())
			if a.GetNamespace() == "mail" && err == nil {
				breaks.Store(new(there.Stop))
			}
			return true, there, err
		})
		w.add("a", member.Options{Namespaces: []string{"mail", "shop"}, Interval: 50 * time.Millisecond})
		other := anOwner("6f1f3d3e-0000-4000-8000-000000000002")
		other.Owner.Namespace, other.Owner.Name = "mail", "mailer"
		require.NoError(t, w.all.Track(other, nil))
		of2 := func() (jobs.Cluster, error) {
			seen := w.all.Observe(other.Owner.UID)
			return seen.Clusters[0], seen.Problems["a"]
		}
		if !before {
			w.ready()
			w.eventually("the other owner's Jobs are known", func() bool { c, _ := of2(); return c.Reach == jobs.Reachable })
			seen := w.all.Observe(other.Owner.UID)
			noErrors(t, w.all.Apply(t.Context(), seen, jobs.Decision{Create: []jobs.Placement{{Cluster: "a", Additional: 2}}}))
			w.eventually("a watch of mail", func() bool { c, _ := of2(); return len(c.Jobs) == 2 && breaks.Load() != nil })
			failing.Store(true) // as while the member's API server starts
			(*breaks.Load())()
			w.eventually("the member failed", func() bool { return len(w.all.Problems()) > 0 })
			forbidden.Store(true)
			failing.Store(false)
		}
		w.eventually("mail is refused", func() bool { c, err := of2(); return c.Reach != jobs.Reachable && apierrors.IsForbidden(err) })
		c, err := of2()
		require.ErrorContains(t, err, "watch of Jobs in mail: ")
		require.False(t, c.Since.IsZero(), "it is not the hub that is cut off")
		require.NoError(t, w.all.CutOff())
		if before {
			require.Equal(t, jobs.NeverReached, c.Reach)
		} else {
			require.Equal(t, jobs.Unreachable, c.Reach)
			require.Len(t, c.Jobs, 2, "as last observed")
		}
		w.ready()
		require.Empty(t, w.all.Problems())
		w.demand = 4
		noErrors(t, w.poll())
		w.shown(4)
		require.Equal(t, jobs.Reachable, w.observe()["a"].Reach)
		w.all.Untrack(owner)
		for _, c := range w.all.DeleteJobs(t.Context(), w.target.Owner, nil) {
			require.NoError(t, c.Err, "the owner has nothing in mail")
		}
		require.Len(t, w.jobs("a"), map[bool]int{true: 0, false: 2}[before])
		require.ErrorContains(t, w.all.DeleteJobs(t.Context(), other.Owner, nil)[0].Err, "forbidden")
		elsewhere := other.Owner
		elsewhere.Namespace = "shop" // he was edited
		require.Equal(t, !before, w.all.DeleteJobs(t.Context(), elsewhere, nil)[0].Err != nil, "he had Jobs in mail when it was last read")
		forbidden.Store(false)
		w.eventually("mail is read again", func() bool { c, err := of2(); return c.Reach == jobs.Reachable && err == nil })
	}
}

// The UID of the first contact is stored, so that a restart does not forget it. While it cannot
// be stored the member is unreachable.
func TestFirstContactIsStored(t *testing.T) {
	var stored string
	for _, run := range []struct {
		uid, want string
		problem   error
	}{
		{"", "", nil}, // it does not show one
		{"one", "the UID of the first contact: the hub is away", errors.New("the hub is away")},
		{"one", "", nil},
		{"two", `has UID "two", and the first contact has "one"`, nil},
		{"", `namespaces "kube-system" not found`, nil},
		{"", "the UID of the first contact: the hub is away", errors.New("the hub is away")},
		{"one", "", nil},
	} {
		w := newFixture(t, quick) // a process that has just started
		w.sites["a"] = newSite("a")
		if run.uid != "" {
			w.sites["a"].identify(t, types.UID(run.uid))
		}
		o := quick
		o.FirstContact = func(_ context.Context, uid string) (string, error) {
			if run.problem == nil {
				stored = cmp.Or(stored, uid)
			}
			return stored, run.problem
		}
		err := w.member("a", o).Probe(t.Context())
		if run.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, run.want)
		}
	}
}
