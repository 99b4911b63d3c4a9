package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// Members come and go while the controller runs.
func (s *fixture) setsUp(t *testing.T) {
	patcher := s.patcher(t)
	setup := func(name string, args ...string) (string, error) {
		return s.command(t, append([]string{
			"setup-member", name, "--keda-kubeconfig", patcher, "--member-kubeconfig", s.members[name].Kubeconfig(),
		}, args...)...)
	}
	p := s.start(t, "-namespace", "none")
	p.Said("acting")
	for _, name := range names[:2] {
		out, err := setup(name, "--serve", "*", "--allow", "sets=sets-there", "--allow", "refuses=missing")
		require.NoError(t, err, out)
		p.Said("member registered\" member=" + name)
	}
	elsewhere := strings.Replace(s.members[three].Config().Host, "127.0.0.1", "localhost", 1)
	out, err := setup(three, "--serve", "*", "--member-api-url", elsewhere)
	require.NoError(t, err, out)
	p.Said("server=" + elsewhere)

	out, err = s.command(t, "list-members", "--keda-kubeconfig", s.home.Kubeconfig())
	require.NoError(t, err)
	for _, want := range append([]string{elsewhere, "keda/" + registry.Secret + "/" + one + ".kubeconfig+kedify-agent@" + one}, names...) {
		require.Contains(t, out, want)
	}

	s.isSetUp(t, three, true)
	out, err = s.command(t, "delete-member", three, "--keda-kubeconfig", patcher, "--member-kubeconfig", s.members[three].Kubeconfig())
	require.NoError(t, err, out)
	p.Said("member removed\" member=" + three)
	s.isSetUp(t, three, false)
	out, err = s.command(t, "delete-member", three, "--keda-kubeconfig", patcher)
	require.Error(t, err)
	require.Contains(t, out, "there is no member")
	p.Stop()
	s.servesNamespaces(t, setup)
	s.addTokens(t)
	s.hasLeastPrivilege(t)
}

// servesNamespaces checks that a member has Roles in the namespaces that it serves, and that the
// controller needs no more, nor a UID in the registration.
func (s *fixture) servesNamespaces(t *testing.T, setup func(string, ...string) (string, error)) {
	q, other, also := s.space(t, "served"), s.space(t, "unserved"), s.space(t, "also")
	out, err := setup(three, "--serve", "also,served")
	require.NoError(t, err, out)
	hub := s.home.client.CoreV1()
	_, err = hub.Secrets(registry.Namespace).Patch(t.Context(), registry.Secret, types.MergePatchType,
		secretData(t, map[string][]byte{three + ".registration": []byte(`{"namespaces": ["also", "served"]}`)}), metav1.PatchOptions{})
	require.NoError(t, err)
	for _, q := range []*space{q, other, also} {
		q.waiting("queue", 2)
		q.job("work", "  memberClusters: [{name: "+three+"}]", "")
	}
	p := s.start(t)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{2}, q.counts(t, "work", three))
		ready, why := other.condition(t, dsj, "work", "Ready")
		require.Equal(t, "False SpecCheckFailed", ready)
		require.Contains(t, why, `found the namespace "unserved"; use one for which the hub has permissions on the member: also, served (setup-member -serve)`)
	})
	stored, err := hub.ConfigMaps(registry.Namespace).Get(t.Context(), "multicluster-members", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, stored.Data[three])
	out, err = s.command(t, "list-orphans", three, "--keda-kubeconfig", s.home.Kubeconfig())
	require.NoError(t, err, out)
	members, err := registry.Registry{Client: s.home.client, Namespace: registry.Namespace}.List(t.Context())
	require.NoError(t, err)
	c, err := kubernetes.NewForConfig(members[2].Config)
	require.NoError(t, err)
	for _, namespace := range []string{"", "unserved"} {
		_, err = c.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), err)
	}
	p.Stop()
	s.losesNamespace(t, also, q)
	p = s.start(t)
	for _, q := range []*space{q, other, also} {
		require.NoError(t, q.dynamic.Resource(dsj).Namespace(q.namespace).Delete(t.Context(), "work", metav1.DeleteOptions{}))
	}
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{0}, q.counts(t, "work", three)) })
	out, err = setup(three, "--serve", "*")
	require.NoError(t, err, out)
	p.Said("server=" + s.members[three].Config().Host)
	p.Stop()
}

