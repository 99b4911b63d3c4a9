package adapter

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
)

func inHub(home string) hub.Options { return hub.Options{Place: hub.Place{Home: home}} }

// A labelling is a client that has labels for the next Jobs.
type labelling struct {
	Client
	labels []map[string]string
}

func (l labelling) Hub() hub.Options            { return hub.Options{} }
func (l labelling) Labels() []map[string]string { return l.labels }

func labelled(n int) (all []map[string]string) {
	for i := range n {
		all = append(all, map[string]string{"id": fmt.Sprint(i)})
	}
	return all
}

// The labels of a Job whose number is taken, or whose create had no effect, are those of the next Job.
func TestLabelsOfNoJob(t *testing.T) {
	target, s, creates := newTarget(), newServer(), 0
	w := newWriter(t, s, target, Options{hub: hub.Options{Place: hub.Place{Home: "home", Cluster: "a"}, Labels: []string{"id"}}})
	for _, number := range []int64{2, 5} {
		job := target.tracked(w.options.hub.Place).build(number, nil)
		job.Labels[LabelOwner] = "another"
		_, err := s.BatchV1().Jobs("shop").Create(t.Context(), job, metav1CreateOptions)
		require.NoError(t, err)
	}
	s.before = func(verb, _ string) error {
		if verb != "create" {
			return nil
		}
		if creates++; creates == 5 { // in a batch with others
			return apierrors.NewTooManyRequests("later", 1)
		}
		return nil
	}
	labels := labelled(5)
	result, err := w.Apply(t.Context(), labelling{s, labels}, Plan{Owner: ownerUID, Create: 5})
	require.ErrorContains(t, err, "later")
	require.EqualValues(t, 5, result.Created)
	require.Equal(t, labelled(5), labels)
	var created []map[string]string
	for _, j := range s.all(t) {
		if id := j.Labels["id"]; id != "" {
			created = append(created, map[string]string{"id": id})
		}
	}
	require.ElementsMatch(t, labels, created)
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
	target, s := newTarget(), newServer()
	w := newWriter(t, s, target, Options{hub: inHub("home")})
	s.before = func(verb, _ string) error {
		if verb == "create" {
			return context.DeadlineExceeded
		}
		return nil
	}
	_, err := w.Apply(t.Context(), s, Plan{Owner: ownerUID, Create: 1})
	require.Error(t, err)

	target.Owner.Namespace, target.Revision.Generation = "other", 2
	require.NoError(t, w.Track(target))
	jobs, _ := w.Jobs(ownerUID)
	require.Equal(t, InFlight, jobs[0].Phase)
	require.Equal(t, "shop", jobs[0].Namespace)
	require.EqualValues(t, 1, jobs[0].Revision.Generation)
	w.passes(late)
	_, err = w.Apply(t.Context(), s, Plan{Owner: ownerUID})
	require.NoError(t, err)
	get := s.Actions()[1].(ktesting.GetAction)
	require.Equal(t, "shop/"+jobs[0].Name, get.GetNamespace()+"/"+get.GetName())
}
