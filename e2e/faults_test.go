package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/fair"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/e2e/cluster"
	objects "github.com/scaledjob/scaledjob/e2e/manifest"
	"github.com/scaledjob/scaledjob/rollout"
)

// A wire is the way to the API server, with what can go wrong on it.
type wire struct {
	mu   sync.Mutex
	next http.RoundTripper
	// fault answers a request in the server's place, if it returns anything, after
	// it has been sent or not, as it likes.
	fault func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
	late  time.Duration // by which watch events come
	cut   chan struct{} // closed to cut all watches
	limit *client.Limit // of requests; nil is none
	sent  atomic.Int64
}

// clients returns clients whose requests go over the wire.
func (w *wire) clients(t *testing.T, c *cluster.Cluster) client.Clients {
	t.Helper()
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.next = next
		return w
	})
	clients, err := client.Connect(config, timeout, w.limit)
	require.NoError(t, err)
	w.cut = make(chan struct{})
	return clients
}

// timeout is that of the writers' requests.
const timeout = 2 * time.Second

func (w *wire) breaks(how func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = how
}

func (w *wire) cutWatches() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut = make(chan struct{})
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent.Add(1)
	w.mu.Lock()
	fault, cut := w.fault, w.cut
	w.mu.Unlock()
	send := func() (*http.Response, error) { return w.next.RoundTrip(r) }
	if fault != nil {
		if answer, err := fault(r, send); answer != nil || err != nil {
			return answer, err
		}
	}
	answer, err := send()
	if err == nil && r.URL.Query().Get("watch") != "" {
		answer.Body = slow(answer.Body, w.late, cut)
	}
	return answer, err
}

// slow lets all that is read come late, until it is cut.
func slow(body io.ReadCloser, late time.Duration, cut <-chan struct{}) io.ReadCloser {
	type chunk struct {
		at   time.Time
		data []byte
	}
	chunks := make(chan chunk, 1<<16)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := body.Read(buffer)
			if n > 0 {
				chunks <- chunk{time.Now().Add(late), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		<-cut
		writer.CloseWithError(io.ErrUnexpectedEOF)
		body.Close()
	}()
	go func() {
		for c := range chunks {
			time.Sleep(time.Until(c.at))
			if _, err := writer.Write(c.data); err != nil {
				body.Close()
			}
		}
		writer.CloseWithError(io.EOF)
	}()
	return struct {
		io.Reader
		io.Closer
	}{reader, closers{reader, body}}
}

type closers []io.Closer

func (all closers) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func creates(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
}

func lists(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs")
}

func status(r *http.Request, code int, header ...string) *http.Response {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Message: "a fault"}
	data, _ := json.Marshal(s)
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: h, Body: io.NopCloser(bytes.NewReader(data)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

// A writer polls for a fleet through a wire of its own, as a controller would.
type writer struct {
	*fleet
	wire    *wire
	tracker *adapter.Tracker
	errs    []error
}

func newWriter(f *fleet, c *cluster.Cluster, w *wire) *writer {
	f.t.Helper()
	clients := w.clients(f.t, c)
	tracker, err := adapter.NewTracker(clients.Watches, adapter.Options{
		Terms: term.Alone(), Namespace: f.target.Owner.Namespace, Timeout: timeout, MaxAge: time.Minute, // a busy machine takes long for 1,000 Jobs
	})
	require.NoError(f.t, err)
	own := *f
	own.client = clients.Requests
	require.NoError(f.t, tracker.Track(f.target))
	go tracker.Run(f.t.Context())
	return &writer{fleet: &own, wire: w, tracker: tracker}
}

func (w *writer) synced() *writer {
	w.eventually("the tracker has synced", w.tracker.HasSynced)
	return w
}

// pollOnce polls with a queue, and keeps the error.
func (w *writer) pollOnce(queue float64) adapter.Result {
	r, err := w.tracker.Apply(w.t.Context(), w.client, w.plan(queue))
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return r
}

func (w *writer) plan(queue float64) adapter.Plan {
	return w.tracker.Plan(w.target.Owner.UID, items(queue), time.Now())
}

// edit changes the target.
func (w *writer) edit(change func(*adapter.Target)) {
	w.t.Helper()
	change(&w.target)
	require.NoError(w.t, w.tracker.Track(w.target))
}

// pollEvery polls at an interval for a while.
func (w *writer) pollEvery(interval, duration time.Duration, queue float64) {
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(interval) {
		w.pollOnce(queue)
	}
}

// converges polls until there are n Jobs, and then a little longer.
func (w *writer) converges(n int, queue float64) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d Jobs", n), func() bool {
		w.pollOnce(queue)
		return len(w.jobs()) == n
	})
	w.pollEvery(50*time.Millisecond, 500*time.Millisecond, queue)
	require.Len(w.t, w.jobs(), n)
}

