package permissions

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

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
	// Not are permissions that a program of this test does not use; Only, if there are any, are all that it uses.
	Not, Only []string
	// Edit does what needs the permission, once the program runs.
	Edit func(t *testing.T, namespace, permission string)
	// Audited waits for the request that the API server denies instead: of KEDA the program has fixed texts only.
	Audited bool
}

// TakeEachAway takes away each permission of the program, and waits until it says which one it lacks.
func (p Program) TakeEachAway(t *testing.T, c *cluster.Cluster) {
	reduced := eachWithout(t, p.Documents)
	for _, permission := range append(slices.Clone(p.Not), p.Only...) {
		require.NotNil(t, reduced[permission], permission)
	}
	maps.DeleteFunc(reduced, func(permission string, _ []*unstructured.Unstructured) bool {
		return slices.Contains(p.Not, permission) || (len(p.Only) > 0 && !slices.Contains(p.Only, permission))
	})
	for permission, objects := range reduced {
		namespace := fmt.Sprintf("place-%08x", crc32.ChecksumIEEE([]byte(permission)))
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			access, leases, user := Place(t, c, namespace, objects)
			p.Prepare(t, namespace, leases, permission)
			run := p.Start(t, access, namespace, leases)
			if p.Edit != nil {
				p.Edit(t, namespace, permission)
			}
			fields := strings.Fields(permission)
			want := fmt.Sprintf("cannot %s resource %q", fields[0], fields[1])
			if strings.HasSuffix(permission, "/finalizers") {
				want = "cannot set blockOwnerDeletion"
			}
			require.EventuallyWithT(t, func(collect *assert.CollectT) {
				said := strings.ReplaceAll(run.Output(), `\"`, `"`)
				switch {
				case p.Audited:
					said = Denied(c.Requests(t), user)
				case p.Status != nil:
					said += p.Status(collect, namespace)
				}
				require.Contains(collect, said, cmp.Or(p.Says[permission], want))
			}, time.Minute, 200*time.Millisecond)
		})
	}
}

// Denied returns what the API server forbade the user.
func Denied(requests []cluster.Request, user string) string {
	var lines []string
	for _, r := range requests {
		if r.User == user && r.Code == http.StatusForbidden {
			lines = append(lines, fmt.Sprintf("cannot %s resource %q", r.Verb, r.Resource))
		}
	}
	return strings.Join(lines, "\n")
}

// Place makes a namespace and what the documents for the namespace tenant have, and returns the access
// of their ServiceAccount, its namespace and its user.
func Place(t *testing.T, c *cluster.Cluster, namespace string, objects []*unstructured.Unstructured) (access, leases, user string) {
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
	user = fmt.Sprintf("system:serviceaccount:%s:%s", leases, account)
	return c.UserKubeconfig(t, user), leases, user
}

// Without returns the documents without a permission, such as "list jobs".
func Without(t testing.TB, documents, permission string) []*unstructured.Unstructured {
	reduced := eachWithout(t, documents)[permission]
	require.NotNil(t, reduced, permission)
	return reduced
}

// eachWithout returns the documents as often as their Roles and ClusterRoles grant a permission, each
// time without that permission. The keys are verbs and resources, such as "list jobs", and the name if the
// rule has one, such as "get leases scheduler".
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
					names, _, _ := unstructured.NestedStringSlice(rule, "resourceNames")
					reduced[strings.TrimSpace(fmt.Sprint(verb, " ", resource, " ", strings.Join(names, ",")))] = objects
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

// Wait waits until the program has made an object.
func Wait(t *testing.T, objects dynamic.ResourceInterface) (name string) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l, err := objects.List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.NotEmpty(c, l.Items)
		name = l.Items[0].GetName()
	}, time.Minute, 200*time.Millisecond)
	return name
}

// Unlabel hides the first object that the program makes from it: it is not the program's without the label.
func Unlabel(t *testing.T, objects dynamic.ResourceInterface, label string) {
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: null}}}`, label)
	_, err := objects.Patch(t.Context(), Wait(t, objects), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}
