package cluster

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A Run is what becomes of a pod.
type Run struct {
	Start time.Duration // from its creation until it runs; below 0, it never does
	Work  time.Duration // from then until it ends
	Exit  int32         // its exit code
}

// Kubelet runs the pods of all namespaces until the test ends, by patching their
// status; run says how. Pods are not bound to a node, of which there are none:
// the API server deletes such a pod at once, so that nobody has to end it.
func (c *Cluster) Kubelet(t testing.TB, run func(*corev1.Pod) Run) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	client := c.Client(t)
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if pod := object.(*corev1.Pod); pod.Status.Phase == corev1.PodPending {
				go work(ctx, client, pod, run(pod))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
}

func work(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, r Run) {
	if r.Start < 0 || !sleep(ctx, r.Start) {
		return
	}
	now := metav1.Now()
	patch(ctx, client, pod, corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	})
	length, phase, exit := r.Work, corev1.PodSucceeded, r.Exit
	if d := pod.Spec.ActiveDeadlineSeconds; d != nil && time.Duration(*d)*time.Second < length {
		length, exit = time.Duration(*d)*time.Second, 137
	}
	if !sleep(ctx, length) {
		return
	}
	if exit != 0 {
		phase = corev1.PodFailed
	}
	now = metav1.Now()
	status := corev1.PodStatus{
		Phase:      phase,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: now}},
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: now}},
		})
	}
	patch(ctx, client, pod, status)
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// patch tries until it succeeds or the pod is gone: the kubelet would.
func patch(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status corev1.PodStatus) {
	data, err := json.Marshal(map[string]any{"status": status, "metadata": map[string]any{"uid": pod.UID}})
	if err != nil {
		panic(err)
	}
	for range 20 {
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
		if err == nil || !sleep(ctx, 100*time.Millisecond) {
			return
		}
		if _, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{}); err != nil {
			return
		}
	}
}
