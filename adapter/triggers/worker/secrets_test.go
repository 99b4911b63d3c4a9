package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
)

// planted has a word between all characters at which parsers of addresses divide.
const planted = "Alfa7x/Brav7x?Char7x#Delt7x@Echo7x%Foxt7x"

// passworded are triggers whose servers get a password. The parameters other than username come from
// the authentication.
var passworded = []struct {
	kind       string
	metadata   map[string]string // URL stands for the server
	parameters []string
}{
	{"metrics-api", map[string]string{"url": "URL", "valueLocation": "a", "targetValue": "1", "authMode": "basic"}, []string{"username", "password"}},
	{"metrics-api", map[string]string{"url": "URL", "valueLocation": "a", "targetValue": "1", "authMode": "bearer"}, []string{"token"}},
	{"metrics-api", map[string]string{"url": "URL", "valueLocation": "a", "targetValue": "1", "authMode": "apiKey", "method": "query"}, []string{"apiKey"}},
	{"prometheus", map[string]string{"serverAddress": "URL", "query": "a", "threshold": "1", "authModes": "bearer"}, []string{"bearerToken"}},
	{"prometheus", map[string]string{"serverAddress": "URL", "query": "a", "threshold": "1", "authModes": "custom"}, []string{"customAuthHeader", "customAuthValue"}},
	{"loki", map[string]string{"serverAddress": "URL", "query": "a", "threshold": "1", "authModes": "basic"}, []string{"username", "password"}},
	{"graphite", map[string]string{"serverAddress": "URL", "query": "a", "threshold": "1", "queryTime": "-1Hours", "authMode": "basic"}, []string{"username", "password"}},
	{"rabbitmq", map[string]string{"protocol": "http", "queueName": "q", "mode": "QueueLength", "value": "1"}, []string{"host"}},
	{"artemis-queue", map[string]string{"managementEndpoint": "ADDRESS", "queueName": "q", "brokerName": "b", "brokerAddress": "a"}, []string{"username", "password"}},
	{"activemq", map[string]string{"managementEndpoint": "ADDRESS", "destinationName": "q", "brokerName": "b"}, []string{"username", "password"}},
	{"solr", map[string]string{"host": "URL", "collection": "c", "targetQueryValue": "1"}, []string{"username", "password"}},
	{"github-runner", map[string]string{"githubApiURL": "URL", "owner": "o", "repos": "r", "runnerScope": "repo"}, []string{"personalAccessToken"}},
	{"azure-pipelines", map[string]string{"organizationURL": "URL", "poolID": "1"}, []string{"personalAccessToken"}},
	{"dynatrace", map[string]string{"host": "URL", "metricSelector": "m", "threshold": "1"}, []string{"token"}},
	{"ibmmq", map[string]string{"host": "URL", "queueName": "q"}, []string{"username", "password"}},
	{"influxdb", map[string]string{"serverURL": "URL", "organizationName": "o", "query": "q", "thresholdValue": "1"}, []string{"authToken"}},
	{"selenium-grid", map[string]string{"url": "URL", "browserName": "b"}, []string{"username", "password", "authType"}},
	{"redis", map[string]string{"address": "REDIS", "listName": "l", "listLength": "1"}, []string{"password"}},
	{"redis-streams", map[string]string{"address": "REDIS", "stream": "s", "streamLength": "1"}, []string{"password"}},
}

// A repeating server answers each request with an error that has all it got, and notes whether
// that was the password.
type repeating struct {
	mu  sync.Mutex
	got bool
}

func (s *repeating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user, password, _ := r.BasicAuth()
	path, query := r.URL.Path, r.URL.Query().Encode()
	text := fmt.Sprintf("%s %s %v %s %s %s %s %q %q", path, query, r.URL.Query(), user, password, r.Header.Get("Authorization"), body, password, r.Header)
	s.mu.Lock()
	s.got = s.got || strings.Contains(text, "Foxt7x") || strings.Contains(text, "Rm94dDd4")
	s.mu.Unlock()
	http.Error(w, text, http.StatusUnauthorized)
}

// A password that the server repeats is in no error, whatever type takes it, from wherever.
func TestPlantedPasswords(t *testing.T) {
	s := &repeating{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	places := strings.NewReplacer("URL", server.URL, "ADDRESS", address, "REDIS", aRedis(t, "another"))
	var objects []kruntime.Object
	var authentications []map[string]any
	var owners []triggers.Owner
	for i, one := range passworded {
		for _, path := range []string{"secretTargetRef", "configMapTargetRef", "env", "cluster"} {
			name := fmt.Sprintf("%s-%d-%s", one.kind, i, strings.ToLower(path))
			o, in := owner(name), manifest.ScaleTrigger{Type: one.kind, Metadata: map[string]string{}, AuthenticationRef: &manifest.AuthenticationRef{Name: name}}
			for key, value := range one.metadata {
				in.Metadata[key] = places.Replace(value)
			}
			values, refs, env := map[string]string{}, []any{}, []corev1.EnvVar(nil)
			for _, p := range one.parameters {
				values[p] = value(p, address)
				refs = append(refs, map[string]any{"parameter": p, "name": name, "key": p, "containerName": "c"})
				env = append(env, corev1.EnvVar{Name: p, Value: values[p]})
			}
			kind, namespace, metadata, spec := "TriggerAuthentication", "team", map[string]any{"name": name}, map[string]any{path: refs}
			switch path {
			case "cluster":
				kind, namespace, spec = "ClusterTriggerAuthentication", "keda", map[string]any{"secretTargetRef": refs}
				in.AuthenticationRef.Kind = kind
			case "env":
				o.Pod.Containers = []corev1.Container{{Name: "c", Env: env}}
				for i := range refs {
					refs[i] = map[string]any{"parameter": one.parameters[i], "name": one.parameters[i], "containerName": "c"}
				}
				fallthrough
			default:
				metadata["namespace"] = namespace
			}
			data := map[string][]byte{}
			for p, v := range values {
				data[p] = []byte(v)
			}
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data},
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: maps.Clone(values)})
			authentications = append(authentications, map[string]any{"kind": kind, "metadata": metadata, "spec": spec})
			o.Triggers = []manifest.ScaleTrigger{in}
			owners = append(owners, o)
		}
	}
	r := reads(t, triggers.Options{OpenClusterAuthentication: true}, objects, authentications...)
	sent := map[string]bool{}
	for _, o := range owners {
		s.got = false
		_, err := r.Read(context.Background(), o)
		require.Error(t, err, o.Name)
		for word := range strings.FieldsFuncSeq(planted, func(r rune) bool { return strings.ContainsRune("/?#@%", r) }) {
			require.NotContains(t, strings.ToLower(err.Error()), strings.ToLower(word), o.Name)
		}
		if s.got || strings.HasPrefix(o.Triggers[0].Type, "redis") {
			sent[o.Triggers[0].Type] = true
		}
	}
	require.GreaterOrEqual(t, len(sent), 10, "types that have sent the password: %v", sent)
}

func value(parameter, address string) string {
	switch parameter {
	case "username":
		return "user"
	case "authType":
		return "Basic"
	case "customAuthHeader":
		return "X-Token"
	case "host":
		return "http://user:" + strings.NewReplacer("/", "%2F", "?", "%3F", "#", "%23", "@", "%40", "%", "%25").Replace(planted) + "@" + address + "/"
	}
	return planted
}
