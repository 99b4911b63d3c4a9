package controller

import (
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/runtime"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// LabelName is a label of Jobs with the name of their ScaledJob, for users. A longer
// name is cut to 63 characters. The operator does not read the label.
const LabelName = "batch.miracle.dev/scaledjob"

// target describes the Jobs of a ScaledJob. The zero values of History and Rollout keep all,
// unless the template has a time to live.
func target(sj *v1.ScaledJob) adapter.Target {
	template := sj.Spec.JobTemplate.DeepCopy()
	meta := metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}
	metav1.SetMetaDataLabel(&meta, LabelName, strings.TrimRight(fmt.Sprintf("%.63s", sj.Name), "-."))
	return adapter.Target{
		Owner:    adapter.OwnerOf(sj, v1.GroupVersion.WithKind("ScaledJob")),
		Job:      &batchv1.Job{ObjectMeta: meta, Spec: template.Spec},
		Revision: rollout.Revision{Generation: sj.Generation},
		Policy:   policy(&sj.Spec),
	}
}

// track tracks the Jobs of a ScaledJob. It returns every problem of the spec. The Jobs of
// an invalid spec are counted, and no more are created.
func track(j *runtime.Jobs, sj *v1.ScaledJob) error {
	t := target(sj)
	var problems field.Errors
	problems.Join("", sj.Spec.Validate())
	problems.Join("spec.jobTemplate", t.Validate())
	invalid := problems.Err()
	if invalid != nil {
		t = adapter.Target{Owner: t.Owner, Revision: t.Revision, Job: &batchv1.Job{}}
		t.Job.Spec.Template.Spec.Containers = make([]corev1.Container, 1) // of no Job
	}
	return errors.Join(invalid, j.Track(t))
}
