package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
)

// An Object is what is scaled: an object with a scale subresource, of the same
// name on every member.
type Object struct {
	Kind      schema.GroupVersionKind // the zero value is a Deployment
	Namespace string
	Name      string
	// Namespaces are those of members where it is another.
	Namespaces map[string]string
}

func (o *Object) namespace(cluster string) string {
	if other, ok := o.Namespaces[cluster]; ok {
		return other
	}
	return o.Namespace
}

// An ObjectPoll says what to observe of an object, and how.
type ObjectPoll struct {
	Object  Object
	Members []string // those to look at; nil is all
	// Before is what was returned before. It may have been kept as JSON.
	Before      []placement.ObjectCluster
	Rebalancing placement.Rebalancing
	Now         time.Time
}

// ObserveObject returns the members, by name, with the replicas that the object's
// scale asks for there, and why that could not be read where it could not: the member
// does not answer for this object then, and Current is what it was before. All are
// asked at once, each for Options.Timeout at most once its limit lets it, for which it
// waits for Options.Deadline at most, and none that failed its last health check. Whether one answers that could not be asked, because of its limit or a
// cancelled context, is as it was before.
func (all *Clusters) ObserveObject(ctx context.Context, p ObjectPoll) ([]placement.ObjectCluster, map[string]error) {
	members := all.list()
	if p.Members != nil {
		members = slices.DeleteFunc(members, func(c *Cluster) bool { return !slices.Contains(p.Members, c.name) })
	}
	before := map[string]placement.ObjectCluster{}
	for _, c := range p.Before {
		before[c.Name] = c
	}
	clusters, problems := make([]placement.ObjectCluster, len(members)), make([]error, len(members))
	together(len(members), func(i int) {
		var was *placement.ObjectCluster
		if b, ok := before[members[i].name]; ok {
			was = &b
		}
		clusters[i], problems[i] = members[i].observeObject(ctx, &p, was)
	})
	errs := map[string]error{}
	for i, err := range problems {
		if err != nil {
			errs[members[i].name] = err
		}
	}
	return clusters, errs
}

// observeObject looks at the object once more; before is nil the first time.
func (c *Cluster) observeObject(ctx context.Context, p *ObjectPoll, before *placement.ObjectCluster) (placement.ObjectCluster, error) {
	seen := placement.ObjectCluster{Name: c.name, ID: c.options.ID}
	if before != nil {
		seen.Current = before.Current
	}
	err := c.scaled(ctx, p.Object, func(s scaled) error {
		replicas, err := s.replicas()
		if err == nil {
			seen.Current = replicas
		}
		return err
	})
	switch asked := !errors.Is(err, adapter.ErrNotSent) && ctx.Err() == nil; {
	case before == nil:
		seen.Health = placement.NewHealth(err == nil, p.Now)
	case asked:
		seen.Health = before.Health.Observe(err == nil, p.Rebalancing, p.Now)
	default:
		seen.Health = before.Health
	}
	return seen, err
}

// A ScaleReport is what Scale did on one member.
type ScaleReport struct {
	Cluster  string
	Replicas int32
	Err      error // why they could not be written
}

// Scale writes the replicas that the plan has to be written, on all members at once,
// and returns what it did, by member. Each takes as long as in ObserveObject at most.
// They are written whatever the scale is meanwhile: the plan that is made next sees to that.
func (all *Clusters) Scale(ctx context.Context, o Object, plan placement.ObjectPlan) []ScaleReport {
	parts := slices.DeleteFunc(slices.Clone(plan.Members), func(p placement.ObjectPart) bool { return !p.Write })
	members := map[string]*Cluster{}
	for _, c := range all.list() {
		members[c.name] = c
	}
	reports := make([]ScaleReport, len(parts))
	together(len(parts), func(i int) {
		reports[i] = ScaleReport{Cluster: parts[i].Name, Replicas: parts[i].Next, Err: errNotRegistered}
		if c := members[parts[i].Name]; c != nil {
			reports[i].Err = c.scaled(ctx, o, func(s scaled) error { return s.write(parts[i].Next) })
		}
	})
	return reports
}

// scaled is an object on one member.
type scaled struct {
	ctx     context.Context
	cluster *Cluster
	*meta.RESTMapping
	namespace, name string
}

// scaled calls do with the object, within the limits of the member.
func (c *Cluster) scaled(ctx context.Context, o Object, do func(scaled) error) error {
	switch {
	case c.clients.Scales == nil || c.clients.Mapper == nil:
		return fmt.Errorf("member %s has no client for scales", c.name)
	case !c.health.mayAnswer():
		return c.errAway()
	}
	kind := o.Kind
	if kind.Empty() {
		kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	}
	return c.sender(ctx).send(ctx, func(ctx context.Context) error {
		mapping, err := meta.ToRESTMapperWithContext(c.clients.Mapper).RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		return do(scaled{ctx, c, mapping, o.namespace(c.name), o.Name})
	})
}

func (s scaled) replicas() (int32, error) {
	there, err := s.cluster.clients.Scales.Scales(s.namespace).Get(s.ctx, s.Resource.GroupResource(), s.name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	return there.Spec.Replicas, nil
}

func (s scaled) write(replicas int32) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := s.cluster.clients.Scales.Scales(s.namespace).Patch(s.ctx, s.Resource, s.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
