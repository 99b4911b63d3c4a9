package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// killed is the exit code of a container that has got SIGKILL.
const killed = 137

func started(pod *corev1.Pod, start time.Time) corev1.PodStatus {
	now := metav1.NewTime(start)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		Conditions: ready(corev1.ConditionTrue, now), ContainerStatuses: containers(pod, running, true),
	}
}

func ended(pod *corev1.Pod, code int32) corev1.PodStatus {
	now := metav1.Now()
	phase, reason := corev1.PodSucceeded, "Completed"
	if code != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, FinishedAt: now,
	}}
	return corev1.PodStatus{
		Phase:      phase,
		Conditions: ready(corev1.ConditionFalse, now), ContainerStatuses: containers(pod, terminated, false),
	}
}

func ready(status corev1.ConditionStatus, changed metav1.Time) []corev1.PodCondition {
	return []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: status, LastTransitionTime: changed},
		{Type: corev1.PodReady, Status: status, LastTransitionTime: changed},
	}
}

func containers(pod *corev1.Pod, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, c := range pod.Spec.Containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: state, Ready: ready, Started: &ready})
	}
	return statuses
}
