package adapter_test

import (
	"errors"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/rollout"
)

const remote = types.UID("6f1f3d3e-0000-4000-8000-000000000001")

// elsewhere is a Job of an owner in another cluster.
func elsewhere(j *batchv1.Job) {
	j.OwnerReferences = nil
	j.Labels = map[string]string{adapter.LabelHome: "home", adapter.LabelOwner: string(remote)}
}

// A remoteBench is a tracker of Jobs whose owner is elsewhere, whose cache shows
// nothing until it is told to.
type remoteBench struct {
	*adapter.Tracker
	jobs   *informer
	client *fake.Clientset
}

func newRemoteBench(t *testing.T) *remoteBench {
	b := &remoteBench{jobs: newInformer(), client: fake.NewClientset()}
	var err error
	b.Tracker, err = adapter.Ownership{Home: "home"}.NewTracker(b.jobs, nil)
	require.NoError(t, err)
	require.NoError(t, b.Follow(adapter.Observation{Owner: remote}))
	return b
}

func (b *remoteBench) order(t *testing.T, o adapter.Order) (adapter.Result, error) {
	prototype := job("processor", elsewhere)
	prototype.Namespace, prototype.Annotations = "shop", map[string]string{adapter.AnnotationGeneration: "1"}
	prototype.UID = ""
	o.Owner, o.Prototype, o.Key, o.Now = remote, &prototype, "remote/1/a", noon
	return b.Apply(t.Context(), b.client, b.Order(o))
}

func (b *remoteBench) view(t *testing.T, look func(*adapter.Fleet)) {
	t.Helper()
	require.True(t, b.View(remote, look))
}

func TestOrder(t *testing.T) {
	b := newRemoteBench(t)
	r, err := b.order(t, adapter.Order{Replaces: []placement.Source{{UID: "s", Attempt: 2}}, Fresh: 2})
	require.NoError(t, err)
	require.Equal(t, adapter.Result{Created: 3}, r)
	created := list(t, b.client)
	require.Len(t, created, 3)
	require.Equal(t, "s", created[0].Labels[adapter.LabelSource])
	require.Equal(t, "2", created[0].Labels[adapter.LabelAttempt])
	require.Empty(t, created[1].Labels[adapter.LabelSource])
	b.view(t, func(f *adapter.Fleet) {
		unseen := f.Unseen()
		require.Len(t, unseen, 3)
		require.Equal(t, placement.Source{UID: "s", Attempt: 2}, unseen[0].Replaces)
		require.Zero(t, f.Len())
		require.Empty(t, f.Unsettled(noon))
		require.Len(t, f.Unsettled(noon.Add(time.Minute)), 3)
		j, ok := f.Job(created[1].Name)
		require.True(t, ok)
		require.Equal(t, unseen[1], j)
	})
	for _, j := range created {
		j.UID = types.UID(j.Name)
		b.jobs.put(&j)()
	}
	b.view(t, func(f *adapter.Fleet) {
		require.Empty(t, f.Unseen())
		require.Equal(t, 3, f.Len())
	})
	r, err = b.order(t, adapter.Order{Delete: []adapter.Deletion{
		{Name: created[0].Name, UID: types.UID(created[0].Name), Reason: adapter.Duplicate, Namespace: "shop", Propagation: rollout.Background},
	}})
	require.NoError(t, err)
	require.Equal(t, adapter.Result{Duplicates: 1}, r)
	b.view(t, func(f *adapter.Fleet) {
		j, _ := f.Job(created[0].Name)
		require.Equal(t, adapter.Terminating, j.Phase)
		_, ok := f.Job("none")
		require.False(t, ok)
	})
}

