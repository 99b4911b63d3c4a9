package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// Members come and go while the controller runs.
func (s *stand) setsUp(t *testing.T) {
	setup := func(name string, args ...string) (string, error) {
		return s.command(t, append([]string{
			"setup-member", name, "--keda-kubeconfig", s.home.Kubeconfig(), "--member-kubeconfig", s.members[name].Kubeconfig(),
		}, args...)...)
	}
	p := s.start(t, "-namespace", "none")
	p.said("acting")
	for _, name := range names[:2] {
		out, err := setup(name)
		require.NoError(t, err, out)
		p.said("member registered\" member=" + name)
	}
	elsewhere := strings.Replace(s.members[three].Config().Host, "127.0.0.1", "localhost", 1)
	out, err := setup(three, "--member-api-url", elsewhere)
	require.NoError(t, err, out)
	p.said("server=" + elsewhere)

	out, err = s.command(t, "list-members", "--keda-kubeconfig", s.home.Kubeconfig())
	require.NoError(t, err)
	for _, want := range append([]string{elsewhere, "keda/" + registry.Secret + "/" + one + ".kubeconfig+kedify-agent@" + one}, names...) {
		require.Contains(t, out, want)
	}

	out, err = s.command(t, "delete-member", three, "--keda-kubeconfig", s.home.Kubeconfig(), "--member-kubeconfig", s.members[three].Kubeconfig())
	require.NoError(t, err, out)
	p.said("member removed\" member=" + three)
	_, err = s.members[three].client.RbacV1().ClusterRoles().Get(t.Context(), registry.Account, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	out, err = s.command(t, "delete-member", three, "--keda-kubeconfig", s.home.Kubeconfig())
	require.Error(t, err)
	require.Contains(t, out, "there is no member")
	out, err = setup(three)
	require.NoError(t, err, out)
	p.said("server=" + s.members[three].Config().Host)
	p.stop()
	s.hasLeastPrivilege(t)
}

// What the Secret gives may do what is needed on the member, and no more.
func (s *stand) hasLeastPrivilege(t *testing.T) {
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
func (s *stand) switches(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), s.binary, "-kubeconfig", s.kubeconfig).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "DSJ_ENABLED=true")

	q := s.space(t, "switches")
	q.job("jobs", weights(1, 1), "")
	q.apply(t, q.namespace, strings.Replace(read(t, "../testdata/distributedscaledobject.yaml"), "gracePeriod: 1m", "gracePeriod: 5m", 1))
	p := s.start(t, "-namespace", q.namespace, "-dsj=false")
	q.becomes(func(t *assert.CollectT) { require.NotEmpty(t, q.status(t, dso, "nginx")) })
	require.Empty(t, q.status(t, dsj, "jobs"))
	p.stop()
}

// What the README says to do comes to what it says.
func TestLocal(t *testing.T) {
	folder, binaries := filepath.Join(t.TempDir(), "fleet"), t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binaries, "..", "../local").CombinedOutput()
	require.NoError(t, err, "%s", out)
	p := launch(t, exec.Command(filepath.Join(binaries, "local"), "-folder", folder, "-members", "2", "-work", "-1s"))
	p.said("ready.")
	of := func(name string) (c site, d dynamic.Interface) {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, name+".kubeconfig"))
		require.NoError(t, err)
		c.client, err = kubernetes.NewForConfig(config)
		require.NoError(t, err)
		d, err = dynamic.NewForConfig(config)
		require.NoError(t, err)
		return c, d
	}
	s := &stand{context: t.Context(), binary: filepath.Join(binaries, "multicluster"), members: map[string]site{}}
	s.kubeconfig = filepath.Join(folder, "home.kubeconfig")
	s.home, s.dynamic = of("home")
	s.members["member-1"], _ = of("member-1")
	s.members["member-2"], _ = of("member-2")
	q := &space{s, t, "default"}
	q.apply(t, q.namespace, read(t, "../manifests/sample.yaml"))
	controller := s.start(t)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{4, 6}, q.counts(t, "order-consumer", "member-1", "member-2"))
		ready, why := q.condition(t, dsj, "order-consumer", "Ready")
		require.Equal(t, "True Ready", ready, why)
	})
	controller.stop()
	p.stop()
	require.NoDirExists(t, folder)
}
