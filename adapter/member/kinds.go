package member

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// kinds finds the resources of kinds, and the kinds of their scales. It reads the group and version of a
// kind alone, once: a member may claim to have groups without end.
type kinds struct {
	client rest.Interface

	mu     sync.Mutex
	known  map[schema.GroupVersionKind]*meta.RESTMapping
	scales map[schema.GroupVersionResource]schema.GroupVersionKind
}

// RESTMapping returns the resource of a kind in the first version.
func (k *kinds) RESTMapping(of schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	kind := of.WithVersion(strings.Join(versions, ""))
	k.mu.Lock()
	known := k.known[kind]
	k.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var all metav1.APIResourceList
	path := dynamic.LegacyAPIPathResolverFunc(kind) + "/" + kind.GroupVersion().String()
	if err := k.client.Get().AbsPath(path).Do(context.Background()).Into(&all); err != nil { // it has a timeout
		return nil, fmt.Errorf("find %s: %w", kind.Kind, err)
	}
	for _, r := range all.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
			known = &meta.RESTMapping{Resource: kind.GroupVersion().WithResource(r.Name), GroupVersionKind: kind, Scope: meta.RESTScopeNamespace}
		}
	}
	if known == nil {
		return nil, &meta.NoKindMatchError{GroupKind: of, SearchedVersions: versions}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[kind] = known
	for _, r := range all.APIResources {
		if r.Name == known.Resource.Resource+"/scale" {
			k.scales[known.Resource] = schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		}
	}
	return known, nil
}

// ResourceFor returns the resource of any version that is known.
func (k *kinds) ResourceFor(of schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.known {
		if m.Resource.GroupResource() == of.GroupResource() {
			return m.Resource, nil
		}
	}
	return of, &meta.NoResourceMatchError{PartialResource: of}
}

// ScaleForResource returns the kind of a resource's scale.
func (k *kinds) ScaleForResource(of schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	scale, is := k.scales[of]
	if !is {
		return scale, fmt.Errorf("%s has no scale", of.Resource)
	}
	return scale, nil
}
