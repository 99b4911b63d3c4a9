package registry

// What the tests hold:
//
//	a kubeconfig runs no program and reads no file   TestParseRefuses
//	redirects                                        TestRedirectedMember

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
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

// Certificates that cannot be used are found before the member is reached.
func TestParseCertificates(t *testing.T) {
	for name, c := range map[string]struct{ user, cluster string }{
		"of the server":  {"{}", "certificate-authority-data: czNjcmV0"},
		"of the client":  {"{client-certificate-data: czNjcmV0, client-key-data: czNjcmV0}", ""},
		"without key":    {"{client-certificate-data: czNjcmV0}", ""},
		"that no one is": {"{}", "insecure-skip-tls-verify: true, certificate-authority-data: czNjcmV0"},
	} {
		m := Parse(map[string][]byte{"a.kubeconfig": []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], " +
			"clusters: [{name: a, cluster: {server: 'https://a', " + c.cluster + "}}], users: [{name: a, user: " + c.user + "}]}")})[0]
		require.Error(t, m.Err, name)
		require.Nil(t, m.Config, name)
		require.NotContains(t, m.Err.Error(), "s3cret")
	}
}

// A name is part of a key of the Secret, which has at most 253 bytes.
func TestLongestName(t *testing.T) {
	name := strings.Repeat("a", 242)
	r := Registry{Client: fake.NewClientset(), Namespace: "keda"}
	require.NoError(t, r.Add(t.Context(), name, access(t, "a", "https://a"), Registration{}))
	require.NoError(t, r.Remove(t.Context(), name))
	_, _, err := Setup(t.Context(), NewMember{Name: name + "a"})
	require.ErrorContains(t, err, "must be no more than 242 characters")
}

func TestRegistry(t *testing.T) {
	ctx := t.Context()
	client := fake.NewClientset()
	rejectMissing(client)
	r := Registry{Client: client, Namespace: "keda"}
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
	require.NoError(t, r.Add(ctx, "b", access(t, "b", "https://b"), Registration{}))
	require.Equal(t, []string{"b"}, <-seen)
	require.NoError(t, r.Add(ctx, "a", access(t, "a", "https://a"), Registration{}))
	require.Equal(t, []string{"a", "b"}, <-seen)
	require.NoError(t, r.Remove(ctx, "b"))
	require.Equal(t, []string{"a"}, <-seen)
	require.ErrorContains(t, r.Remove(ctx, "b"), `there is no member "b"`)
	require.ErrorContains(t, r.Add(ctx, "A/b", access(t, "a", "https://a"), Registration{}), `member "A/b"`)
	require.Error(t, r.Add(ctx, "c", []byte("kubeconfig"), Registration{}))
	require.NoError(t, r.Client.CoreV1().Secrets("keda").Delete(ctx, Secret, metav1.DeleteOptions{}))
	require.Empty(t, <-seen)
}

// The first member brings the key of the Jobs. With other members there may be Jobs without a
// proof, and none is made.
func TestKeyOfJobs(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		"none": nil, "empty": {}, "the same": {"a.kubeconfig": []byte("old")}, "others": {"b.kubeconfig": []byte("old")}, "a key": {"jobs.key": []byte("key")},
	} {
		client := fake.NewClientset()
		rejectMissing(client)
		r := Registry{Client: client, Namespace: "keda"}
		if data != nil {
			_, err := client.CoreV1().Secrets("keda").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "keda", Name: Secret}, Data: data}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, r.Add(t.Context(), "a", access(t, "a", "https://a"), Registration{}))
		s, err := client.CoreV1().Secrets("keda").Get(t.Context(), Secret, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, name != "others", len(s.Data["jobs.key"]) > 0, name)
		require.True(t, name != "a key" || string(s.Data["jobs.key"]) == "key")
	}
}

