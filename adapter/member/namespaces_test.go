package member_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A member with permissions in named namespaces only is read there: each namespace is listed and
// watched, and a list is complete with the last of them.
func TestNamespaces(t *testing.T) {
	for _, serves := range [][]string{{}, {"shop"}, {"other", "shop"}, {"shop", "other", "third"}} {
		t.Run(fmt.Sprint(len(serves)), func(t *testing.T) {
			w := newWorld(t, quick)
			w.sites["a"] = newSite("a", new(atomic.Int64))
			everywhere := func(a ktesting.Action) (bool, runtime.Object, error) {
				of := a.(ktesting.ListAction).GetListRestrictions().Labels // the test's own lists have none
				return a.GetNamespace() == "" && len(serves) > 0 && !of.Empty(), nil, errors.New("forbidden in the cluster")
			}
			w.sites["a"].PrependReactor("list", "jobs", everywhere)
			w.sites["a"].PrependReactor("list", "pods", everywhere)
			o := quick
			o.Namespaces, o.Pods = serves, true
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
			require.NoError(t, w.all.DeleteJobs(t.Context(), owner)[0].Err)
			require.Empty(t, w.jobs("a"), "deletion reads each namespace, too")
		})
	}
}

// A member is never reached for an owner whose namespace it does not serve, and the others have his
// Jobs; once it serves the namespace, it has its share.
func TestNamespaceIsNotServed(t *testing.T) {
	w := newWorld(t, quick, "a", "b")
	o := quick
	o.Namespaces = []string{"mail", "web"}
	w.add("a", o)
	w.eventually("b is known", func() bool { return w.observe()["b"].Reach == jobs.Reachable })
	require.Equal(t, jobs.NeverReached, w.observe()["a"].Reach)
	o.Namespaces = []string{"mail", "shop"}
	w.add("a", o)
	w.ready()
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
		w := newWorld(t, quick) // a process that has just started
		w.sites["a"] = newSite("a", new(atomic.Int64))
		system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID(run.uid)}}
		if run.uid != "" {
			_, err := w.sites["a"].CoreV1().Namespaces().Create(t.Context(), system, metav1.CreateOptions{})
			require.NoError(t, err)
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
