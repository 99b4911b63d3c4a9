package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/scaling"
)

// The test's program is the worker too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-memory" {
		main()
		return
	}
	os.Exit(m.Run())
}

func local(t *testing.T) triggers.Program {
	path, err := os.Executable()
	require.NoError(t, err)
	return triggers.Program{Path: path, Local: true}
}

// reads returns a reader with these objects of core and these authentications.
func reads(t *testing.T, o triggers.Options, core []kruntime.Object, authentications ...map[string]any) *triggers.Reader {
	if o.Start == nil {
		o.Start = local(t).Start
	}
	o.Client = fake.NewClientset(core...)
	var all []kruntime.Object
	for _, a := range authentications {
		a["apiVersion"] = "keda.sh/v1alpha1"
		all = append(all, &unstructured.Unstructured{Object: a})
	}
	o.Dynamic = dynamicfake.NewSimpleDynamicClient(kruntime.NewScheme(), all...)
	r, err := triggers.New(o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func owner(name string, all ...manifest.ScaleTrigger) triggers.Owner {
	return triggers.Owner{Namespace: "team", Name: name, UID: types.UID("uid-" + name), Triggers: all}
}

// serve calls handle with each connection to the address that it returns.
func serve(t *testing.T, handle func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // when nobody connects any more
			go handle(conn)
		}
	}()
	return l.Addr().String()
}

// aRedis answers LLEN with 7, after the password if there is one.
func aRedis(t *testing.T, password string) string {
	return serve(t, func(conn net.Conn) { answerRedis(conn, password) })
}