// A registration allows pairs of namespaces and no others, has default bounds, and a member
// with an invalid registration is not used.
func TestRegistration(t *testing.T) {
	data := map[string][]byte{"a.kubeconfig": access(t, "a", "https://a")}
	of := func(text string) Member {
		data["a.registration"] = []byte(text)
		return Parse(data)[0]
	}
	m := of("")
	require.NoError(t, m.Err)
	require.True(t, m.Allows(Allowance{"team-a", "team-a"}))
	for _, to := range []string{"kube-system", "team-b", ""} {
		require.False(t, m.Allows(Allowance{"team-a", to}), to)
	}
	m = of(`{"allow": [{"from": "team-a", "to": "shop"}], "uid": "u", "maxBytes": 6}`)
	require.NoError(t, m.Err)
	require.True(t, m.Allows(Allowance{"team-a", "shop"}))
	require.False(t, m.Allows(Allowance{"team-b", "shop"}))
	require.False(t, m.Allows(Allowance{"shop", "team-a"}))
	require.EqualValues(t, 6, m.MaxBytes)
	for text, want := range map[string]string{
		`{"alow": [], "maxBytes": "x"}`: "registration.maxBytes: found \"x\"", `{"alow": []}`: "registration.alow: found an unknown field", `{`: "registration: ", `{"maxBytes": -1}`: "registration.maxBytes: found -1",
		`{"namespaces": ["a", "a"]}`:               `registration.namespaces[1]: found "a"; use each namespace once`,
		`{"uid": "\u001b[31m"}`:                    `registration.uid: found "\x1b[31m"; use the UID of the member's namespace kube-system`,
		`{"namespaces": []}`:                       `registration.namespaces: found "[]"; use at least one namespace, or leave it out for all`,
		`{"allow": [{"from": "*", "to": "shop"}]}`: `registration.allow[0].from: found "*"; use the name of a namespace`,
	} {
		m := of(text)
		require.ErrorContains(t, m.Err, want)
		require.Nil(t, m.Config)
	}
	for _, name := range []string{"", ".", "A", "a_b", "a..b"} {
		m := Parse(map[string][]byte{name + suffix: access(t, "a", "https://a")})[0]
		require.ErrorContains(t, m.Err, fmt.Sprintf("member %q: ", name))
		require.Nil(t, m.Config)
	}
	data[keyOfJobs] = []byte("guess")
	require.ErrorContains(t, of(`{"maxBytes": -1}`).Err, "jobs.key: found 5 bytes; use at least 16 random bytes\nregistration.maxBytes: found -1", "all at once")
}

// rejectMissing has the server reject the removal of a key that is not there, as an API
// server does.
func rejectMissing(client *fake.Clientset) {
	client.PrependReactor("patch", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		p := action.(clienttesting.PatchAction)
		s, err := client.Tracker().Get(p.GetResource(), p.GetNamespace(), p.GetName())
		if err != nil || p.GetPatchType() != types.JSONPatchType {
			return false, nil, nil
		}
		for key := range s.(*corev1.Secret).Data {
			if strings.Contains(string(p.GetPatch()), `"/data/`+key+`"`) {
				return false, nil, nil
			}
		}
		return true, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", p.GetResource().GroupResource(), "", "missing path", 0, false)
	})
}

// To register a member and to remove it, patch of the Secret is enough if the Secret
// exists. If not, the error says so.
func TestPatchIsEnough(t *testing.T) {
	ctx := t.Context()
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: Secret, Namespace: "keda"}})
	rejectMissing(client)
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.Matches("patch", "secrets") && action.GetNamespace() == "keda" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), action.GetVerb(), errors.New("not granted"))
	})
	r := Registry{Client: client, Namespace: "keda"}
	require.NoError(t, r.Add(ctx, "a", access(t, "a", "https://a"), Registration{}))
	all, err := r.ListForChange(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, r.Remove(ctx, "a"))
	require.ErrorContains(t, r.Remove(ctx, "a"), `there is no member "a"`)
	require.NoError(t, client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), "keda", Secret))
	require.ErrorContains(t, r.Add(ctx, "a", access(t, "a", "https://a"), Registration{}), "kubectl create secret generic -n keda "+Secret)
	require.ErrorContains(t, r.Remove(ctx, "a"), `there is no member "a"`)
}

