package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/scale"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// A Workload identifies a workload to scale: an object with a scale subresource that
// has the same name on every member.
type Workload struct {
	Kind       schema.GroupVersionKind // the zero value means a Deployment
	Namespace  string
	Name       string
	Namespaces map[string]string // by member; other members use Namespace
}

func (w *Workload) namespace(cluster string) string {
	if other, ok := w.Namespaces[cluster]; ok {
		return other
	}
	return w.Namespace
}

// A ReplicasPoll holds the inputs of ObserveReplicas other than the workload.
type ReplicasPoll struct {
	// Members and Checkpoint name the members to observe: all registered clusters if
	// Members is empty, otherwise these and former members.
	Members    []replicas.Member
	Checkpoint replicas.Checkpoint
	// Reports are the reports of the previous Scale. A failed write is a problem of its member.
	Reports []ScaleReport
}

func (p *ReplicasPoll) observes(cluster string) bool {
	_, former := p.Checkpoint.Members[cluster]
	return former || len(p.Members) == 0 || slices.ContainsFunc(p.Members, func(m replicas.Member) bool { return m.Name == cluster })
}

// writes sets the result of the last write to the cluster.
func (p *ReplicasPoll) writes(cluster *replicas.Cluster) {
	for _, r := range p.Reports {
		switch {
		case r.Cluster != cluster.Name || cluster.Problem != "" || errors.Is(r.Err, adapter.ErrNotSent):
		case r.Err == nil:
			cluster.Ordered = &r.Replicas
		default:
			cluster.Problem = replicas.ReasonWriteFailed
		}
	}
}

// ObserveReplicas returns the members, by name, with the replicas in the workload's
// scale, and the errors of members if it could not be read. Existing replicas are the ready
// pods of the scale's selector, with Options.Pods. Without it they are status.replicas,
// among them pods that never start.
//
// All members are asked at once. Each takes Options.Deadline and Options.Timeout at
// most. A member that failed its last health check is not asked, and is unreachable. A
// member is replicas.ReasonNotAsked if the request was not sent, because of the rate
// limit or a cancelled context.
func (all *Clusters) ObserveReplicas(ctx context.Context, w Workload, p ReplicasPoll) ([]replicas.Cluster, map[string]error) {
	members := slices.DeleteFunc(all.list(), func(c *Cluster) bool { return !p.observes(c.name) })
	clusters, problems := make([]replicas.Cluster, len(members)), make([]error, len(members))
	together(len(members), func(i int) {
		clusters[i], problems[i] = members[i].observeReplicas(ctx, w)
		p.writes(&clusters[i])
	})
	errs := map[string]error{}
	for i, err := range problems {
		if err != nil {
			errs[members[i].name] = err
		}
	}
	return clusters, errs
}

func (c *Cluster) observeReplicas(ctx context.Context, w Workload) (replicas.Cluster, error) {
	cluster := replicas.Cluster{Name: c.name}
	var current *autoscalingv1.Scale
	err := c.scaled(ctx, w, func(ctx context.Context, scales scale.ScaleInterface, m *meta.RESTMapping) (err error) {
		current, err = scales.Get(ctx, m.Resource.GroupResource(), w.Name, metav1.GetOptions{})
		return err
	})
	if err == nil {
		cluster.Replicas, cluster.Reported, cluster.Existing = current.Spec.Replicas, current.Status.Replicas, &current.Status.Replicas
		if c.options.Pods && current.Status.Selector != "" && current.Spec.Replicas > 0 {
			err = c.readyPods(ctx, w.namespace(c.name), current.Status.Selector, &cluster)
		}
	}
	judgement := c.health.judgement()
	switch {
	case err == nil:
	case errors.Is(err, adapter.ErrNotSent), ctx.Err() != nil:
		cluster.Problem = replicas.ReasonNotAsked
	case c.health.answersSince().IsZero() && judgement.Since.IsZero():
		cluster.Problem = replicas.ReasonUnconfirmed
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		cluster.Problem = replicas.ReasonWorkloadMissing
	default:
		cluster.Problem, cluster.Since = replicas.ReasonUnreachable, judgement.Since
	}
	return cluster, err
}

// readyPods counts the ready pods of a selector, and words why others are not ready.
func (c *Cluster) readyPods(ctx context.Context, namespace, selector string, cluster *replicas.Cluster) error {
	var ready int32
	causes := causes{}
	o := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	s := c.sender(ctx, time.Now())
	for ready < cluster.Replicas {
		var page *corev1.PodList
		if err := s.send(ctx, func(ctx context.Context) (err error) {
			page, err = listPage(ctx, o, c.clients.Requests.CoreV1().Pods(namespace).List)
			return err
		}); err != nil {
			return fmt.Errorf("list pods of %s: %w", selector, err)
		}
		for i := range page.Items {
			if p := &page.Items[i]; p.DeletionTimestamp == nil && isReady(p) {
				ready++
			} else if p.DeletionTimestamp == nil {
				causes[podCause(p)]++
			}
		}
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	cluster.Existing, cluster.Cause = &ready, causes.String()
	return nil
}

// A ScaleReport describes the actions of Scale on a member.
type ScaleReport struct {
	Cluster  string
	Replicas int32
	Err      error // nil if the replicas were written
}

// Scale writes the replicas of the plan, on all members at once, and returns a report
// for each member to write to. Each takes as long as in ObserveReplicas at most. The
// present scale is overwritten: the next plan corrects what that changes.
func (all *Clusters) Scale(ctx context.Context, w Workload, plan replicas.Decision) []ScaleReport {
	shares := slices.DeleteFunc(slices.Clone(plan.Shares), func(s replicas.Share) bool { return !s.Write })
	members := map[string]*Cluster{}
	for _, c := range all.list() {
		members[c.name] = c
	}
	reports := make([]ScaleReport, len(shares))
	together(len(shares), func(i int) {
		reports[i] = ScaleReport{Cluster: shares[i].Name, Replicas: shares[i].Next, Err: errNotRegistered}
		if c := members[shares[i].Name]; c != nil {
			reports[i].Err = c.scaled(ctx, w, func(ctx context.Context, scales scale.ScaleInterface, m *meta.RESTMapping) error {
				patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, shares[i].Next)
				_, err := scales.Patch(ctx, m.Resource, w.Name, types.MergePatchType, patch, metav1.PatchOptions{})
				return err
			})
		}
	})
	return reports
}

// scaled calls do with the client and the mapping of the workload, within the rate limit and the
// timeouts.
func (c *Cluster) scaled(ctx context.Context, w Workload, do func(context.Context, scale.ScaleInterface, *meta.RESTMapping) error) error {
	switch {
	case c.clients.Scales == nil || c.clients.Mapper == nil:
		return fmt.Errorf("member %s has no client for scales", c.name)
	case !c.health.mayAnswer():
		return c.errAway()
	}
	kind := w.Kind
	if kind.Empty() {
		kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	}
	return c.sender(ctx, time.Now()).send(ctx, func(ctx context.Context) error {
		mapping, err := c.clients.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			err = do(ctx, c.clients.Scales.Scales(w.namespace(c.name)), mapping)
		}
		noPath := apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
		if noPath || meta.IsNoMatchError(err) {
			meta.MaybeResetRESTMapper(c.clients.Mapper) // the next poll asks for its version again
		}
		return err
	})
}