func answerRedis(conn net.Conn, password string) {
	defer conn.Close()
	authenticated, from := password == "", bufio.NewReader(conn)
	for {
		command, err := readCommand(from)
		if err != nil || len(command) == 0 {
			return
		}
		answer := "+OK\r\n"
		switch name := strings.ToUpper(command[0]); {
		case name == "HELLO":
			answer = "-ERR unknown command\r\n"
		case name == "AUTH" && command[len(command)-1] == password:
			authenticated = true
		case name == "AUTH":
			answer = "-WRONGPASS invalid password " + command[len(command)-1] + "\r\n"
		case !authenticated:
			answer = "-NOAUTH Authentication required.\r\n"
		case name == "PING":
			answer = "+PONG\r\n"
		case name == "EVALSHA", name == "EVAL", name == "LLEN":
			answer = ":7\r\n"
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

func readCommand(from *bufio.Reader) (all []string, err error) {
	var count, n int
	if _, err := fmt.Fscanf(from, "*%d\n", &count); err != nil {
		return nil, err
	}
	for range count {
		if _, err := fmt.Fscanf(from, "$%d\n", &n); err != nil {
			return nil, err
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(from, text); err != nil {
			return nil, err
		}
		all = append(all, string(text[:n]))
	}
	return all, nil
}

func redis(address, list string) manifest.ScaleTrigger {
	return manifest.ScaleTrigger{Type: "redis", Metadata: map[string]string{"address": address, "listName": list, "listLength": "2"}}
}

func TestReads(t *testing.T) {
	r := reads(t, triggers.Options{}, nil)
	o := owner("a", redis(aRedis(t, ""), "list"), manifest.ScaleTrigger{Type: "cpu", MetricType: "Utilization", Metadata: map[string]string{"value": "50"}})
	metrics, err := r.Read(context.Background(), o)
	require.ErrorContains(t, err, "has no queue")
	require.Equal(t, []scaling.Metric{{Name: "redis", Value: 7, Target: 2, Activity: scaling.Active}}, metrics)
}

// A trigger takes its password from a Secret. A read that fails takes it anew.
func TestNewPasswordNeedsNoRestart(t *testing.T) {
	password := "first/pass?word#with@%"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "redis"}, Data: map[string][]byte{"password": []byte("wrong/pass?word#with@%")}}
	client := fake.NewClientset(secret)
	dynamic := dynamicfake.NewSimpleDynamicClient(kruntime.NewScheme(), &unstructured.Unstructured{Object: secretAuth("auth", "redis", "password")})
	r, err := triggers.New(triggers.Options{Start: local(t).Start, Client: client, Dynamic: dynamic})
	require.NoError(t, err)
	defer r.Close()
	in := redis(aRedis(t, password), "list")
	in.AuthenticationRef = &manifest.AuthenticationRef{Name: "auth"}
	o := owner("a", in)
	metrics, err := r.Read(context.Background(), o)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "word#")
	require.Equal(t, []scaling.Metric{{Name: "redis", Failed: true}}, metrics)
	secret.Data["password"] = []byte(password)
	_, err = client.CoreV1().Secrets("team").Update(context.Background(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	metrics, err = r.Read(context.Background(), o)
	require.NoError(t, err)
	require.Equal(t, 7., metrics[0].Value)
}

func secretAuth(name, secret, key string) map[string]any {
	return map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": map[string]any{"namespace": "team", "name": name},
		"spec": map[string]any{"secretTargetRef": []any{map[string]any{"parameter": "password", "name": secret, "key": key}}},
	}
}

// Without a Secret or a key, KEDA would build the scaler without a password, also if the Secret is
// an optional one of the environment, or if the value is that of a secret manager.
func TestAbsentSecretIsUnreadable(t *testing.T) {
	in, yes := redis(aRedis(t, ""), "list"), true
	in.AuthenticationRef = &manifest.AuthenticationRef{Name: "auth"}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other"}, Data: map[string][]byte{"user": []byte("planted")}}
	managed := secretAuth("auth", "", "")
	managed["spec"] = map[string]any{"gcpSecretManager": map[string]any{
		"secrets":     []any{map[string]any{"parameter": "password", "id": "a"}},
		"credentials": map[string]any{"clientSecret": map[string]any{"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "other", "key": "user"}}}},
	}}
	allow := []triggers.Allowance{{Kind: "gcp-secret-manager", Namespaces: []string{"team"}, Hosts: []string{"*", "127.0.0.1"}}}
	for text, auth := range map[string]map[string]any{
		`secrets "absent" not found`: secretAuth("auth", "absent", "password"),
		`found no key "password"`:    secretAuth("auth", "other", "password"),
		"from a secret manager":      managed,
	} {
		o := owner("a", in)
		for _, name := range []string{"absent", "other"} {
			o.Pod.Containers = append(o.Pod.Containers, corev1.Container{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &yes}}}})
		}
		for range 2 {
			_, err := reads(t, triggers.Options{Allow: allow}, []kruntime.Object{other}, auth).Read(t.Context(), o)
			require.ErrorContains(t, err, text)
			slices.Reverse(o.Pod.Containers) // the first one's environment is used
		}
	}
}

// A variable that an authentication refers to exists, unless the container says that it is optional: KEDA
// takes it for empty. So does the key of a Secret that any variable needs.
func TestAbsentVariableIsUnreadable(t *testing.T) {
	yes, address := true, aRedis(t, "")
	from := func(secret, key string, optional *bool) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key, Optional: optional,
		}}}}
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other"}, Data: map[string][]byte{"user": []byte("planted")}}
	source := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}, Optional: &yes}}}
	for _, c := range []struct {
		name, of string // of the container in the authentication
		in       corev1.Container
		says     string // "" is a value
	}{
		{"nowhere", "", corev1.Container{}, "found no variable PASSWORD, which the authentication refers to"},
		{"in another container", "", corev1.Container{Name: "b", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "a"}}}, "found no variable PASSWORD"},
		{"in no container", "c", corev1.Container{}, "couldn't find container with name c"},
		{"absent key", "b", corev1.Container{Env: from("other", "password", nil)}, `found no key "password"`},
		{"absent Secret", "b", corev1.Container{Env: from("absent", "password", nil)}, `"absent" not found`},
		{"of no known value", "b", corev1.Container{Env: []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}}}}, "found no variable PASSWORD"},
		{"optional key", "b", corev1.Container{Env: from("other", "password", &yes)}, ""},
		{"optional Secret", "b", corev1.Container{Env: from("absent", "password", &yes)}, ""},
		{"optional in another container", "a", corev1.Container{Env: from("other", "password", &yes), EnvFrom: source}, "found no variable PASSWORD"},
		{"in an optional Secret", "b", corev1.Container{EnvFrom: source}, ""},
		{"empty", "b", corev1.Container{Env: []corev1.EnvVar{{Name: "PASSWORD"}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := redis(address, "list")
			in.AuthenticationRef = &manifest.AuthenticationRef{Name: "auth"}
			auth := secretAuth("auth", "", "")
			auth["spec"] = map[string]any{"env": []any{map[string]any{"parameter": "password", "name": "PASSWORD", "containerName": c.of}}}
			o := owner("a", in)
			c.in.Name = "b"
			o.Pod.Containers = []corev1.Container{{Name: "a"}, c.in}
			_, err := reads(t, triggers.Options{}, []kruntime.Object{other}, auth).Read(t.Context(), o)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}

// Without -local, no way leads to a loopback address: not by number or name.
func TestLocalAddressesAreRefused(t *testing.T) {
	p := local(t)
	p.Local = false
	r := reads(t, triggers.Options{Start: p.Start}, nil)
	_, port, err := net.SplitHostPort(aRedis(t, ""))
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[64:ff9b:1::7f00:1]"} {
		_, err := r.Read(context.Background(), owner("a", redis(host+":"+port, "list")))
		require.ErrorContains(t, err, "-allow-local-addresses", host)
	}
	short := &trigger{} // whose error is withheld, because it contains a short password
	short.secrets.Add("abc")
	require.Regexp(t, "not shown.*-allow-local-addresses", short.text(errors.New("dial abc@127.0.0.1: operation not permitted")))
}

// A redirect from an allowed address to a loopback address fails.
func TestRedirectToLocalAddress(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = w.Write([]byte(`{"a": 7}`))
	}))
	t.Cleanup(inside.Close)
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("127.0.0.2 is not an address here:", err)
	}
	outside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, inside.URL, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(`{"a": 7}`))
	}))
	outside.Listener.Close()
	outside.Listener = l
	outside.Start()
	t.Cleanup(outside.Close)
	p := local(t)
	p.Local = false
	script := filepath.Join(t.TempDir(), "worker") // allows one of the loopback addresses
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec '"+p.Path+"' \"$@\" -addresses 127.0.0.2\n"), 0o700))
	p.Path = script
	r := reads(t, triggers.Options{Start: p.Start}, nil)
	metrics, err := r.Read(context.Background(), owner("a", api(outside.URL, "a")))
	require.NoError(t, err)
	require.Equal(t, 7., metrics[0].Value)
	_, err = r.Read(context.Background(), owner("b", api(outside.URL+"/redirect", "a")))
	require.ErrorContains(t, err, "-allow-local-addresses")
	require.Zero(t, reached.Load())
}

