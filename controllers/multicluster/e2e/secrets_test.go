package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// The controller needs each of its permissions, on the home cluster and on the members, and
// no others.
func (s *fixture) permissions(t *testing.T) {
	permissions.Exact(t, s.home.Requests(t), account, processtest.Permissions(t, "../manifests/cluster"),
		"get configmaps keda multicluster-members", // which the ClusterRole allows, too
		"get configmaps",                                                        // without KEDA
		"patch keda.sh/scaledobjects", "get scaledjob.github.io/readingtargets") // of a KEDA that is away for long, and of two controllers
	var roles []string
	for namespace, rules := range map[string][]rbacv1.PolicyRule{"": registry.Rights(), metav1.NamespaceSystem: registry.SystemRights()} {
		role := rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, Rules: rules}
		role.Namespace = namespace
		data, err := yaml.Marshal(role)
		require.NoError(t, err)
		roles = append(roles, string(data))
	}
	var requests []cluster.Request
	for _, name := range names {
		requests = append(requests, s.members[name].Requests(t)...)
	}
	requests = slices.DeleteFunc(requests, func(r cluster.Request) bool {
		tried := r.Verb == "list" && r.Resource == "jobs" && r.Code == http.StatusForbidden // by setup-member, until the new binding counts
		return tried || strings.HasPrefix(r.UserAgent, "e2e.test/")                         // of hasLeastPrivilege
	})
	permissions.Exact(t, requests, "system:serviceaccount:"+registry.Namespace+":"+registry.Account, strings.Join(roles, "---\n"))
}

// No event, status or other object has a secret of the other tests, nor a token of a member, except for KEDA's own on the home
// cluster.
func (s *fixture) tellsNoSecret(t *testing.T) {
	for _, c := range []site{s.members[one], s.members[two], s.members[three]} {
		secret.AbsentFromObjects(t, c.config)
	}
	for _, resource := range []schema.GroupVersionResource{dsj, dso, {Group: "events.k8s.io", Version: "v1", Resource: "events"}} {
		list, err := s.dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, list.Items)
		for _, u := range list.Items {
			if u.GetKind() == "Event" && u.Object["reportingController"] != "multicluster" {
				continue
			}
			delete(u.Object, "spec") // a user wrote it
			text, err := u.MarshalJSON()
			require.NoError(t, err)
			secret.Absent(t, u.GetKind()+" "+u.GetName(), string(text))
		}
	}
}

// addTokens makes secrets of the tokens of the members.
func (s *fixture) addTokens(t *testing.T) {
	members, err := registry.Registry{Client: s.home.client, Namespace: registry.Namespace}.List(t.Context())
	require.NoError(t, err)
	require.Len(t, members, len(names))
	for _, m := range members {
		require.NotEmpty(t, m.Config.BearerToken)
		secret.Add(m.Config.BearerToken)
	}
}

// KEDA sends servers a password, a token and a URL with a password, and the servers repeat them in their
// errors. The output of the controller does not have them; tellsNoSecret looks at the objects.
func (s *fixture) keepsSecrets(t *testing.T) {
	password, token, login := secret.New("password"), secret.New("token"), secret.New("login")
	e, q := secret.NewEcho(t), s.space(t, "secrets")
	q.apply(t, q.namespace, fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: brokers}
stringData: {password: %s, token: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: brokers, namespace: keda}
stringData: {host: "http://guest:%s@%s/"}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: redis}
spec: {secretTargetRef: [{parameter: password, name: brokers, key: password}]}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: http}
spec: {secretTargetRef: [{parameter: token, name: brokers, key: token}]}
---
apiVersion: keda.sh/v1alpha1
kind: ClusterTriggerAuthentication
metadata: {name: rabbitmq}
spec: {secretTargetRef: [{parameter: host, name: brokers, key: host}]}
`, password, token, login, e.HTTP))
	for name, trigger := range map[string]string{ // one that cannot be built fails all of its object
		"work":     fmt.Sprintf("{type: redis, metadata: {address: %q, listName: a, listLength: '1'}, authenticationRef: {name: redis}}", e.Redis),
		"http":     fmt.Sprintf("{type: metrics-api, metadata: {url: 'http://%s/queue', valueLocation: depth, targetValue: '1', authMode: bearer}, authenticationRef: {name: http}}", e.HTTP),
		"rabbitmq": "{type: rabbitmq, metadata: {protocol: http, mode: QueueLength, value: '1', queueName: a}, authenticationRef: {name: rabbitmq, kind: ClusterTriggerAuthentication}}",
	} {
		q.apply(t, q.namespace, fmt.Sprintf(`apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: %s}
spec:
  memberClusters: [{name: %s}]
  scaledJobSpec:
    pollingInterval: 1
    jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: processor, image: "example.com/c:1"}]}}}
    triggers: [%s]`, name, one, trigger))
	}
	p := s.start(t, "-namespace", q.namespace, "-log-level=debug", "-allow-cluster-authentication")
	q.becomes(func(t *assert.CollectT) {
		ready, why := q.condition(t, dsj, "work", "Ready")
		require.Equal(t, "False TriggerError", ready, why)
		require.ElementsMatch(t, []string{password, token, login}, secret.In(e.Requests()))
	})
	p.Stop()
}
