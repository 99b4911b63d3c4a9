package member

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/watchlist"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
)

// A do sends a request of a verb, or fails without sending it.
type do func(ctx context.Context, verb string, request func(context.Context) error) error

// A via is a client whose requests about Jobs and pods are sent by a function of the kind and the
// namespace.
type via struct {
	kubernetes.Interface
	cluster *Cluster
	send    func(kind, namespace string) do
	labels  []map[string]string
}

// Hub returns what a tracker of the member's Jobs needs.
func (v via) Hub() hub.Options {
	o := &v.cluster.options
	return hub.Options{
		Place: hub.Place{Home: o.Home, Cluster: v.cluster.name}, Namespaces: o.Namespaces, Ours: v.cluster.ours,
		Labels: []string{LabelOwnerNamespace, labelCreation, labelSource, labelAttempt},
	}
}

// Labels returns those of the Jobs to create.
func (v via) Labels() []map[string]string { return v.labels }

// IsWatchListSemanticsUnSupported is what client-go asks fake clients.
func (v via) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(v.Interface)
}

func (v via) BatchV1() batchclient.BatchV1Interface {
	return viaBatch{v.Interface.BatchV1(), v}
}

func (v via) CoreV1() coreclient.CoreV1Interface {
	return viaCore{v.Interface.CoreV1(), v}
}

type viaBatch struct {
	batchclient.BatchV1Interface
	via
}

func (b viaBatch) Jobs(namespace string) batchclient.JobInterface {
	return viaJobs{b.BatchV1Interface.Jobs(namespace), b.send("Jobs", namespace), b.cluster}
}

type viaCore struct {
	coreclient.CoreV1Interface
	via
}

func (c viaCore) Pods(namespace string) coreclient.PodInterface {
	return viaPods{c.CoreV1Interface.Pods(namespace), c.send("pods", namespace)}
}

func result[T any](ctx context.Context, do do, verb string, request func(context.Context) (T, error)) (answer T, err error) {
	err = do(ctx, verb, func(ctx context.Context) (err error) { answer, err = request(ctx); return err })
	return answer, err
}

// viaJobs are the Jobs that this hub created: see LabelProof.
type viaJobs struct {
	batchclient.JobInterface
	do
	cluster *Cluster
}

func (j viaJobs) Create(ctx context.Context, job *batchv1.Job, o metav1.CreateOptions) (*batchv1.Job, error) {
	return result(ctx, j.do, "create", func(ctx context.Context) (*batchv1.Job, error) {
		return checkLength(j.JobInterface.Create(ctx, j.cluster.prove(job), o))
	})
}

func (j viaJobs) Get(ctx context.Context, name string, o metav1.GetOptions) (*batchv1.Job, error) {
	job, err := result(ctx, j.do, "get", func(ctx context.Context) (*batchv1.Job, error) { return checkLength(j.JobInterface.Get(ctx, name, o)) })
	if err != nil {
		return nil, err
	}
	return j.cluster.disown(job), nil
}

func (j viaJobs) List(ctx context.Context, o metav1.ListOptions) (*batchv1.JobList, error) {
	return result(ctx, j.do, "list", func(ctx context.Context) (*batchv1.JobList, error) {
		page, err := listPage(ctx, o, j.JobInterface.List)
		if err != nil {
			return nil, err
		}
		page.Items = slices.DeleteFunc(page.Items, func(job batchv1.Job) bool { return !j.cluster.ours(&job) })
		return page, nil
	})
}

func (j viaJobs) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return result(ctx, j.do, "watch", func(ctx context.Context) (watch.Interface, error) {
		return j.JobInterface.Watch(ctx, o)
	})
}

func (j viaJobs) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return j.do(ctx, "delete", func(ctx context.Context) error { return j.JobInterface.Delete(ctx, name, o) })
}

type viaPods struct {
	coreclient.PodInterface
	do
}

func (p viaPods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	return result(ctx, p.do, "list", func(ctx context.Context) (*corev1.PodList, error) {
		return listPage(ctx, o, p.PodInterface.List)
	})
}

func (p viaPods) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return result(ctx, p.do, "watch", func(ctx context.Context) (watch.Interface, error) {
		return p.PodInterface.Watch(ctx, o)
	})
}
