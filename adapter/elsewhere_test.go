package adapter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/scaling"
)

func elsewhere() (Target, Options) {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "work"}}}
	return Target{
		Owner:  Owner{"example.com/v1", "Queue", "shop", "orders", "uid-1"},
		Job:    &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}},
		Policy: scaling.Policy{Bounds: scaling.Bounds{Max: scaling.NoMax}},
	}, Options{Selector: hub.LabelHome, Timeout: time.Second, hub: hub.Options{Place: hub.Place{Home: "home", Cluster: "a"}, Labels: []string{"id"}}}
}

func inHub(home string) hub.Options { return hub.Options{Place: hub.Place{Home: home}} }

// A labelling is a client that has labels for the next Jobs.
type labelling struct {
	Client
	labels []map[string]string
}

func (l labelling) Hub() hub.Options            { return hub.Options{} }
func (l labelling) Labels() []map[string]string { return l.labels }

// cluster is an API server that gives UIDs.
func cluster(t *testing.T) *fake.Clientset {
	t.Helper()
	c := fake.NewClientset()
	adaptertest.Serve(&c.Fake, c.Tracker())
	return c
}

func labelled(n int) (all []map[string]string) {
	for i := range n {
		all = append(all, map[string]string{"id": fmt.Sprint(i)})
	}
	return all
}

// The labels of a Job whose number is taken, or whose create had no effect, are those of the next Job.
func TestLabelsOfNoJob(t *testing.T) {
	target, o := elsewhere()
	client := cluster(t)
	for _, number := range []int64{2, 5} {
		job := target.tracked(o.hub.Place).build(number, nil)
		job.Labels[LabelOwner] = "another"
		_, err := client.BatchV1().Jobs("shop").Create(t.Context(), job, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	refused := 0
	client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
		if refused++; refused == 5 { // in a batch with others
			return true, nil, apierrors.NewTooManyRequests("later", 1)
		}
		return false, nil, nil
	})
	tracker, err := Observe(target, o, nil, nil)
	require.NoError(t, err)
	plan, labels := Plan{Owner: "uid-1", Create: 5}, labelled(5)
	result, err := tracker.Apply(t.Context(), labelling{client, labels}, plan)
	require.ErrorContains(t, err, "later")
	require.EqualValues(t, 5, result.Created)
	require.Equal(t, labelled(5), labels)
	var made []map[string]string
	list, err := client.BatchV1().Jobs("shop").List(t.Context(), metav1.ListOptions{LabelSelector: LabelOwner + "=uid-1"})
	require.NoError(t, err)
	for _, j := range list.Items {
		made = append(made, map[string]string{"id": j.Labels["id"]})
	}
	require.ElementsMatch(t, labels, made)
}

// Only the controller reference decides whose a Job is, and in another cluster only the labels
// of a Job without a controller.
func TestWhose(t *testing.T) {
	const other = types.UID("other")
	controlled := func(j *batchv1.Job) {
		j.OwnerReferences = []metav1.OwnerReference{{Kind: "Queue", Name: "orders", UID: other, Controller: new(true)}}
	}
	referred := func(j *batchv1.Job) { controlled(j); j.OwnerReferences[0].Controller = nil }
	at := func(home string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Labels = map[string]string{LabelOwner: "labelled", hub.LabelHome: home} }
	}
	unlabelled := func(*batchv1.Job) {}
	for _, test := range []struct {
		home      string
		labels    func(*batchv1.Job)
		reference func(*batchv1.Job)
		want      types.UID
	}{
		{"", at(""), controlled, other},
		{"", at("hub"), controlled, other},
		{"", unlabelled, controlled, other},
		{"", at(""), referred, ""},
		{"", at(""), unlabelled, ""},
		{"hub", at("hub"), unlabelled, "labelled"},
		{"hub", at("hub"), referred, "labelled"},
		{"hub", at("hub"), controlled, ""},
		{"hub", at("another"), unlabelled, ""},
		{"hub", unlabelled, unlabelled, ""},
	} {
		var j batchv1.Job
		test.labels(&j)
		test.reference(&j)
		uid := claimOf(&j, test.home).uid
		require.Equal(t, test.want, uid, "%+v", test)
	}
}

// A Job in flight stays in the namespace and the revision that it was sent with,
// also if the target is edited.
func TestEditOfAFlight(t *testing.T) {
	target, o := elsewhere()
	target.Revision.Generation = 1
	client, sent := cluster(t), ""
	client.PrependReactor("create", "jobs", func(action ktesting.Action) (bool, runtime.Object, error) {
		sent = action.GetNamespace() + "/" + action.(ktesting.CreateAction).GetObject().(*batchv1.Job).Name
		return true, nil, context.DeadlineExceeded
	})
	tracker, err := Observe(target, o, nil, nil)
	require.NoError(t, err)
	_, err = tracker.Apply(t.Context(), client, Plan{Owner: "uid-1", Create: 1})
	require.Error(t, err)

	target.Owner.Namespace, target.Revision.Generation = "other", 2
	require.NoError(t, tracker.Track(target))
	jobs, _ := tracker.Jobs("uid-1")
	require.Equal(t, []Phase{InFlight}, []Phase{jobs[0].Phase})
	require.Equal(t, sent, jobs[0].Namespace+"/"+jobs[0].Name)
	require.EqualValues(t, 1, jobs[0].Revision.Generation)
	asked := ""
	client.PrependReactor("get", "jobs", func(action ktesting.Action) (bool, runtime.Object, error) {
		asked = action.GetNamespace() + "/" + action.(ktesting.GetAction).GetName()
		return false, nil, nil
	})
	tracker.now = func() time.Time { return time.Now().Add(2 * o.Timeout) }
	_, err = tracker.Apply(t.Context(), client, Plan{Owner: "uid-1"})
	require.NoError(t, err)
	require.Equal(t, sent, asked)
}
