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

// kinds finds the resources of kinds that have a scale. It reads the group and version of a kind alone,
// once: a member may claim to have groups without end.
type kinds struct {
	client rest.Interface

	mu    sync.Mutex
	known map[schema.GroupResource]scalable
}

// A scalable is a kind in the version that was asked for last, and the kind of its scale.
type scalable struct {
	*meta.RESTMapping
	scale schema.GroupVersionKind
}

// RESTMapping returns the resource of a kind in the first version.
func (k *kinds) RESTMapping(of schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	kind := of.WithVersion(strings.Join(versions, ""))
	k.mu.Lock()
	for _, s := range k.known {
		if s.GroupVersionKind == kind {
			k.mu.Unlock()
			return s.RESTMapping, nil
		}
	}
	k.mu.Unlock()
	var all metav1.APIResourceList
	path := dynamic.LegacyAPIPathResolverFunc(kind) + "/" + kind.GroupVersion().String()
	if err := k.client.Get().AbsPath(path).Do(context.Background()).Into(&all); err != nil { // it has a timeout
		return nil, fmt.Errorf("find %s: %w", kind.Kind, err)
	}
	var found *meta.RESTMapping
	for _, r := range all.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
			found = &meta.RESTMapping{Resource: kind.GroupVersion().WithResource(r.Name), GroupVersionKind: kind, Scope: meta.RESTScopeNamespace}
		}
	}
	if found == nil {
		return nil, &meta.NoKindMatchError{GroupKind: of, SearchedVersions: versions}
	}
	for _, r := range all.APIResources {
		if r.Name == found.Resource.Resource+"/scale" {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.known[found.Resource.GroupResource()] = scalable{found, schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}}
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no scale", kind.Kind)
}

// forget lets a resource be read again: its version may not be served any more.
func (k *kinds) forget(of schema.GroupResource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, of)
}

// ResourceFor returns the resource in the version that was asked for last.
func (k *kinds) ResourceFor(of schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, is := k.known[of.GroupResource()]; is {
		return s.Resource, nil
	}
	return of, &meta.NoResourceMatchError{PartialResource: of}
}

// ScaleForResource returns the kind of a resource's scale.
func (k *kinds) ScaleForResource(of schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, is := k.known[of.GroupResource()]
	if !is {
		return s.scale, fmt.Errorf("%s has no scale", of.Resource)
	}
	return s.scale, nil
}
