// Package permissions checks that a program needs every permission that its manifests grant.
//
//	permissions.Exact(t, c.Requests(t), account, manifest.Read(t, "../manifests/rbac.yaml"))
//
// A permission is a verb for a resource, and for a name if the rule has names. A program
// needs it if the API server has allowed a request that no other permission allows: without the
// permission, the request would have been forbidden.
package permissions

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// Exact checks the requests of a user against the rules of all Roles and ClusterRoles in the
// documents. The rules allow each request, and each permission was needed. The API server may
// forbid what a new rule allows for a moment.
//
// Requests do not show the permission to update the finalizers of an owner, which the API
// server asks for when a dependent object is created. It counts as needed if the user created
// a dependent: the clusters of package cluster check it.
//
// rare are permissions that a program needs only if something happens that a test cannot make
// happen. They may be unneeded.
func Exact(t testing.TB, requests []cluster.Request, user, documents string, rare ...string) {
	t.Helper()
	unneeded, forbidden := check(requests, user, rules(t, documents))
	unneeded = slices.DeleteFunc(unneeded, func(p string) bool { return slices.Contains(rare, p) })
	assert.Empty(t, forbidden, "requests that the rules do not allow")
	assert.Empty(t, unneeded, "permissions that no request has needed")
}

// A permission allows a verb for a resource. An empty namespace or name stands for all.
type permission struct{ verb, group, resource, namespace, name string }

func (p permission) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", p.verb, strings.Trim(p.group+"/"+p.resource, "/"), p.namespace, p.name))
}

func (p permission) allows(r cluster.Request) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	sameResource := p.group == r.Group && (p.resource == resource || p.resource == "*")
	sameObject := cmp.Or(p.namespace, r.Namespace) == r.Namespace && cmp.Or(p.name, r.Name) == r.Name
	return p.verb == r.Verb && sameResource && sameObject
}

func (p permission) isOfFinalizers() bool {
	return p.verb == "update" && strings.HasSuffix(p.resource, "/finalizers")
}

// dependents are the resources whose objects are created with an owner that they block.
var dependents = []string{"batch/jobs", "keda.sh/scaledobjects", "scaledjob.github.io/readingtargets"}

// createdDependent reports whether the request created an object that needs access to its owner's finalizers.
func createdDependent(r cluster.Request) bool {
	return slices.Contains(dependents, r.Group+"/"+r.Resource) && r.Verb == "create" && r.Code == http.StatusCreated
}

// check returns the permissions that no request of the user needed, and its forbidden requests.
func check(requests []cluster.Request, user string, granted []permission) (unneeded, forbidden []string) {
	needed := map[permission]bool{}
	for _, r := range requests {
		if r.User != user {
			continue
		}
		if r.Code == http.StatusForbidden {
			if !slices.ContainsFunc(granted, func(p permission) bool { return p.allows(r) }) {
				forbidden = append(forbidden, fmt.Sprintf("%+v", r))
			}
			continue
		}
		var allowing []permission
		for _, p := range granted {
			switch {
			case p.allows(r):
				allowing = append(allowing, p)
			case p.isOfFinalizers() && createdDependent(r):
				needed[p] = true
			}
		}
		if len(allowing) == 1 {
			needed[allowing[0]] = true
		}
	}
	for _, p := range granted {
		if !needed[p] {
			unneeded = append(unneeded, p.String())
		}
	}
	return unneeded, forbidden
}

// rules returns the permissions that Roles and ClusterRoles grant.
func rules(t testing.TB, documents string) (granted []permission) {
	t.Helper()
	for _, u := range manifest.Objects(t, documents) {
		if u.GetKind() != "Role" && u.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &role, true))
		granted = append(granted, permissions(role.Rules, role.Namespace)...)
	}
	require.NotEmpty(t, granted, "no rules")
	return granted
}

func permissions(rules []rbacv1.PolicyRule, namespace string) (granted []permission) {
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					for _, name := range names {
						granted = append(granted, permission{verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return granted
}
