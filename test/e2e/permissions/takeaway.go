package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// A Program runs in a namespace without one of the permissions of its manifests.
type Program struct {
	// Documents are the manifests for the namespace tenant.
	Documents string
	// Prepare makes the objects that need each permission, in a namespace; leases is the program's own.
	Prepare func(t *testing.T, namespace, leases, permission string)
	// Start starts the program with an access.
	Start func(t *testing.T, kubeconfig, namespace, leases string) *process.Process
	// Status returns what the objects of a namespace say, or nil.
	Status func(t require.TestingT, namespace string) string
	// Says has what the program says instead, by permission: if it works without it, such as because a
	// watch returns the objects that exist first, so that no list is needed, or if the API server has other words.
	Says map[string]string
	// Not are permissions that a program of this test does not use.
	Not []string
}

// TakeEachAway takes away each permission of the program, and waits until it says which one it lacks.
func (p Program) TakeEachAway(t *testing.T, c *cluster.Cluster) {
	reduced := eachWithout(t, p.Documents)
	for _, permission := range p.Not {
		require.Contains(t, reduced, permission)
		delete(reduced, permission)
	}
	i := 0
	for permission, objects := range reduced {
		i++
		namespace := fmt.Sprint("place-", i)
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			access, leases := Place(t, c, namespace, objects)
			p.Prepare(t, namespace, leases, permission)
			run := p.Start(t, access, namespace, leases)
			verb, resource, _ := strings.Cut(permission, " ")
			want := fmt.Sprintf("cannot %s resource %q", verb, resource)
			if strings.HasSuffix(permission, "/finalizers") {
				want = "cannot set blockOwnerDeletion"
			}
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				said := strings.ReplaceAll(run.Output(), `\"`, `"`)
				if p.Status != nil {
					said += p.Status(t, namespace)
				}
				require.Contains(t, said, cmp.Or(p.Says[permission], want))
			}, time.Minute, 200*time.Millisecond)
		})
	}
}

// Place makes a namespace and what the documents for the namespace tenant have, and returns the access
// of their ServiceAccount and its namespace.
func Place(t *testing.T, c *cluster.Cluster, namespace string, objects []*unstructured.Unstructured) (access, leases string) {
	created := manifest.Objects(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	account := ""
	for _, u := range objects {
		text, err := u.MarshalJSON()
		require.NoError(t, err)
		u := manifest.Objects(t, strings.ReplaceAll(string(text), "tenant", namespace))[0]
		created = append(created, u)
		if u.GetKind() == "ServiceAccount" {
			leases, account = u.GetNamespace(), u.GetName()
		}
	}
	manifest.Apply(t, c.Config(), created...)
	return c.UserKubeconfig(t, fmt.Sprintf("system:serviceaccount:%s:%s", leases, account)), leases
}

// eachWithout returns the documents as often as their Roles and ClusterRoles grant a permission, each
// time without that permission. The keys are verbs and resources, such as "list jobs".
func eachWithout(t testing.TB, documents string) map[string][]*unstructured.Unstructured {
	t.Helper()
	reduced := map[string][]*unstructured.Unstructured{}
	for i, u := range manifest.Objects(t, documents) {
		list, _, _ := unstructured.NestedSlice(u.Object, "rules") // others have none
		for r, rule := range list {
			rule := rule.(map[string]any)
			for _, resource := range rule["resources"].([]any) {
				for _, verb := range rule["verbs"].([]any) {
					objects := manifest.Objects(t, documents)
					rules, _, err := unstructured.NestedSlice(objects[i].Object, "rules")
					require.NoError(t, err)
					rules = append(rules, except(rule, "resources", resource), except(rule, "verbs", verb))
					require.NoError(t, unstructured.SetNestedSlice(objects[i].Object, slices.Delete(rules, r, r+1), "rules"))
					reduced[fmt.Sprint(verb, " ", resource)] = objects
				}
			}
		}
	}
	return reduced
}

// except returns the rule without an entry of a list. A list without entries grants nothing.
func except(rule map[string]any, list string, entry any) map[string]any {
	rule = runtime.DeepCopyJSON(rule)
	rule[list] = slices.DeleteFunc(rule[list].([]any), func(e any) bool { return e == entry })
	if len(rule[list].([]any)) == 0 { // which the API server rejects
		rule["resources"], rule["verbs"] = []any{"nothing"}, []any{"get"}
	}
	return rule
}
