package kedametrics

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/externalmetrics"
	"github.com/scaledjob/scaledjob/adapter/manifest"
)

const (
	// betweenSweeps is the time between two looks for objects that nobody needs.
	betweenSweeps = 30 * time.Second
	// terminating is the time after which a ScaledObject loses KEDA's finalizer.
	terminating = 10 * time.Minute
	// creates is the greatest number of creates at once: a thousand new owners must not fill the API server's queues.
	creates = 32
	// spread is the longest time over which owners are read after KEDA has returned.
	spread = 5 * time.Second
)

func usesCluster(t manifest.ScaleTrigger) bool {
	return t.AuthenticationRef != nil && t.AuthenticationRef.Kind == "ClusterTriggerAuthentication"
}

// ensure returns the owner's ScaledObject. If it is not there, it is created, and the reason says so.
func (t *tracked) ensure(ctx context.Context) (*unstructured.Unstructured, Reason) {
	var object *unstructured.Unstructured
	for i, part := range []struct {
		resource schema.GroupVersionResource
		build    func() (*unstructured.Unstructured, error)
	}{{readingTargets, t.target}, {scaledObjects, t.scaledObject}} {
		object = t.cached(part.resource, t.name)
		switch {
		case object == nil && time.Since(t.added[i]) < patience:
			return nil, Waiting // the watch is behind
		case object == nil:
			if reason := t.create(ctx, part.resource, part.build); reason != "" {
				return nil, reason
			}
			t.added[i] = time.Now()
		case !t.controls(object):
			return nil, Conflict
		case object.GetDeletionTimestamp() != nil:
			return nil, Waiting
		case !intact(object):
			t.reader.delete(ctx, part.resource, object)
			t.added[i] = time.Time{}
			return nil, Waiting
		}
	}
	if object == nil {
		return nil, Waiting // the watch shows it
	}
	return object, ""
}

// create creates an object, or returns why it could not. If many are being created, it is tried again soon.
func (t *tracked) create(ctx context.Context, resource schema.GroupVersionResource, build func() (*unstructured.Unstructured, error)) Reason {
	r := t.reader
	select {
	case r.creating <- struct{}{}:
		defer func() { <-r.creating }()
	default:
		r.keys.After(cache.NewObjectName(t.owner.Namespace, t.owner.Name), 2*settle)
		return Waiting
	}
	object, err := build()
	if err != nil {
		return Refused
	}
	_, err = r.Requests.Resource(resource).Namespace(t.owner.Namespace).Create(ctx, object, metav1.CreateOptions{})
	t.made = t.made || err == nil
	return t.created(ctx, resource, err)
}

func (t *tracked) controls(o metav1.Object) bool {
	controller := metav1.GetControllerOf(o)
	return controller != nil && controller.UID == t.owner.UID
}

// created returns why an object could not be created. An object that is there, and that the watch does not show, may be
// somebody else's.
func (t *tracked) created(ctx context.Context, resource schema.GroupVersionResource, err error) Reason {
	switch {
	case err == nil:
		return ""
	case apierrors.IsAlreadyExists(err):
		object, err := t.reader.Requests.Resource(resource).Namespace(t.owner.Namespace).Get(ctx, t.name, metav1.GetOptions{})
		if err == nil && (!t.controls(object) || object.GetLabels()[LabelReader] != t.reader.Name) {
			return Conflict
		}
		return ""
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), strings.Contains(err.Error(), "admission webhook"):
		return Refused
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // the owner goes, or the kind has gone
		wake(t.reader.probing)
		return Waiting
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return Forbidden
	}
	return Unanswered
}

// verdict returns why KEDA has made no HPA. KEDA's message may hold credentials, and only tells which triggers it is about.
func (t *tracked) verdict(object *unstructured.Unstructured) Problem {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "False" {
			message, _ := c["message"].(string)
			return Problem{t.blame(message), TriggerNotBuilt}
		}
	}
	return Problem{Reason: Waiting}
}

// blame returns the names of the triggers that a message of KEDA is about, or of all.
func (t *tracked) blame(message string) string {
	letters := strings.NewReplacer("-", "", "_", "", " ", "")
	message = strings.ToLower(letters.Replace(message))
	names := manifest.TriggerNames(t.owner.Triggers)
	var about []string
	for i, trigger := range t.owner.Triggers {
		ref := trigger.AuthenticationRef
		byType := strings.Contains(message, strings.ToLower(letters.Replace(trigger.Type)))
		byReference := ref != nil && strings.Contains(message, strings.ToLower(letters.Replace(ref.Name)))
		if byType || byReference {
			about = append(about, names[i])
		}
	}
	if len(about) == 0 {
		about = names
	}
	return strings.Join(about, " or ")
}

