package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

func scaledJob() *v1.ScaledJob {
	sj := &v1.ScaledJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "image-processor", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"},
		Spec:       *spec(10, 0, 20),
	}
	sj.Spec.JobTemplate.Labels = map[string]string{"team": "images", LabelOwner: "somebody-else"}
	sj.Spec.JobTemplate.Annotations = map[string]string{"why": "a test"}
	sj.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "worker"}
	sj.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "myapp/image-worker:v1.2.0"}}
	return sj
}

func TestBuildJob(t *testing.T) {
	sj := scaledJob()
	job := buildJob(sj, 7)
	require.Equal(t, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "production",
			Name:        "image-processor-0f8fad5b-7",
			Labels:      map[string]string{"team": "images", "batch.miracle.dev/scaledjob": "image-processor"},
			Annotations: map[string]string{"why": "a test", adapter.AnnotationSequence: "7"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch.miracle.dev/v1", Kind: "ScaledJob", Name: "image-processor", UID: sj.UID,
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: sj.Spec.JobTemplate.Spec,
	}, job)

	job.Labels["team"] = "another"
	job.Spec.Template.Labels["app"] = "another"
	job.Spec.Template.Spec.Containers[0].Image = "another"
	require.Equal(t, scaledJob(), sj, "no memory is shared")
}

// A ScaledJob may have any name; what is made of it is valid, and another for another.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"a", "image-processor", "a.b.c", strings.Repeat("a", 253), strings.Repeat("a.", 126) + "a", strings.Repeat("a", 38) + "-b"} {
		for _, uid := range []string{"0f8fad5b-d9cb-469f-a165-70867728950e", "1f8fad5b-d9cb-469f-a165-70867728950e"} {
			for _, number := range []int64{1, 2, 1 << 40} {
				sj := scaledJob()
				sj.Name = name
				sj.UID = types.UID(uid)
				job := buildJob(sj, number)
				require.Empty(t, validation.IsDNS1123Label(job.Name), job.Name)
				require.LessOrEqual(t, len(job.Name), 52)
				require.Empty(t, validation.IsValidLabelValue(job.Labels[LabelOwner]))
				key := name + "/" + job.Name
				require.False(t, seen[key])
				seen[key] = true
			}
		}
	}
}

func owned(uid string, number int64, conditions ...batchv1.JobConditionType) batchv1.Job {
	sj := scaledJob()
	sj.UID = types.UID(uid)
	job := buildJob(sj, number)
	for _, c := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
	}
	return *job
}

// Whose a Job is, its owner's UID says, and neither its label nor its owner's name.
func TestCount(t *testing.T) {
	const mine, predecessor = "0f8fad5b-d9cb-469f-a165-70867728950e", "1f8fad5b-d9cb-469f-a165-70867728950e"
	orphan := owned(mine, 9)
	orphan.OwnerReferences = nil
	deleted := owned(mine, 5)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	listed := []batchv1.Job{
		owned(mine, 1, batchv1.JobComplete), owned(mine, 2, batchv1.JobFailed), owned(mine, 3), owned(mine, 4),
		deleted, owned(mine, 6, batchv1.JobFailureTarget), owned(predecessor, 8), orphan,
	}
	jobs := adapter.Observation{Owner: mine}.Classify(listed, nil)
	require.EqualValues(t, 2, active(jobs))
	require.EqualValues(t, 2, count(jobs).Terminating)
	require.EqualValues(t, 6, lastNumber(jobs), "so that names are not used again")
	require.Zero(t, lastNumber(nil))
}

// What brings a reconcile.
func TestCountChanges(t *testing.T) {
	const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	running := owned(uid, 1)
	ready := owned(uid, 1)
	ready.Status.Ready = new(int32(1))
	ending, ended, failed := owned(uid, 1, batchv1.JobFailureTarget), owned(uid, 1, batchv1.JobComplete), owned(uid, 1, batchv1.JobFailed)
	deleted := owned(uid, 1)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	suspended := owned(uid, 1)
	suspended.Spec.Suspend = new(true)

	for _, c := range []struct {
		what     string
		old, new batchv1.Job
		brings   bool
	}{
		{"it runs", running, ready, false},
		{"it is suspended", running, suspended, false},
		{"it ends", ready, ended, true},
		{"it is about to fail", ready, ending, true},
		{"it has failed", ending, failed, true},
		{"it is being deleted", running, deleted, true},
		{"nothing", ended, ended, false},
	} {
		require.Equal(t, c.brings, countChanges.Update(event.UpdateEvent{ObjectOld: &c.old, ObjectNew: &c.new}), c.what)
	}
	require.True(t, countChanges.Delete(event.DeleteEvent{Object: &running}), "it must be made again")
	require.True(t, countChanges.Delete(event.DeleteEvent{Object: &deleted}), "its room is free")
	require.False(t, countChanges.Delete(event.DeleteEvent{Object: &ended}), "its time to live is over")
	require.False(t, countChanges.Create(event.CreateEvent{Object: &running}))
	require.False(t, countChanges.Generic(event.GenericEvent{Object: &running}))
}
