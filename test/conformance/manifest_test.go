package conformance

import (
	"time"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/keda"
)

// operatorOf returns the model's ScaledJob as KEDA reads it.
func operatorOf(j *keda.ScaledJob) *v1alpha1.ScaledJob {
	strategy := j.Spec.ScalingStrategy
	return &v1alpha1.ScaledJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, Generation: j.Generation,
			Labels: j.Labels, Annotations: j.Annotations, UID: "uid",
		},
		Spec: v1alpha1.ScaledJobSpec{
			JobTargetRef: &batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: copied(j.PodLabels)},
				Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicy(j.RestartPolicy)},
			}},
			SuccessfulJobsHistoryLimit: j.Spec.SuccessfulJobsHistoryLimit,
			FailedJobsHistoryLimit:     j.Spec.FailedJobsHistoryLimit,
			MinReplicaCount:            j.Spec.MinReplicaCount,
			MaxReplicaCount:            j.Spec.MaxReplicaCount,
			ScalingStrategy: v1alpha1.ScalingStrategy{
				Strategy:                          strategy.Strategy,
				CustomScalingQueueLengthDeduction: strategy.CustomScalingQueueLengthDeduction,
				CustomScalingRunningJobPercentage: strategy.CustomScalingRunningJobPercentage,
				PendingPodConditions:              strategy.PendingPodConditions,
				MultipleScalersCalculation:        strategy.MultipleScalersCalculation,
			},
		},
	}
}

// copied copies what KEDA writes into.
func copied(labels map[string]string) map[string]string {
	c := map[string]string{}
	for key, value := range labels {
		c[key] = value
	}
	return c
}

// clusterOf has the Jobs and their pods, and others that are none of them.
func clusterOf(j *keda.ScaledJob, jobs []keda.Job) *cluster {
	tracking := map[string]string{"scaledjob.keda.sh/name": j.Name}
	c := &cluster{jobs: []batchv1.Job{
		{ObjectMeta: metav1.ObjectMeta{Name: "stranger", Namespace: j.Namespace}},
		{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Namespace: "elsewhere", Labels: tracking}},
	}}
	for i := range jobs {
		of := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: jobs[i].Name, Namespace: j.Namespace, Labels: tracking}}
		if t := jobs[i].CompletionTime; t != nil {
			of.Status.CompletionTime = &metav1.Time{Time: *t}
		}
		for _, condition := range jobs[i].Conditions {
			of.Status.Conditions = append(of.Status.Conditions, batchv1.JobCondition{
				Type: batchv1.JobConditionType(condition.Type), Status: corev1.ConditionStatus(condition.Status),
			})
		}
		c.jobs = append(c.jobs, of)
		for _, pod := range jobs[i].Pods {
			c.pods = append(c.pods, podOf(&of, &pod))
		}
	}
	return c
}

func podOf(job *batchv1.Job, p *keda.Pod) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Labels: map[string]string{"job-name": job.Name},
	}}
	pod.Status.Phase = corev1.PodPhase(p.Phase)
	for _, condition := range p.Conditions {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(condition.Type), Status: corev1.ConditionStatus(condition.Status),
		})
	}
	return pod
}

// minute is a time within an hour.
func minute(n int) *time.Time {
	return new(time.Date(2026, 1, 1, 12, n, 0, 0, time.UTC))
}