// delete deletes an object of this package, unless it was made anew meanwhile.
func (r *Reader) delete(ctx context.Context, resource schema.GroupVersionResource, o metav1.Object) {
	uid := o.GetUID()
	background := metav1.DeletePropagationBackground
	_ = r.Requests.Resource(resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{ // the next sweep tries again
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
	})
}

func newProbeName() string { return "scaledjob-probe-" + strings.ToLower(rand.Text()[:12]) }

// probe asks KEDA at first, while it does not answer, and when it is asked to.
func (r *Reader) probe(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.probing:
		}
		reason := r.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		changed := r.health.result(time.Now(), reason)
		if reason != "" {
			timer.Reset(betweenProbes)
		} else {
			r.lastRead = time.Now()
		}
		r.mu.Unlock()
		if reason == "" && !cache.WaitForCacheSync(ctx.Done(), r.synced) {
			return
		}
		if changed {
			r.resume()
		}
	}
}

// resume gives all owners a round, spread over some time.
func (r *Reader) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var delay time.Duration
	for key, t := range r.owners {
		t.hurry = true
		r.keys.After(key, delay)
		delay += min(5*time.Millisecond, spread/time.Duration(len(r.owners)))
	}
}

// ask asks the API server for the kinds, and KEDA for a metric that does not exist. The answer of KEDA's
// metrics server has the words of gRPC.
func (r *Reader) ask(ctx context.Context) Reason {
	for _, need := range []struct {
		resource schema.GroupVersionResource
		missing  Reason
	}{{scaledObjects, KEDAMissing}, {readingTargets, DefinitionMissing}, {hpas, Unanswered}} {
		_, err := r.Requests.Resource(need.resource).Namespace(r.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsNotFound(err):
			return need.missing
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return Forbidden
		case err != nil:
			return Unanswered
		}
	}
	namespace := r.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	v := r.Values.Read(externalmetrics.Metric{Namespace: namespace, Resource: "s0-probe", Selector: labels.SelectorFromSet(labels.Set{labelObject: r.probeName})})
	switch {
	case v.Reason == externalmetrics.ServerError && strings.Contains(v.Err.Error(), "rpc error"):
		return ""
	case v.Reason == externalmetrics.Unavailable, v.Reason == externalmetrics.Forbidden, v.Reason == externalmetrics.NotServed:
		return reasonOf(v.Reason)
	}
	return OtherMetricsServer
}

// sweep deletes the objects that nobody needs, and frees those that KEDA does not.
func (r *Reader) sweep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.sweeping:
		case <-time.After(betweenSweeps):
		}
		for _, resource := range []schema.GroupVersionResource{scaledObjects, readingTargets} {
			for _, object := range r.objects[resource].GetStore().List() {
				u, ok := object.(*unstructured.Unstructured)
				switch {
				case !ok:
				case u.GetDeletionTimestamp() != nil:
					r.free(ctx, resource, u)
				case r.unneeded(u):
					r.delete(ctx, resource, u)
				}
			}
		}
	}
}

// unneeded reports whether no owner reads through the object.
func (r *Reader) unneeded(o metav1.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key, found := r.byObject[cache.NewObjectName(o.GetNamespace(), o.GetName())]; found {
		return !r.owners[key].controls(o)
	}
	if r.complete {
		return true
	}
	for _, t := range r.owners { // an edit made another
		if t.controls(o) {
			return true
		}
	}
	return false
}

// free removes KEDA's finalizer from an object that KEDA does not free. Nothing of it is to be restored.
func (r *Reader) free(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) {
	now, at := time.Now(), slices.Index(o.GetFinalizers(), finalizer)
	r.mu.Lock()
	since, known := r.leaving[o.GetUID()]
	if !known {
		r.leaving[o.GetUID()] = now
	}
	if at >= 0 {
		wake(r.probing) // KEDA may be alive, and no owner have a new value
	}
	held := known && at >= 0 && now.Sub(since) >= terminating && now.Sub(r.lastRead) >= terminating
	r.mu.Unlock()
	if !held {
		return
	}
	path := "/metadata/finalizers/" + strconv.Itoa(at)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": o.GetUID()},
		{"op": "test", "path": path, "value": finalizer},
		{"op": "remove", "path": path},
	})
	if err == nil { // the next sweep tries again
		_, _ = r.Requests.Resource(resource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	}
}