// never looks at the API server all the while, and fails the test if there are
// ever more unfinished Jobs than the maximum.
func never(f *fleet) (stop func()) {
	done, most := make(chan struct{}), 0
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				l, err := f.client.BatchV1().Jobs(f.target.Owner.Namespace).List(f.t.Context(), metav1.ListOptions{})
				if err != nil {
					continue
				}
				n := 0
				for _, j := range l.Items {
					if j.Status.CompletionTime == nil {
						n++
					}
				}
				most = max(most, n)
			}
		}
	})
	return func() {
		close(done)
		group.Wait()
		require.LessOrEqual(f.t, most, int(f.target.Policy.Bounds.Max), "unfinished Jobs at once")
	}
}

// In no case does a Job run that nobody asked for, is one made twice, or do more
// run than the maximum; and each ends with the Jobs that were asked for.
func TestFaults(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: time.Hour} })
	client := c.Client(t)
	for _, tt := range []struct {
		name string
		test func(t *testing.T, c *cluster.Cluster, f *fleet)
	}{
		{"at rest", testAtRest},
		{"scale", testScale},
		{"list-fails", testListFails},
		{"watch-is-cut", testWatchIsCut},
		{"timeout-after-success", testTimeoutAfterSuccess},
		{"server-error", testServerError},
		{"delete-fails", testDeleteFails},
		{"conflict", testConflict},
		{"retry-after", testRetryAfter},
		{"quota", testQuota},
		{"webhook", testWebhook},
		{"overload", testOverload},
		{"stale-cache", testStaleCache},
		{"two-writers", testTwoWriters},
		{"restarted-in-a-burst", testRestarted},
		{"owner-made-anew", testOwnerMadeAnew},
		{"server-killed", testServerKilled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, client, "fault-"+strings.ReplaceAll(tt.name, " ", "-"))
			f.target.Policy.Bounds.Max = 30
			if tt.name != "scale" { // which is to be fast
				defer never(f)()
			}
			tt.test(t, c, f)
			f.createdOnce(c)
		})
	}
}

