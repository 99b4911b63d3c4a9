package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	objects "github.com/scaledjob/scaledjob/test/e2e/manifest"
)

func testQuota(t *testing.T, c *cluster.Cluster, f *fleet) {
	cluster.Quota(t, f.client, f.target.Owner.Namespace, "few", "count/jobs.batch", "5")
	w := newWriter(f, c, &wire{}).synced()
	r := w.pollOnce(20)
	require.Len(t, w.errs, 1, "%+v", r)
	var refused *adapter.CreateError
	require.ErrorAs(t, w.errs[0], &refused)
	require.True(t, apierrors.IsForbidden(w.errs[0]), "%v", w.errs[0])
	require.Equal(t, refused.Created, r.Created)
	require.Len(t, f.jobs(), int(r.Created))
	require.Equal(t, int64(5), r.Created)
	require.NoError(t, f.client.CoreV1().ResourceQuotas(f.target.Owner.Namespace).Delete(t.Context(), "few", metav1.DeleteOptions{}))
	w.converges(20, 20)
}

// refuse lets a webhook refuse the creates of Jobs of the namespace, with a status.
func (f *fleet) refuse(status string) {
	t, asked := f.t, &atomic.Int64{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review struct {
			APIVersion, Kind string
			Request          struct{ UID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
			"uid": review.Request.UID, "allowed": false, "status": json.RawMessage(status),
		}})
	}))
	t.Cleanup(server.Close)
	ns := f.target.Owner.Namespace
	hooks := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "refuses.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}}}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = hooks.Delete(context.Background(), ns, metav1.DeleteOptions{}) })
	// The API server needs a moment to see the webhook.
	probe := f.target.NewJob(1)
	probe.Name = "probe"
	f.eventually("the webhook refuses", func() bool {
		ctx, stop := context.WithTimeout(t.Context(), time.Second) // this client repeats a request with Retry-After
		defer stop()
		_, _ = f.client.BatchV1().Jobs(ns).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return asked.Load() > 0
	})
}

// crowded is a user whose requests the API server refuses because of its own load.
const crowded = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: crowded}
spec: {type: Limited, limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: crowded}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: crowded}
  rules:
    - subjects: [{kind: User, user: {name: crowded}}]
      resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
`

// The API server's own 429 is a text and no Status. A webhook's 429 is a Status, although both
// have the headers of priority and fairness. Only the first takes a slot away from everybody.
func testOverload(t *testing.T, c *cluster.Cluster, f *fleet) {
	f.apply(f.look(1))
	objects.Apply(t, c.Config(), objects.Objects(t, crowded)...)
	var mu sync.Mutex
	var headers []http.Header
	var answers []loop.Answer
	create := func(config *rest.Config) *loop.Limit {
		headers, answers = nil, nil
		limit := loop.NewLimit(16)
		limit.Observe = func(a loop.Answer) {
			mu.Lock()
			defer mu.Unlock()
			if a.Code == http.StatusTooManyRequests {
				answers = append(answers, a)
			}
		}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && response.StatusCode == http.StatusTooManyRequests {
					headers = append(headers, response.Header.Clone())
				}
				return response, err
			})
		})
		clients, err := loop.Connect(config, timeout, limit)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				_, _ = clients.Requests.BatchV1().Jobs(f.target.Owner.Namespace).Create(t.Context(), f.target.NewJob(7), metav1.CreateOptions{})
			})
		}
		all.Wait()
		return limit
	}
	var limit *loop.Limit
	f.eventually("the API server refuses", func() bool {
		limit = create(c.User("crowded"))
		return len(answers) > 0
	})
	for i, h := range headers {
		require.NotEmpty(t, h.Get("X-Kubernetes-PF-FlowSchema-UID"))
		require.Contains(t, h.Get("Content-Type"), "text/plain")
		require.Equal(t, requests.Overloaded, answers[i].Answer)
	}
	require.NotZero(t, limit.Stats().Held)
	t.Logf("the API server: %v", headers[0])

	f.refuse(`{"message": "not so fast", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}`)
	limit = create(c.User("admin", "system:masters"))
	require.NotEmpty(t, answers)
	for i, h := range headers {
		require.NotEmpty(t, h.Get("X-Kubernetes-PF-FlowSchema-UID"))
		require.NotContains(t, h.Get("Content-Type"), "text/plain")
		require.Equal(t, requests.Refused, answers[i].Answer)
		require.Equal(t, 3*time.Second, answers[i].RetryAfter)
	}
	require.Zero(t, limit.Stats().Held)
	t.Logf("the webhook: %v", headers[0])
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