// An order whose creates were not answered holds their room and their numbers,
// until it is told what became of them.
func TestSettle(t *testing.T) {
	b := newRemoteBench(t)
	fail := true
	b.client.PrependReactor("create", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
		return fail, nil, errors.New("connection reset by peer")
	})
	_, err := b.order(t, adapter.Order{Fresh: 1})
	require.Error(t, err)
	fail = false
	_, err = b.order(t, adapter.Order{Fresh: 1})
	require.NoError(t, err)
	require.Equal(t, "2", list(t, b.client)[0].Annotations[adapter.AnnotationSequence])
	b.view(t, func(f *adapter.Fleet) {
		doubtful := f.Unsettled(noon)
		require.Len(t, doubtful, 1)
		require.Empty(t, doubtful[0].UID)
		there := job(doubtful[0].Name, elsewhere)
		there.Annotations[adapter.AnnotationSequence] = "1"
		f.Settle(doubtful[0], &there, noon)
		require.Empty(t, f.Unsettled(noon))
		require.Equal(t, there.UID, f.Unseen()[0].UID)
		f.Settle(doubtful[0], nil, noon)
		require.Len(t, f.Unseen(), 1)
		f.Settle(doubtful[0], &there, noon)
		require.Len(t, f.Unseen(), 1, "it has been settled")
	})
	_, err = b.order(t, adapter.Order{Fresh: 1})
	require.NoError(t, err)
	require.Equal(t, "3", list(t, b.client)[1].Annotations[adapter.AnnotationSequence], "the name is not used again")
}

func TestOwnership(t *testing.T) {
	home := adapter.Ownership{Home: "home"}
	for name, tt := range map[string]struct {
		change     func(*batchv1.Job)
		here, away bool
	}{
		"controlled":      {func(*batchv1.Job) {}, true, false},
		"nobody's":        {orphan, false, false},
		"elsewhere":       {elsewhere, false, true},
		"another home":    {func(j *batchv1.Job) { elsewhere(j); j.Labels[adapter.LabelHome] = "other" }, false, false},
		"no owner":        {func(j *batchv1.Job) { elsewhere(j); delete(j.Labels, adapter.LabelOwner) }, false, false},
		"both controlled": {func(j *batchv1.Job) { c := j.OwnerReferences; elsewhere(j); j.OwnerReferences = c }, true, false},
	} {
		j := job("j", tt.change)
		uid, here := adapter.Controller.Of(&j)
		require.Equal(t, tt.here, here, name)
		require.Equal(t, here, uid == owner, name)
		uid, away := home.Of(&j)
		require.Equal(t, tt.away, away, name)
		if away {
			require.Equal(t, remote, uid)
		}
	}
}

func TestOrderOfJobsThatAreNotKnown(t *testing.T) {
	b := newRemoteBench(t)
	b.jobs.unsynced = true
	r, err := b.order(t, adapter.Order{Fresh: 3, Delete: []adapter.Deletion{{Name: "x"}}})
	require.NoError(t, err)
	require.Zero(t, r)
	require.Empty(t, b.client.Actions())
}

// What an informer keeps is enough to tell owner and source.
func TestStrip(t *testing.T) {
	j := job("j", elsewhere)
	j.Labels[adapter.LabelSource], j.Labels[adapter.LabelAttempt], j.Labels["team"] = "s", "1", "a"
	stripped, err := adapter.Strip(&j)
	require.NoError(t, err)
	kept := stripped.(*batchv1.Job)
	require.Len(t, kept.Labels, 4)
	_, owned := adapter.Ownership{Home: "home"}.Of(kept)
	require.True(t, owned)
	other, err := adapter.Strip(&metav1.Status{})
	require.NoError(t, err)
	require.Equal(t, &metav1.Status{}, other)
}

// What was never connected has not been created.
func TestDialFails(t *testing.T) {
	for _, op := range []string{"dial", "read"} {
		b := newBench(t, 1)
		b.client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, &url.Error{Op: "Post", URL: "https://a", Err: &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNREFUSED}}
		})
		_, err := b.apply(t)
		require.Error(t, err)
		b.poll.Config.Revision.Generation++
		want := map[string]int64{"dial": 0, "read": 1}[op]
		require.Equal(t, want, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
	}
}