// createdOnce checks that the API server has agreed to create a Job name again only
// after the Job was deleted. Of requests that it was killed in nothing is known.
func (f *fleet) createdOnce(c *cluster.Cluster) {
	f.t.Helper()
	namespace := f.target.Owner.Namespace
	names := map[string]int{}
	created := c.Count(f.t, func(r cluster.Request) bool {
		is := r.Namespace == namespace && r.Verb == "create" && r.Resource == "jobs" && r.Code == http.StatusCreated
		if is {
			names[r.Name]++
		}
		return is
	})
	require.NotZero(f.t, created)
	deleted := map[string]int{}
	c.Count(f.t, func(r cluster.Request) bool {
		is := r.Namespace == namespace && r.Verb == "delete" && r.Resource == "jobs" && r.Code == http.StatusOK
		if is {
			deleted[r.Name]++
		}
		return is
	})
	there := map[string]int{}
	l, err := f.client.BatchV1().Jobs(namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	for _, j := range l.Items {
		there[j.Name] = 1
	}
	for name, n := range names {
		if !strings.HasPrefix(name, "owner-") { // a dry run
			continue
		}
		require.LessOrEqual(f.t, n, deleted[name]+there[name], "created, never deleted, and not there: %s", name)
	}
}

func testAtRest(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	w.converges(5, 5)
	before := w.wire.sent.Load()
	for range 100 {
		w.plan(5)
	}
	for range 10 {
		require.Zero(t, w.pollOnce(5))
	}
	require.Equal(t, before, w.wire.sent.Load(), "a poll in which nothing is to be done makes no request")
}

func testScale(t *testing.T, c *cluster.Cluster, f *fleet) {
	f.target.Policy.Bounds.Max = 1000
	w := newWriter(f, c, &wire{}).synced()
	for _, to := range []struct {
		jobs   int
		within time.Duration
	}{{100, time.Second}, {1000, 5 * time.Second}} {
		begin := time.Now()
		w.pollOnce(float64(to.jobs))
		took := time.Since(begin)
		t.Logf("%d Jobs after %s", to.jobs, took)
		require.Len(t, w.jobs(), to.jobs)
		if took > to.within { // on a machine that is busy with something else
			require.Less(t, took, 4*bare(t, c, to.jobs), "the same without deciding, and as many at once")
		}
	}
	w.converges(1000, 1000)
	require.Empty(t, w.errs)
}

// bare is how long it takes to create so many Jobs, 64 at once, and nothing else.
func bare(t *testing.T, c *cluster.Cluster, n int) time.Duration {
	f := newFleet(t, c.Client(t), fmt.Sprint("bare-", n))
	begin := time.Now()
	var creators sync.WaitGroup
	for first := range 64 {
		creators.Go(func() {
			for i := first; i < n; i += 64 {
				job := f.target.NewJob(int64(i + 1))
				_, err := f.client.BatchV1().Jobs(job.Namespace).Create(t.Context(), job, metav1.CreateOptions{})
				assert.NoError(t, err)
			}
		})
	}
	creators.Wait()
	return time.Since(begin)
}

func testListFails(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := &wire{}
	w.breaks(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		if lists(r) {
			return status(r, http.StatusInternalServerError), nil
		}
		return nil, nil
	})
	writer := newWriter(f, c, w)
	writer.pollEvery(50*time.Millisecond, time.Second, 10)
	require.Empty(t, f.jobs(), "nothing is known, so nothing is created")
	_, err := adapter.List(t.Context(), writer.client, f.target, adapter.Options{})
	require.True(t, apierrors.IsInternalError(err), "%v", err)
	w.breaks(nil)
	writer.synced().converges(10, 10)
}

func testWatchIsCut(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: 200 * time.Millisecond}).synced()
	for i := range 10 {
		w.pollOnce(float64(2 * i))
		w.wire.cutWatches()
		w.pollOnce(float64(2 * i))
	}
	w.converges(20, 20)

	// What a watch could not tell is listed anew.
	w.eventually("the cache shows them", func() bool {
		jobs, _ := w.tracker.Jobs(w.target.Owner.UID)
		return len(jobs) == 20
	})
	var gone, listed atomic.Int64
	w.wire.breaks(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		query := r.URL.Query()
		switch {
		case !lists(r):
		case query.Get("watch") == "" || query.Get("sendInitialEvents") == "true":
			listed.Add(1)
		case gone.Add(1) == 1:
			return status(r, http.StatusGone), nil
		}
		return nil, nil
	})
	lost := f.jobs()[0]
	require.NoError(t, f.client.BatchV1().Jobs(lost.Namespace).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}))
	w.wire.cutWatches()
	// After so many cuts the reflector may list first, and go on with the same watch.
	require.Eventually(t, func() bool {
		if gone.Load() == 0 {
			w.wire.cutWatches()
		}
		return gone.Load() > 0 && listed.Load() > 0
	}, 90*time.Second, 3*time.Second, "the Jobs are listed")
	w.wire.breaks(nil)
	w.converges(20, 20)
}

// A delete that fails, or that nobody knows of whether it did, is done in the end, and
// what it holds is not given away before.
func testDeleteFails(t *testing.T, c *cluster.Cluster, f *fleet) {
	f.target.Rollout = rollout.Policy{Strategy: rollout.Immediate}
	w := newWriter(f, c, &wire{}).synced()
	w.converges(20, 20)
	old := map[types.UID]bool{}
	for _, j := range f.jobs() {
		old[j.UID] = true
	}
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodDelete {
			return nil, nil
		}
		switch n.Add(1) % 4 {
		case 1:
			return status(r, http.StatusInternalServerError), nil
		case 2:
			return status(r, http.StatusConflict), nil
		case 3:
			answer, err := send()
			if err == nil {
				answer.Body.Close()
			}
			return nil, context.DeadlineExceeded
		}
		return nil, nil
	})
	w.edit(func(t *adapter.Target) { t.Revision.Generation = 2 })
	w.eventually("all are new", func() bool {
		w.pollOnce(20)
		jobs := f.jobs()
		for _, j := range jobs {
			if old[j.UID] {
				return false
			}
		}
		return len(jobs) == 20
	})
	require.NotEmpty(t, w.errs)
	w.wire.breaks(nil)
	w.converges(20, 20)
}