func api(url, location string) manifest.ScaleTrigger {
	return manifest.ScaleTrigger{Type: "metrics-api", Metadata: map[string]string{"url": url, "valueLocation": location, "targetValue": "1"}}
}

// A valueLocation could compare a token that the server repeats, one character in each read. The
// token of a ClusterTriggerAuthentication only goes to the hosts in the annotation.
func TestTokenStaysAtItsHosts(t *testing.T) {
	var requests atomic.Int64
	repeats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"all": []map[string]string{{"token": r.Header.Get("Authorization")}}})
	}))
	t.Cleanup(repeats.Close)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "keda", Name: "http"}, Data: map[string][]byte{"token": []byte("secret-token")}}
	cluster := func(hosts string) map[string]any {
		return map[string]any{
			"kind": "ClusterTriggerAuthentication", "metadata": map[string]any{"name": hosts, "annotations": map[string]any{
				"scaledjob.github.io/namespaces": "team", "scaledjob.github.io/hosts": hosts,
			}},
			"spec": map[string]any{"secretTargetRef": []any{map[string]any{"parameter": "token", "name": "http", "key": "token"}}},
		}
	}
	r := reads(t, triggers.Options{ClusterNamespace: "keda"}, []kruntime.Object{secret}, cluster("queue.example"), cluster("127.0.0.1"), cluster(","))
	compare := func(hosts string) ([]scaling.Metric, error) {
		in := api(repeats.URL, `all.#(token>"Bearer r")#|#`)
		in.Metadata["authMode"] = "bearer"
		in.AuthenticationRef = &manifest.AuthenticationRef{Name: hosts, Kind: "ClusterTriggerAuthentication"}
		return r.Read(context.Background(), owner(hosts, in))
	}
	for _, hosts := range []string{"queue.example", ","} {
		_, err := compare(hosts)
		require.ErrorContains(t, err, "credentials may not go", hosts)
		require.Zero(t, requests.Load())
	}
	metrics, err := compare("127.0.0.1")
	require.NoError(t, err, "the same comparison at an allowed host")
	require.Equal(t, 1., metrics[0].Value)
}