func withURLs(server, proxy string) []byte {
	return []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}], " +
		"clusters: [{name: a, cluster: {server: '" + server + "', proxy-url: '" + proxy + "'}}]}")
}

// Neither a password in a URL nor one in an invalid URL is in what is told of a member. In
// a valid URL of the server it is sent all the same.
func TestCredentialsAreNotTold(t *testing.T) {
	const secret = "s3cret"
	for _, kubeconfig := range []string{
		string(withURLs("https://agent:s3cret@a:6443/base", "")), string(withURLs("https://agent:s3cret@a:64x43", "")),
		string(withURLs("https://agent:s3cret@a b", "")), string(withURLs("agent:s3cret@a", "")), string(withURLs("ftp://agent:s3cret@a", "")),
		string(withURLs("https://a", "http://agent:s3cret@pro xy")), string(withURLs("https://a", "ftp://agent:s3cret@proxy")),
		string(withURLs("https://a", "agent:s3cret@proxy")), string(withURLs("https://a", "http://agent:s3cret@proxy:x")),
		"s3cret", "s3cret: [", "{users: s3cret}",
	} {
		m := Parse(map[string][]byte{"a.kubeconfig": []byte(kubeconfig)})[0]
		told := fmt.Sprint(m.Server(), m.Context, Registry{}.ID(m), m.Err, (&Registry{Client: fake.NewClientset()}).Add(t.Context(), "a", []byte(kubeconfig), Registration{}))
		require.NotContains(t, told, secret, kubeconfig)
		if m.Err == nil {
			require.Equal(t, "https://a:6443/base", m.Server())
			require.Equal(t, "agent", m.Config.Username)
			require.Equal(t, secret, m.Config.Password)
		}
	}
	for _, server := range []string{"https://a:6443", "http://a", "10.0.0.1:6443", "a"} {
		_, config, err := parse(withURLs(server, "socks5://proxy:1080"))
		require.NoError(t, err, server)
		require.Equal(t, server, config.Host)
	}
}

// A connection that somebody on the network can read or answer is said.
func TestUnprotected(t *testing.T) {
	insecure := strings.Replace(string(withURLs("https://a", "")), "server:", "insecure-skip-tls-verify: true, server:", 1)
	for kubeconfig, want := range map[string]string{
		string(withURLs("https://a", "")): "", string(withURLs("http://a", "")): "without TLS", insecure: "does not verify", "": "",
	} {
		require.Contains(t, Unprotected([]byte(kubeconfig)), want)
		require.Equal(t, want == "", Unprotected([]byte(kubeconfig)) == "", kubeconfig)
	}
}

// The proxy of the administrator's kubeconfig is that of the member's.
func TestProxyIsKept(t *testing.T) {
	_, admin, err := parse(withURLs("https://agent:s3cret@a", "http://user:s3cret@proxy:3128"))
	require.NoError(t, err)
	data, err := kubeconfig("a", "t0ken", admin)
	require.NoError(t, err)
	_, config, err := parse(data)
	require.NoError(t, err)
	require.Equal(t, "t0ken", config.BearerToken)
	require.Equal(t, "https://a", config.Host)
	proxy, err := proxyOf(config)
	require.NoError(t, err)
	require.Equal(t, "http://user:s3cret@proxy:3128", proxy)
	_, admin, err = parse(withURLs("10.0.0.1:6443", "http://proxy:3128"))
	require.NoError(t, err)
	data, err = kubeconfig("a", "t0ken", admin)
	require.NoError(t, err)
	require.Contains(t, string(data), "proxy-url: http://proxy:3128")
	data, err = kubeconfig("a", "t0ken", &rest.Config{Host: "https://a"})
	require.NoError(t, err)
	require.NotContains(t, string(data), "proxy-url")
}