func testTimeoutAfterSuccess(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: time.Second}).synced()
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) || n.Add(1)%4 != 0 {
			return nil, nil
		}
		if answer, err := send(); err == nil {
			answer.Body.Close()
		}
		return nil, errors.New("i/o timeout")
	})
	w.pollEvery(100*time.Millisecond, 3*time.Second, 100)
	w.converges(30, 100)
	require.NotEmpty(t, w.errs)
}

func testServerError(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: time.Second}).synced()
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) || n.Add(1)%3 != 0 {
			return nil, nil
		}
		if n.Load()%2 == 0 {
			if answer, err := send(); err == nil {
				answer.Body.Close()
			}
		}
		return status(r, http.StatusInternalServerError), nil
	})
	w.pollEvery(100*time.Millisecond, 3*time.Second, 100)
	w.converges(30, 100)
	require.NotEmpty(t, w.errs)
}

func testConflict(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	foreign := f.target.NewJob(1)
	foreign.OwnerReferences = nil
	_, err := f.client.BatchV1().Jobs(foreign.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	w.converges(6, 5)
	require.Empty(t, w.errs)
	there, err := f.client.BatchV1().Jobs(foreign.Namespace).Get(t.Context(), foreign.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, there.OwnerReferences)
}

// A refusal is told at once, so that it holds nobody up. The limit sends nothing more for
// the owner before the time that the server has named.
func testRetryAfter(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{limit: client.NewLimit(8)}).synced()
	const after = 2 * time.Second // longer than a create that failed waits by itself
	var mu sync.Mutex
	var sent []time.Time
	w.wire.breaks(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) {
			return nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if sent = append(sent, time.Now()); len(sent) <= 2 {
			return status(r, http.StatusTooManyRequests, "Retry-After", "2"), nil
		}
		return nil, nil
	})
	require.Zero(t, w.pollOnce(10).Created)
	require.Len(t, w.errs, 1)
	require.True(t, apierrors.IsTooManyRequests(w.errs[0]), "%v", w.errs[0])
	require.Len(t, sent, 1)
	w.converges(10, 10)
	for i := range 2 {
		require.GreaterOrEqual(t, sent[i+1].Sub(sent[i]), after, "it waited as it was told")
	}
}

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

func testWebhook(t *testing.T, c *cluster.Cluster, f *fleet) {
	hook := f.webhook(`{"message": "not on a Friday", "code": 403}`)
	w := newWriter(f, c, &wire{}).synced()
	before := hook.asked.Load()
	require.Zero(t, w.pollOnce(20).Created)
	require.Equal(t, before+1, hook.asked.Load(), "the first rejection ends the batch")
	require.ErrorContains(t, w.errs[0], "not on a Friday")
	hook.allows.Store(true)
	w.converges(20, 20)
}

// A webhook refuses the creates of Jobs of a namespace, with a status.
type webhook struct {
	allows atomic.Bool
	asked  atomic.Int64
}