// KEDA makes addresses of parameters, and a template. None of them may lead a password to another host.
func TestPasswordStaysAtItsHosts(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password == "secret-password" {
			requests.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "keda", Name: "queue"}, Data: map[string][]byte{"username": []byte("admin"), "password": []byte("secret-password")}}
	cluster := map[string]any{
		"kind": "ClusterTriggerAuthentication", "metadata": map[string]any{"name": "queue", "annotations": map[string]any{
			"scaledjob.github.io/namespaces": "team", "scaledjob.github.io/hosts": "queue.example",
		}},
		"spec": map[string]any{"secretTargetRef": []any{
			map[string]any{"parameter": "username", "name": "queue", "key": "username"},
			map[string]any{"parameter": "password", "name": "queue", "key": "password"},
		}},
	}
	r := reads(t, triggers.Options{ClusterNamespace: "keda"}, []kruntime.Object{secret}, cluster)
	evil := strings.TrimPrefix(server.URL, "http://")
	activemq := func(key, value string) manifest.ScaleTrigger {
		return manifest.ScaleTrigger{Type: "activemq", Metadata: map[string]string{key: value, "brokerName": "queue.example", "destinationName": "d"}}
	}
	couchdb := manifest.ScaleTrigger{Type: "couchdb", Metadata: map[string]string{
		"host": "queue.example", "port": "1@" + evil, "dbName": "d", "queryValue": "1", "query": `{"selector": {"a": 1}, "fields": ["a"]}`,
	}}
	for i, in := range []manifest.ScaleTrigger{
		activemq("managementEndpoint", evil+"/@queue.example"),
		activemq("managementEndpoint", evil+"?@queue.example"),
		activemq("managementEndpoint", evil+"#@queue.example"),
		activemq("restAPITemplate", `http:/{{"/"}}`+strings.Replace(evil, ":", `{{"\x3a"}}`, 1)+"/a:brokerName=queue.example,destinationName=d/QueueSize"),
		couchdb,
	} {
		in.AuthenticationRef = &manifest.AuthenticationRef{Name: "queue", Kind: "ClusterTriggerAuthentication"}
		_, err := r.Read(context.Background(), owner(fmt.Sprint("a", i), in))
		assert.ErrorContains(t, err, "credentials may not go", "%v", in.Metadata)
		assert.Zero(t, requests.Swap(0), "%v", in.Metadata)
	}
}

// What a tenant may not write is refused before a scaler is built.
func TestParametersAreChecked(t *testing.T) {
	r := reads(t, triggers.Options{}, nil)
	prometheus := manifest.ScaleTrigger{Type: "prometheus", Metadata: map[string]string{
		"serverAddress": "http://127.0.0.1:1", "query": "a\n+ b", "threshold": "1", "customHeaders": "Metadata-Flavor=Google",
	}}
	for text, in := range map[string]manifest.ScaleTrigger{
		"Metadata*":          prometheus,
		"control character":  redis("127.0.0.1:1", "a\r\nSET b c"),
		"found 131073 bytes": redis("127.0.0.1:1", strings.Repeat("a", 128<<10+1)),
	} {
		_, err := r.Read(context.Background(), owner("a", in))
		require.ErrorContains(t, err, text)
	}
}

// Edits close the connections of the scalers before, in the worker and in those that replace it, and
// leave no descriptor here.
func TestEditsCloseConnections(t *testing.T) {
	var open atomic.Int64
	address := serve(t, func(conn net.Conn) {
		open.Add(1)
		defer open.Add(-1)
		answerRedis(conn, "")
	})
	r := reads(t, triggers.Options{}, nil)
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all) - int(open.Load()) // the server's
	}
	edit := func(i int) {
		o := owner("a", redis(address, fmt.Sprint("list-", i)))
		metrics, err := r.Read(context.Background(), o)
		require.NoError(t, err)
		require.Equal(t, 7., metrics[0].Value)
		r.Forget(o.UID)
	}
	edit(0)
	before := descriptors()
	for i := range 1500 { // a worker is replaced after 1,000
		edit(i)
	}
	require.Eventually(t, func() bool { return open.Load() <= 2 && descriptors() <= before }, 20*time.Second, 10*time.Millisecond)
}
