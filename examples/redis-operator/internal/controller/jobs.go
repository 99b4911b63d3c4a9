package controller

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// LabelOwner is the label of Jobs that names their ScaledJob, cut to what a label may
// hold. It finds candidates; whose a Job is, its owner reference says.
const LabelOwner = "batch.miracle.dev/scaledjob"

// buildJob makes the ScaledJob's Job with that number.
func buildJob(sj *v1.ScaledJob, number int64) *batchv1.Job {
	template := sj.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       sj.Namespace,
			Name:            jobName(sj, number),
			Labels:          map[string]string{},
			Annotations:     map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sj, v1.GroupVersion.WithKind("ScaledJob"))},
		},
		Spec: template.Spec,
	}
	maps.Copy(job.Labels, template.Labels)
	maps.Copy(job.Annotations, template.Annotations)
	job.Labels[LabelOwner] = adapter.LabelValue(sj.Name)
	job.Annotations[adapter.AnnotationSequence] = strconv.FormatInt(number, 10)
	return job
}

// jobName is the same for the same ScaledJob and number, so that the API server
// refuses to make a Job twice, whoever tries.
func jobName(sj *v1.ScaledJob, number int64) string {
	const limit = 52 // 63, less a hyphen and an index, which pods' names need
	suffix := fmt.Sprintf("-%.8s-%d", sj.UID, number)
	prefix := strings.ReplaceAll(sj.Name, ".", "-")
	prefix = prefix[:min(len(prefix), limit-len(suffix))]
	return strings.TrimRight(prefix, "-") + suffix
}

// lastNumber is the highest number of the Jobs, finished ones included.
func lastNumber(jobs []adapter.Job) (last int64) {
	for _, j := range jobs {
		last = max(last, j.Sequence)
	}
	return last
}

// count counts the Jobs that have not finished. That a Job is pending does not
// matter here, so that none is stuck.
func count(jobs []adapter.Job) scaling.Jobs { return adapter.Count(jobs, time.Time{}) }

// active counts the Jobs that have not finished and are not on their way out.
func active(jobs []adapter.Job) int32 { return int32(count(jobs).Running) }

// countChanges lets through what changes the count of an owner's Jobs: that one ends, is
// being deleted, or is gone before it ended. That one was created is no news, and that
// it runs makes no difference.
var countChanges = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(e event.UpdateEvent) bool { return countOne(e.ObjectOld) != countOne(e.ObjectNew) },
	DeleteFunc:  func(e event.DeleteEvent) bool { return countOne(e.Object) != scaling.Jobs{} },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// countOne counts a Job alone, as decide sees it.
func countOne(object client.Object) scaling.Jobs {
	job, owner := object.(*batchv1.Job), metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return scaling.Jobs{}
	}
	c := count(adapter.Observation{Owner: owner.UID}.Classify([]batchv1.Job{*job}, nil))
	return scaling.Jobs{Running: c.Running, Terminating: c.Terminating}
}
