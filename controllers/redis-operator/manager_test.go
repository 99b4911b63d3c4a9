package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func TestServed(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1.GroupVersion})
	require.EqualError(t, served(mapper), "the cluster has no ScaledJobs of batch.miracle.dev: apply redis-operator.yaml of the release, or config/crd of controllers/redis-operator")
	mapper.Add(v1.GroupVersion.WithKind("ScaledJob"), meta.RESTScopeNamespace)
	require.NoError(t, served(mapper))
}

// caches have synced, or wait until the context ends.
type caches struct {
	cache.Cache
	synced bool
}

func (c caches) WaitForCacheSync(ctx context.Context) bool {
	if !c.synced {
		<-ctx.Done()
	}
	return c.synced
}

func TestSynced(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	require.NoError(t, synced(caches{synced: true})(request))
	require.EqualError(t, synced(caches{})(request), "the caches have not synced")
}
