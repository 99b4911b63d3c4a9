package registry

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func access(t *testing.T, name, host string) []byte {
	t.Helper()
	data, err := kubeconfig(name, "t0ken", &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: nil, Insecure: true}})
	require.NoError(t, err)
	return data
}

func TestParse(t *testing.T) {
	members := Parse(map[string][]byte{
		"b.kubeconfig": access(t, "b", "https://b:6443"), "a.kubeconfig": []byte("{"), "other": nil,
	})
	require.Len(t, members, 2)
	require.Equal(t, "a", members[0].Name)
	require.Error(t, members[0].Err)
	require.Empty(t, members[0].Server())
	b := members[1]
	require.NoError(t, b.Err)
	require.Equal(t, "https://b:6443", b.Server())
	require.Equal(t, "t0ken", b.Config.BearerToken)
	require.Equal(t, "kedify-agent@b", b.Context)
	require.Equal(t, "keda/"+Secret+"/b.kubeconfig+kedify-agent@b", Registry{Namespace: "keda"}.ID(b))
}

func TestParseRefuses(t *testing.T) {
	for user, want := range map[string]string{
		"{exec: {command: sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}": "a program would be run",
		"{tokenFile: /does/not/exist}":                                       "tokenFile",
		"{client-certificate: /does/not/exist, client-key: /does/not/exist}": "client-certificate-data",
		"{auth-provider: {name: gcp}}":                                       "auth-provider",
	} {
		_, _, err := parse([]byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], " +
			"clusters: [{name: a, cluster: {server: 'https://a'}}], users: [{name: a, user: " + user + "}]}"))
		require.ErrorContains(t, err, want)
	}
	_, _, err := parse([]byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], " +
		"clusters: [{name: a, cluster: {server: 'https://a', certificate-authority: /does/not/exist}}]}"))
	require.ErrorContains(t, err, "certificate-authority-data")
	_, _, err = parse(nil)
	require.Error(t, err, "empty")
}

func TestRegistry(t *testing.T) {
	ctx := t.Context()
	r := Registry{Client: fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "keda"}}), Namespace: "keda"}
	none, err := r.List(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	seen := make(chan []string, 10)
	require.NoError(t, r.Watch(ctx, func(all []Member) {
		names := []string{}
		for _, m := range all {
			names = append(names, m.Name)
		}
		seen <- names
	}))
	require.NoError(t, r.Add(ctx, "b", access(t, "b", "https://b")))
	require.Equal(t, []string{"b"}, <-seen)
	require.NoError(t, r.Add(ctx, "a", access(t, "a", "https://a")))
	require.Equal(t, []string{"a", "b"}, <-seen)
	require.NoError(t, r.Remove(ctx, "b"))
	require.Equal(t, []string{"a"}, <-seen)
	require.ErrorContains(t, r.Remove(ctx, "b"), `there is no member "b"`)
	require.ErrorContains(t, r.Add(ctx, "A/b", access(t, "a", "https://a")), `member "A/b"`)
	require.Error(t, r.Add(ctx, "c", []byte("kubeconfig")))
	require.NoError(t, r.Client.CoreV1().Secrets("keda").Delete(ctx, Secret, metav1.DeleteOptions{}))
	require.Empty(t, <-seen)
}
