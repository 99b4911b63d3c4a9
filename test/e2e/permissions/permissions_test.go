package permissions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

const documents = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: home}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules:
  - {apiGroups: [batch], resources: [jobs], verbs: [list, create]}
  - {apiGroups: [example.com], resources: [owners/status, owners/finalizers], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: a, namespace: home}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [a], verbs: [get]}
  - {apiGroups: [batch], resources: [jobs], verbs: [list]}
`

// Each permission is needed that a request uses and no other permission allows.
func TestExact(t *testing.T) {
	const user = "system:serviceaccount:home:a"
	list := cluster.Request{User: user, Verb: "list", Group: "batch", Resource: "jobs", Namespace: "other", Code: 200}
	create := cluster.Request{User: user, Verb: "create", Group: "batch", Resource: "jobs", Namespace: "home", Name: "j", Code: 201}
	status := cluster.Request{User: user, Verb: "update", Group: "example.com", Resource: "owners", Subresource: "status", Namespace: "home", Name: "o", Code: 409}
	lease := cluster.Request{User: user, Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: "home", Name: "a", Code: 404}
	with := func(r cluster.Request, change func(*cluster.Request)) cluster.Request {
		change(&r)
		return r
	}
	granted := rules(t, documents)
	require.Len(t, granted, 6)
	twice := []string{"list batch/jobs home"} // the ClusterRole has it, too
	for name, tt := range map[string]struct {
		requests            []cluster.Request
		unneeded, forbidden []string
	}{
		"all": {[]cluster.Request{list, create, status, lease}, twice, nil},
		"another user, group, name, namespace, subresource, verb": {[]cluster.Request{
			with(list, func(r *cluster.Request) { r.User = "admin" }),
			with(create, func(r *cluster.Request) { r.Group = "example.com" }),
			with(status, func(r *cluster.Request) { r.Subresource = "" }),
			with(lease, func(r *cluster.Request) { r.Name = "b" }),
			with(lease, func(r *cluster.Request) { r.Namespace = "other" }),
			with(lease, func(r *cluster.Request) { r.Verb = "delete" }),
		}, []string{
			"list batch/jobs", "create batch/jobs", "update example.com/owners/status", "update example.com/owners/finalizers",
			"get coordination.k8s.io/leases home a", twice[0],
		}, nil},
		"allowed twice": {[]cluster.Request{with(list, func(r *cluster.Request) { r.Namespace = "home" }), create, status, lease}, []string{"list batch/jobs", twice[0]}, nil},
		"rejected otherwise": {[]cluster.Request{list, with(create, func(r *cluster.Request) { r.Code = 422 }), status, lease},
			[]string{"update example.com/owners/finalizers", twice[0]}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			unneeded, forbidden := check(tt.requests, user, granted)
			require.Equal(t, tt.unneeded, unneeded)
			require.Equal(t, tt.forbidden, forbidden)
		})
	}
	soon := with(lease, func(r *cluster.Request) { r.Code = 403 })
	never := with(soon, func(r *cluster.Request) { r.Verb = "delete" })
	unneeded, forbidden := check([]cluster.Request{list, create, status, soon, never}, user, granted)
	require.Equal(t, []string{"get coordination.k8s.io/leases home a", twice[0]}, unneeded)
	require.Len(t, forbidden, 1)
	require.Contains(t, forbidden[0], "Verb:delete")
}