// losesNamespace checks that a namespace in which the hub lost its permissions concerns its own
// objects only, which name it.
func (s *fixture) losesNamespace(t *testing.T, of, other *space) {
	bindings := s.members[three].client.RbacV1().RoleBindings(of.namespace)
	binding, err := bindings.Get(t.Context(), registry.Role, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, bindings.Delete(t.Context(), registry.Role, metav1.DeleteOptions{}))
	p := s.start(t)
	other.waiting("queue", 4)
	of.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{4}, other.counts(t, "work", three))
		ready, why := other.condition(t, dsj, "work", "Ready")
		require.Equal(t, "True Ready", ready, why)
		require.Equal(t, "1/1", other.print(t, dsj, "work", "membersCount"))
		m := of.member(t, dsj, "work", three)
		require.Equal(t, "NotReady", m["state"])
		require.Contains(t, m["description"], `watch of Jobs in also: jobs.batch is forbidden`)
	})
	p.Stop()
	binding.ResourceVersion, binding.UID = "", ""
	_, err = bindings.Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
}

// patcher returns the kubeconfig of a user of the home cluster who may patch the Secret of
// the members, and nothing else. The Secret exists.
func (s *fixture) patcher(t *testing.T) string {
	_, err := s.home.client.CoreV1().Secrets(registry.Namespace).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: registry.Secret}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.apply(t, registry.Namespace, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: patcher}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [`+registry.Secret+`], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: patcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: patcher}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: patcher}]`)
	return s.home.UserKubeconfig(t, "patcher")
}

// isSetUp checks that all that Setup makes on the member is there, or that nothing is.
func (s *fixture) isSetUp(t *testing.T, member string, is bool) {
	t.Helper()
	c := s.members[member].client
	_, system := c.RbacV1().RoleBindings(metav1.NamespaceSystem).Get(t.Context(), registry.Role, metav1.GetOptions{})
	_, role := c.RbacV1().ClusterRoles().Get(t.Context(), registry.Role, metav1.GetOptions{})
	_, binding := c.RbacV1().ClusterRoleBindings().Get(t.Context(), registry.Role, metav1.GetOptions{})
	_, account := c.CoreV1().ServiceAccounts(registry.Namespace).Get(t.Context(), registry.Account, metav1.GetOptions{})
	_, token := c.CoreV1().Secrets(registry.Namespace).Get(t.Context(), registry.Account+"-token", metav1.GetOptions{})
	for what, err := range map[string]error{"role": role, "in kube-system": system, "binding": binding, "account": account, "token": token} {
		if is {
			require.NoError(t, err, what)
		} else {
			require.True(t, apierrors.IsNotFound(err), what)
		}
	}
}

// What the Secret gives may do what is needed on the member, and no more.
func (s *fixture) hasLeastPrivilege(t *testing.T) {
	members, err := registry.Registry{Client: s.home.client, Namespace: registry.Namespace}.List(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 3)
	c, err := kubernetes.NewForConfig(members[0].Config)
	require.NoError(t, err)
	_, err = c.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = c.CoreV1().Secrets("keda").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	_, err = c.BatchV1().Jobs("default").Patch(t.Context(), "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	_, err = c.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
}

// Nothing is acted on that is not switched on.
func (s *fixture) switches(t *testing.T) {
	idle := process.Start(t, exec.Command(s.binary, "-kubeconfig", s.kubeconfig, "-health-probe-bind-address", "127.0.0.1:0"))
	idle.Said("nothing to act on")
	idle.Stop()

	q := s.space(t, "switches")
	q.waiting("queue", 2)
	q.job("jobs", weights(1, 1), "")
	q.apply(t, q.namespace, strings.Replace(manifest.Read(t, "../testdata/distributedscaledobject.yaml"), "gracePeriod: 1m", "gracePeriod: 5m", 1))
	p := s.start(t, "-namespace", q.namespace, "-dsj=false")
	q.becomes(func(t *assert.CollectT) { require.NotEmpty(t, q.status(t, dso, "nginx")) })
	q.stays(2*time.Second, func(t require.TestingT) {
		require.Empty(t, q.status(t, dsj, "jobs"))
		require.Equal(t, []int{0, 0}, q.counts(t, "jobs", one, two))
	})
	p.Stop()
	q.apply(t, q.namespace, strings.Replace(manifest.Read(t, "../testdata/distributedscaledobject.yaml"), "name: nginx", "name: other", 1))
	p = s.start(t, "-namespace", q.namespace, "-dso=false")
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{1, 1}, q.counts(t, "jobs", one, two)) })
	q.stays(2*time.Second, func(t require.TestingT) { require.Empty(t, q.status(t, dso, "other")) })
	p.Stop()
}

// A kubeconfig that cannot be used is no deregistration: what is on the member is not
// made again elsewhere, and a deletion waits for it, until there is one that can.
func (s *fixture) breaks(t *testing.T) {
	q := s.space(t, "breaks")
	q.waiting("queue", 4)
	q.job("work", weights(1, 1)+fmt.Sprintf(failoverPolicy, "1s", "1s", "keepAll"), "")
	s.start(t, "-namespace", q.namespace).Said("acting")
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{2, 2}, q.counts(t, "work", one, two)) })
	secrets := s.home.client.CoreV1().Secrets(registry.Namespace)
	before, err := secrets.Get(t.Context(), registry.Secret, metav1.GetOptions{})
	require.NoError(t, err)
	write := func(kubeconfig []byte) {
		data, err := json.Marshal(map[string]any{"data": map[string][]byte{two + ".kubeconfig": kubeconfig}})
		require.NoError(t, err)
		_, err = secrets.Patch(t.Context(), registry.Secret, types.MergePatchType, data, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	write([]byte("kubeconfig"))
	unreadable := func(t require.TestingT) {
		ready, why := q.condition(t, dsj, "work", "Ready")
		require.Equal(t, "Unknown CredentialsUnreadable", ready)
		require.Contains(t, why, "the previous connection, if there is one, is kept")
		require.Equal(t, "CredentialsUnreadable", q.print(t, dsj, "work", "why"))
	}
	q.becomes(func(t *assert.CollectT) { unreadable(t) })
	q.stays(3*time.Second, unreadable)
	t.Cleanup(func() { // also of a test that fails
		_, err := secrets.Patch(context.Background(), registry.Secret, types.MergePatchType, secretData(t, before.Data), metav1.PatchOptions{})
		assert.NoError(t, err)
	})
	again := s.start(t, "-namespace", q.namespace) // which has never known another
	again.Said("acting")
	q.stays(5*time.Second, func(t require.TestingT) { require.Equal(t, []int{2, 2}, q.counts(t, "work", one, two)) })
	again.Kill()
	require.NoError(t, q.dynamic.Resource(dsj).Namespace(q.namespace).Delete(t.Context(), "work", metav1.DeleteOptions{}))
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{0, 0}, q.counts(t, "work", one, two), "the one before can be used yet")
	})
	write(before.Data[two+".kubeconfig"])
}

func secretData(t *testing.T, data map[string][]byte) []byte {
	patch, err := json.Marshal(map[string]any{"data": data})
	require.NoError(t, err)
	return patch
}

// Where a member refuses Jobs, Ready says so and goes on saying so.
func (s *fixture) refuses(t *testing.T) {
	q := s.space(t, "refuses")
	q.waiting("queue", 2)
	q.job("work", "  memberClusters: [{name: "+one+", targetNamespace: missing}]", "")
	s.start(t, "-namespace", q.namespace)
	refused := func(t require.TestingT) {
		ready, why := q.condition(t, dsj, "work", "Ready")
		require.Equal(t, "False JobCreateFailed", ready)
		require.Contains(t, why, "missing")
	}
	q.becomes(func(t *assert.CollectT) { refused(t) })
	q.stays(5*time.Second, refused)
	told := 0
	for _, e := range q.events(t, "work") {
		if strings.Contains(e, "JobCreateFailed") {
			told++
		}
	}
	require.Equal(t, 1, told)
}

// A member that refuses beside one that does not: its state stays, and the other gets its Jobs.
func (s *fixture) refusesBeside(t *testing.T) {
	q := s.space(t, "beside")
	q.waiting("queue", 4)
	q.job("work", weights(1, 1), "")
	quotas, none := q.members[one].client.CoreV1().ResourceQuotas(q.namespace), corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	require.NoError(t, err)
	quota.ResourceVersion, quota.Status = "", corev1.ResourceQuotaStatus{Hard: none, Used: none} // admission may have written it
	_, err = quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})                     // no controller of quotas runs
	require.NoError(t, err)
	s.start(t, "-namespace", q.namespace)
	refused := func(t require.TestingT) {
		require.Equal(t, []int{0, 4}, q.counts(t, "work", one, two))
		ready, why := q.condition(t, dsj, "work", "Ready")
		require.NotEqual(t, "True Ready", ready)
		require.Contains(t, why, one)
		require.Contains(t, q.member(t, dsj, "work", one)["description"], "CreateRejected since ")
		require.Nil(t, q.member(t, dsj, "work", two)["problem"])
	}
	q.becomes(func(t *assert.CollectT) { refused(t) })
	q.stays(5*time.Second, refused)
	q.waiting("queue", 0)
	q.stays(3*time.Second, refused) // nothing is asked of it any more
}

// A member that does not answer when the controller starts delays the others until it
// has a hard taint, and not for a polling interval each time.
func (s *fixture) startsWithout(t *testing.T) {
	q := s.space(t, "without")
	q.interval = 300
	q.waiting("queue", 4)
	q.job("work", weights(1, 1)+fmt.Sprintf(failoverPolicy, "20s", "5m", "keepAll"), "")
	q.away(two)
	defer q.back(two)
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{4}, q.counts(t, "work", one)) })
	q.becomes(func(t *assert.CollectT) {
		require.Contains(t, q.member(t, dsj, "work", two)["description"], "connection refused")
		require.Equal(t, "1/2", q.print(t, dsj, "work", "membersCount"))
		require.EqualValues(t, 4, q.status(t, dsj, "work")["desiredJobs"])
	})
}

// What the README says to do comes to what it says.
func TestLocal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	p := process.Start(t, exec.Command(process.Build(t, "../local"), "-dir", dir, "-members", "2", "-work", "-1s"))
	p.Said("ready.")
	of := func(name string) (c site, d dynamic.Interface) {
		var err error
		c.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, name+".kubeconfig"))
		require.NoError(t, err)
		c.client, err = kubernetes.NewForConfig(c.config)
		require.NoError(t, err)
		d, err = dynamic.NewForConfig(c.config)
		require.NoError(t, err)
		return c, d
	}
	s := &fixture{binary: process.Build(t, ".."), members: map[string]site{}}
	s.kubeconfig = filepath.Join(dir, "home.kubeconfig")
	s.home, s.dynamic = of("home")
	s.members["member-1"], _ = of("member-1")
	s.members["member-2"], _ = of("member-2")
	q := &space{s, t, "default", 1}
	q.apply(t, q.namespace, manifest.Read(t, "../manifests/sample.yaml"))
	controller := s.start(t)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{4, 6}, q.counts(t, "order-consumer", "member-1", "member-2"))
		ready, why := q.condition(t, dsj, "order-consumer", "Ready")
		require.Equal(t, "True Ready", ready, why)
	})
	controller.Stop()
	p.Stop()
	require.NoDirExists(t, dir)
}
