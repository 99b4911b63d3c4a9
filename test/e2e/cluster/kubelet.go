package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A Run is the life of a pod. The zero value runs and succeeds at once.
type Run struct {
	Start time.Duration // from when it is seen until it runs; below 0, it never does
	Work  time.Duration // from then until it ends; below 0, it never does
	Exit  int32         // its exit code: other than 0, it fails
	// Do is called when the pod begins to run, and returns Work. nil means Work.
	Do func() time.Duration
}

// Kubelet is [Cluster.RunPods] until the test ends.
func (c *Cluster) Kubelet(t testing.TB, run func(*corev1.Pod) Run) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.RunPods(ctx, run) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// RunPods runs the pods of all namespaces until the context ends, by patching their status
// as the kubelets of nodes would. It calls run from a single goroutine, once for each pod.
//
// A deleted pod ends at once, without its grace period. A container that has ended is not restarted, also if
// the pod's restartPolicy asks for it.
func (c *Cluster) RunPods(ctx context.Context, run func(*corev1.Pod) Run) error {
	config := c.withToken(c.tokens.kubelet)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	k := &kubelet{ctx: ctx, client: client, run: run, pods: make(map[types.UID]life), slots: make(chan struct{}, 50)}
	factory := informers.NewSharedInformerFactory(client, 0)
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(k); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	k.lives.Wait()
	return nil
}

// patient waits for an API server that is down. An informer would try ever less often, in
// the end once a minute.
type patient struct{ next http.RoundTripper }

// RoundTrip tries again without a connection, when no request was sent.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	for {
		response, err := p.next.RoundTrip(request)
		refused := request.Method == http.MethodGet && errors.Is(err, syscall.ECONNREFUSED)
		if !refused || !sleep(request.Context(), 200*time.Millisecond) {
			return response, err
		}
	}
}

// A kubelet handles the events of pods, one after another.
type kubelet struct {
	ctx    context.Context
	client kubernetes.Interface
	run    func(*corev1.Pod) Run
	pods   map[types.UID]life
	lives  sync.WaitGroup
	slots  chan struct{} // for requests, so that thousands of pods leave others room
}

// A life signals that a pod terminates, and that it is deleted.
type life struct{ terminate, gone context.CancelFunc }

// OnAdd gives a pod a life.
func (k *kubelet) OnAdd(object any, _ bool) { k.see(object.(*corev1.Pod)) }

// OnUpdate ends a life when the pod is deleted. After a time without an API
// server, a pod may have another's place.
func (k *kubelet) OnUpdate(before, after any) {
	if old, pod := before.(*corev1.Pod), after.(*corev1.Pod); old.UID != pod.UID {
		k.forget(old.UID)
	}
	k.see(after.(*corev1.Pod))
}

// OnDelete forgets the pod.
func (k *kubelet) OnDelete(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	k.forget(object.(*corev1.Pod).UID)
}

func (k *kubelet) see(pod *corev1.Pod) {
	l, found := k.pods[pod.UID]
	if !found {
		exists, gone := context.WithCancel(k.ctx)
		works, terminate := context.WithCancel(exists)
		l = life{terminate, gone}
		k.pods[pod.UID] = l
		r := k.run(pod)
		k.lives.Go(func() { k.live(exists, works, pod, r) })
	}
	if pod.DeletionTimestamp != nil {
		l.terminate()
	}
}

func (k *kubelet) forget(uid types.UID) {
	if l, ok := k.pods[uid]; ok {
		l.gone()
		delete(k.pods, uid)
	}
}

// live works, and completes the pod's deletion. Most pods are deleted by then: without a
// node, they have no grace period. Pods with a finalizer stay until the finalizer is removed,
// and the job controller may wait for their end.
func (k *kubelet) live(exists, works context.Context, pod *corev1.Pod, r Run) {
	completed := k.work(works, pod, r)
	<-works.Done()
	if !completed {
		k.patch(exists, pod, ended(pod, killed))
	}
	k.delete(exists, pod)
}

// work reports whether the pod has ended by itself.
func (k *kubelet) work(ctx context.Context, pod *corev1.Pod, r Run) (completed bool) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	if !wait(ctx, r.Start) || !k.patch(ctx, pod, started(pod, time.Now())) {
		return false
	}
	if r.Do != nil {
		r.Work = r.Do()
	}
	return wait(ctx, r.Work) && k.patch(ctx, pod, ended(pod, r.Exit))
}

// wait reports whether the time has passed before the context ended; a time below 0 never
// passes.
func wait(ctx context.Context, d time.Duration) bool {
	if d < 0 {
		<-ctx.Done()
		return false
	}
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// patch reports whether the pod has the status now.
func (k *kubelet) patch(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) bool {
	data, err := json.Marshal(map[string]any{"status": status, "metadata": map[string]any{"uid": pod.UID}})
	if err != nil {
		panic(err)
	}
	return k.insist(ctx, func() error {
		_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
		return err
	})
}

func (k *kubelet) delete(ctx context.Context, pod *corev1.Pod) {
	k.insist(ctx, func() error {
		return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	})
}

// insist repeats the request until the API server answers it, or the pod is deleted, which
// the informer may learn later than the server.
func (k *kubelet) insist(ctx context.Context, ask func() error) bool {
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, time.Second) {
		err := k.inSlot(ctx, ask)
		if err == nil || apierrors.IsNotFound(err) {
			return err == nil
		}
		sleep(ctx, pause)
	}
	return false
}

func (k *kubelet) inSlot(ctx context.Context, ask func() error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
		return ask()
	}
}
