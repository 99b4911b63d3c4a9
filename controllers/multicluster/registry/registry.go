package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Names in the clusters.
const (
	Secret    = "kedify-agent-multicluster-kubeconfigs"
	Namespace = "keda"         // of the Secret and, on members, of the ServiceAccount
	Account   = "kedify-agent" // the ServiceAccount
	// keyOfJobs is the entry of the Secret that proves which Jobs the hub created. The first
	// Add makes it.
	keyOfJobs = "jobs.key"
)

// A Registry is the Secret of the home cluster.
type Registry struct {
	Client    kubernetes.Interface
	Namespace string
}

// ID returns the place of the member's kubeconfig.
func (r Registry) ID(m Member) string {
	return fmt.Sprintf("%s/%s/%s%s+%s", r.Namespace, Secret, m.Name, suffix, m.Context)
}

// Add registers a member, or gives it another kubeconfig and registration. It needs to patch
// the Secret, and to create it if there is none.
func (r Registry) Add(ctx context.Context, name string, kubeconfig []byte, entry Registration) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, _, err := parse(kubeconfig); err != nil {
		return fmt.Errorf("member %s: %w", name, err)
	}
	registration, err := json.Marshal(entry)
	if err == nil {
		_, err = parseRegistration(registration)
	}
	if err != nil {
		return fmt.Errorf("member %s: %w", name, err)
	}
	data := map[string][]byte{name + suffix: kubeconfig, name + registrationSuffix: registration}
	updated, err := r.patch(ctx, types.MergePatchType, map[string]any{"data": data})
	switch {
	case apierrors.IsNotFound(err):
		data[keyOfJobs] = []byte(rand.Text())
		_, err = r.Client.CoreV1().Secrets(r.Namespace).Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: Secret, Namespace: r.Namespace}, Data: data}, metav1.CreateOptions{})
	case err == nil && alone(updated, name):
		err = r.makeKey(ctx, updated)
	}
	return r.explain(err)
}

// makeKey stores a key unless the Secret has one, also if other members are being registered.
func (r Registry) makeKey(ctx context.Context, secret *corev1.Secret) (err error) {
	for secret.Data[keyOfJobs] == nil {
		_, err = r.patch(ctx, types.MergePatchType, map[string]any{"metadata": map[string]string{"resourceVersion": secret.ResourceVersion},
			"data": map[string][]byte{keyOfJobs: []byte(rand.Text())}})
		if !apierrors.IsConflict(err) {
			return err
		}
		if secret, err = r.patch(ctx, types.MergePatchType, map[string]any{}); err != nil {
			return err
		}
	}
	return nil
}

// alone reports whether the Secret has no other member. With others there may be Jobs without a
// proof, which a new key would make foreign: they would be created again.
func alone(s *corev1.Secret, name string) bool {
	for key := range s.Data {
		if other, ok := strings.CutSuffix(key, suffix); ok && other != name {
			return false
		}
	}
	return true
}

// explain adds the objects to create first.
func (r Registry) explain(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the home cluster has no namespace %s: create it first, with kubectl create namespace %s: %w", r.Namespace, r.Namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: patch of Secret %s in namespace %s is needed; create the Secret first, with kubectl create secret generic -n %s %s",
			err, Secret, r.Namespace, r.Namespace, Secret)
	}
	return err
}

// Remove ends a member's registration. It is an error if there is none. It needs to
// patch the Secret.
func (r Registry) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	registration := "/data/" + name + registrationSuffix
	_, err := r.patch(ctx, types.JSONPatchType, []map[string]string{{"op": "remove", "path": "/data/" + name + suffix},
		{"op": "add", "path": registration, "value": ""}, {"op": "remove", "path": registration}}) // which may not exist
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return fmt.Errorf("there is no member %q", name)
	}
	return err
}

func (r Registry) patch(ctx context.Context, kind types.PatchType, patch any) (*corev1.Secret, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return r.Client.CoreV1().Secrets(r.Namespace).Patch(ctx, Secret, kind, data, metav1.PatchOptions{})
}

// List returns the members, by name.
func (r Registry) List(ctx context.Context) ([]Member, error) {
	s, err := r.Client.CoreV1().Secrets(r.Namespace).Get(ctx, Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(s.Data), nil
}

// ListForChange returns the members as List does. It needs to patch the Secret, as Add does.
func (r Registry) ListForChange(ctx context.Context) ([]Member, error) {
	s, err := r.patch(ctx, types.MergePatchType, map[string]any{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.explain(err)
	}
	return Parse(s.Data), nil
}

// Watch calls changed with all members, by name, at first and whenever they are
// others, until the context ends. It returns after the first call. While the API
// server does not answer, the members are the last observed.
func (r Registry) Watch(ctx context.Context, changed func([]Member)) error {
	informer := informers.NewSharedInformerFactoryWithOptions(r.Client, 0, informers.WithNamespace(r.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, Secret).String()
		})).Core().V1().Secrets().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(s any) { changed(Parse(s.(*corev1.Secret).Data)) },
		UpdateFunc: func(_, s any) { changed(Parse(s.(*corev1.Secret).Data)) },
		DeleteFunc: func(any) { changed(nil) },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return ctx.Err()
	}
	return nil
}
