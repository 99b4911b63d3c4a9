package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var law = flag.Bool("law", false, "run TestFailingNumbers and TestCulprit")

// A fault answers the creates of Jobs in some namespaces, or the deletes. Without an answer the
// API server itself refuses.
type fault struct {
	name   string
	says   string // in the log, as docs/controllers.md has it
	method string
	answer http.HandlerFunc
}

var faults = []fault{
	{"429", "429", http.MethodPost, refuses(429, "1", 0)},
	{"429 for 20 s", "429", http.MethodPost, refuses(429, "20", 0)},
	{"500", "500", http.MethodPost, refuses(500, "", 0)},
	{"403", "403", http.MethodPost, refuses(403, "", 0)},
	{"slow", "503", http.MethodPost, refuses(503, "", 3*time.Second)},
	{"hanging", "no answer within", http.MethodPost, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{"DELETE that fails", "delete", http.MethodDelete, refuses(500, "", 0)},
	{"policy", "denied request", http.MethodPost, nil},
	{"quota", "exceeded quota", http.MethodPost, nil},
}

// refuses answers as a webhook does: with a Status.
func refuses(code int, after string, wait time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(wait):
		}
		w.Header().Set("Content-Type", "application/json")
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"chaos","code":%d}`, code)
	}
}

// tenants are namespaces with a ScaledJob each, and a proxy that makes the faults of some.
type tenants struct {
	*fixture
	*proxy
	mu     sync.Mutex
	faulty map[string]fault
}

func (s *fixture) tenants(t *testing.T) *tenants {
	a := &tenants{fixture: s, proxy: s.proxy(t, 0), faulty: map[string]fault{}}
	path := regexp.MustCompile("/namespaces/([^/]+)/jobs(/|$)")
	a.fault = func(r *http.Request) func(http.ResponseWriter, *http.Request) {
		if found := path.FindStringSubmatch(r.URL.Path); found != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			if f, is := a.faulty[found[1]]; is && f.answer != nil && f.method == r.Method {
				return f.answer
			}
		}
		return nil
	}
	return a
}

// fail lets the requests of the namespaces have the fault.
func (a *tenants) fail(t *testing.T, f fault, namespaces ...string) {
	a.mu.Lock()
	for _, name := range namespaces {
		a.faulty[name] = f
	}
	a.mu.Unlock()
	switch f.name {
	case "policy":
		a.apply(t, fmt.Sprintf(policy, "'"+strings.Join(namespaces, "', '")+"'"))
		time.Sleep(2 * time.Second) // the API server sees it
	case "quota":
		for _, name := range namespaces {
			a.apply(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: jobs, namespace: "+name+"}\nspec: {hard: {count/jobs.batch: '0'}}\n")
		}
		time.Sleep(2 * time.Second) // it is counted
	}
}

const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: closed}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: "!(request.namespace in [%s])", message: closed for the weekend, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: closed}
spec: {policyName: closed, validationActions: [Deny]}
`

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

const lawJob = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer, namespace: %s}
spec:
  minReplicaCount: 20
  pollingInterval: 1
  jobTargetRef: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}
  triggers: [{type: redis, metadata: {address: '127.0.0.1:1', listName: a}}]
`

func (s *fixture) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// have waits until there are n Jobs in the namespaces with the prefix.
func (a *tenants) have(t *testing.T, prefix string, n int) {
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	for found := -1; found != n; time.Sleep(100 * time.Millisecond) {
		require.NoError(t, ctx.Err(), "%d Jobs", n)
		l, err := a.client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		found = 0
		for _, j := range l.Items {
			if strings.HasPrefix(j.Namespace, prefix) {
				found++
			}
		}
		require.LessOrEqual(t, found, n)
	}
}