func (f *fleet) webhook(status string) *webhook {
	t, hook := f.t, &webhook{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hook.asked.Add(1)
		var review struct {
			APIVersion, Kind string
			Request          struct{ UID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
			"uid": review.Request.UID, "allowed": hook.allows.Load(), "status": json.RawMessage(status),
		}})
	}))
	t.Cleanup(server.Close)
	ns := f.target.Owner.Namespace
	hooks := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "refuses.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &server.URL, CABundle: certificate(server)},
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
		return hook.asked.Load() > 0
	})
	return hook
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
	var answers []client.Answer
	create := func(config *rest.Config) *client.Limit {
		headers, answers = nil, nil
		limit := client.NewLimit(16)
		limit.Observe = func(a client.Answer) {
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
		clients, err := client.Connect(config, timeout, limit)
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
	var limit *client.Limit
	f.eventually("the API server refuses", func() bool {
		limit = create(c.User("crowded"))
		return len(answers) > 0
	})
	for i, h := range headers {
		require.NotEmpty(t, h.Get("X-Kubernetes-PF-FlowSchema-UID"))
		require.Contains(t, h.Get("Content-Type"), "text/plain")
		require.Equal(t, fair.Overloaded, answers[i].Answer)
	}
	require.NotZero(t, limit.Stats().Held)
	t.Logf("the API server: %v", headers[0])

	f.webhook(`{"message": "not so fast", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}`)
	limit = create(c.User("admin", "system:masters"))
	require.NotEmpty(t, answers)
	for i, h := range headers {
		require.NotEmpty(t, h.Get("X-Kubernetes-PF-FlowSchema-UID"))
		require.NotContains(t, h.Get("Content-Type"), "text/plain")
		require.Equal(t, fair.Refused, answers[i].Answer)
		require.Equal(t, 3*time.Second, answers[i].RetryAfter)
	}
	require.Zero(t, limit.Stats().Held)
	t.Logf("the webhook: %v", headers[0])
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func testStaleCache(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: 3 * time.Second}).synced()
	for i := range 30 {
		w.pollOnce(float64(i))
		time.Sleep(100 * time.Millisecond)
		require.LessOrEqual(t, len(f.jobs()), i)
	}
	w.converges(30, 500)
	require.Empty(t, w.errs)
}

func testTwoWriters(t *testing.T, c *cluster.Cluster, f *fleet) {
	writers := []*writer{newWriter(f, c, &wire{late: 100 * time.Millisecond}).synced(), newWriter(f, c, &wire{late: time.Second}).synced()}
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for i := range 30 {
				w.pollOnce(float64(i))
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, len(f.jobs()), 29)
	writers[0].converges(30, 500)
	writers[1].converges(30, 500)
}

// The process is gone in the middle of a burst: what it sent last was not
// answered, and nobody remembers it.
func testRestarted(t *testing.T, c *cluster.Cluster, f *fleet) {
	for i := range 4 {
		w := newWriter(f, c, &wire{}).synced()
		var n atomic.Int64
		w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if creates(r) && n.Add(1) > int64(2*i) {
				if answer, err := send(); err == nil {
					answer.Body.Close()
				}
				return nil, errors.New("killed")
			}
			return nil, nil
		})
		w.pollOnce(500)
	}
	newWriter(f, c, &wire{}).synced().converges(30, 500)
}

func testOwnerMadeAnew(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	w.converges(5, 5)
	maps := f.client.CoreV1().ConfigMaps(f.target.Owner.Namespace)
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	f.eventually("the owner is gone", func() bool {
		_, err := maps.Get(t.Context(), "owner", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	old := map[string]bool{}
	for _, j := range f.jobs() {
		old[string(j.UID)] = true
	}
	w.tracker.Untrack(w.target.Owner.UID)
	w.edit(func(t *adapter.Target) {
		t.Owner = adapter.OwnerOf(m, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		t.Policy.Bounds.Max = 4
	})
	w.converges(9, 4)
	kept := 0
	for _, j := range f.jobs() {
		if old[string(j.UID)] {
			kept++
			require.Nil(t, j.DeletionTimestamp)
		}
	}
	require.Equal(t, 5, kept, "the Jobs of the owner before are neither counted nor touched")
}

// The API server is killed in the middle of a burst, and comes back with what it
// had agreed to.
func testServerKilled(t *testing.T, c *cluster.Cluster, f *fleet) {
	const n = 300
	f.target.Policy.Bounds.Max = n
	w := newWriter(f, c, &wire{}).synced()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.pollEvery(50*time.Millisecond, 5*time.Second, 10*n)
	}()
	f.eventually("the burst has begun", func() bool { return len(f.jobs()) > 30 })
	c.KillAPIServer()
	time.Sleep(time.Second)
	require.NoError(t, c.StartAPIServer(t.Context()))
	<-done
	require.NotEmpty(t, w.errs, "the server was away")
	w.converges(n, 10*n)
	answered := c.Count(t, func(r cluster.Request) bool {
		return r.Verb == "create" && r.Resource == "jobs" && r.Namespace == f.target.Owner.Namespace && r.Code == http.StatusCreated
	})
	t.Logf("%d Jobs, of which %d creates were answered", n, answered)
	require.LessOrEqual(t, answered, n)
}
