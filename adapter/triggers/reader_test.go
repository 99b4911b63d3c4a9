package triggers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
	"github.com/scaledjob/scaledjob/scaling"
)

// A fakeWorker answers reads without KEDA. What it does depends on the trigger's key.
type fakeWorker struct {
	mu      sync.Mutex
	started []string // classes
	open    atomic.Int64
	read    func(w *fakeConn, id uint64, r wire.Read)
}

type fakeConn struct {
	*wire.Conn
	conn    net.Conn
	n       int // of the worker
	answers chan wire.Message
}

func (f *fakeWorker) start(class string) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	f.mu.Lock()
	f.started = append(f.started, class)
	n := len(f.started)
	f.mu.Unlock()
	f.open.Add(1)
	c := &fakeConn{Conn: wire.NewConn(theirs, wire.FromReader), conn: theirs, n: n, answers: make(chan wire.Message, 100)}
	go func() {
		defer f.open.Add(-1)
		for {
			m, err := c.Receive()
			if err != nil {
				return
			}
			switch {
			case m.Read != nil:
				go f.read(c, m.ID, *m.Read)
			case m.Answer != nil:
				c.answers <- m
			case m.Ping:
				time.Sleep(time.Millisecond)
				_ = c.Send(m)
			}
		}
	}()
	return ours, nil
}

func (f *fakeWorker) classes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.started...)
}

func (c *fakeConn) ask(id uint64, ask wire.Ask) wire.Answer {
	ask.N = 1
	_ = c.Send(wire.Message{ID: id, Ask: &ask})
	m := <-c.answers
	return *m.Answer
}

func (c *fakeConn) result(id uint64, r wire.Result) { _ = c.Send(wire.Message{ID: id, Result: &r}) }

func newFake(t *testing.T, o Options, f *fakeWorker, core []runtime.Object, all ...runtime.Object) *Reader {
	o.Start, o.Client = f.start, fake.NewClientset(core...)
	kinds := map[schema.GroupVersionResource]string{
		authentications.WithResource("triggerauthentications"): "TriggerAuthenticationList", authentications.WithResource("clustertriggerauthentications"): "ClusterTriggerAuthenticationList",
	}
	o.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
	r, err := New(o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func anOwner(name string, n int) Owner {
	o := Owner{Namespace: "team", Name: name, UID: types.UID(name)}
	for range n {
		o.Triggers = append(o.Triggers, manifest.ScaleTrigger{Type: "redis", Metadata: map[string]string{"address": "a:1"}})
	}
	return o
}

// Owners whose triggers answer late delay no other owner, also if they are more than the reads at
// the same time, or are read alone.
func TestSlowOwnersDelayNoOther(t *testing.T) {
	for _, alone := range []int{0, 30} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeWorker{read: func(w *fakeConn, id uint64, r wire.Read) {
				if strings.HasPrefix(r.Key, "slow") {
					time.Sleep(9 * time.Second)
				}
				w.result(id, wire.Result{Value: 7, Target: 2})
			}}
			r := newFake(t, Options{}, f, nil)
			suspects := map[string]bool{"team/good": true}
			for i := range alone {
				suspects[fmt.Sprintf("team/slow%d", i)] = true
			}
			for range manyDeaths {
				r.pool.blame.underWay(suspects, time.Now())
			}
			var reads sync.WaitGroup
			for i := range 200 {
				reads.Go(func() {
					for range 3 { // polls
						_, _ = r.Read(t.Context(), anOwner(fmt.Sprintf("slow%d", i), 8))
					}
				})
			}
			time.Sleep(time.Duration(2+alone) * 5 * time.Second) // until all have been slow once
			var longest time.Duration
			for range 20 {
				time.Sleep(time.Second)
				begin := time.Now()
				_, err := r.Read(t.Context(), anOwner("good", 4))
				assert.NoError(t, err)
				longest = max(longest, time.Since(begin))
			}
			assert.LessOrEqual(t, longest, requests.Patience, "%d read alone", alone)
			reads.Wait()
		})
	}
}

// An owner that kills is read alone and then pauses; the others miss one read.
func TestDeathsOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			if strings.HasPrefix(r.Key, "bad/") {
				time.Sleep(time.Second)
				w.conn.Close()
				return
			}
			time.Sleep(2 * time.Second)
			w.result(id, wire.Result{Value: 7, Target: 2, Active: true})
		}
		r := newFake(t, Options{}, f, nil)
		missed := map[string]int{}
		var mu sync.Mutex
		round := func() {
			var reads sync.WaitGroup
			for i := range 21 {
				name := fmt.Sprintf("good%d", i)
				if i == 20 {
					name = "bad"
				}
				reads.Go(func() {
					if _, err := r.Read(context.Background(), anOwner(name, 1)); err != nil {
						mu.Lock()
						defer mu.Unlock()
						missed[name]++
					}
				})
			}
			reads.Wait()
		}
		for range 10 {
			round()
			time.Sleep(30 * time.Second)
		}
		require.Equal(t, 10, missed["bad"])
		for name, n := range missed {
			if name != "bad" {
				require.LessOrEqual(t, n, 1, name)
			}
		}
		require.Len(t, missed, 21, "the others were under way once")
		shared := 0
		for key, o := range r.pool.blame.owners {
			if key != namespaceOf(key) && !o.once && time.Now().After(o.alone) {
				shared++
			}
		}
		require.Equal(t, 20, shared)
		// At 0 s with the others; alone at 30 s; then after one, two and four minutes.
		require.Less(t, len(f.classes()), 30)
		require.EqualValues(t, 1, f.open.Load(), "only the shared worker runs")
		r.Close()
		synctest.Wait()
	})
}

// A trigger that hangs is not read again, and the worker stays.
func TestHangingTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			if r.Key == "a/1" {
				reads.Add(1)
				time.Sleep(time.Minute)
			}
			w.result(id, wire.Result{Value: 7, Target: 2})
		}
		r := newFake(t, Options{}, f, nil)
		for range 3 {
			metrics, err := r.Read(context.Background(), anOwner("a", 2))
			require.ErrorIs(t, err, errHangs)
			require.False(t, metrics[0].Failed)
			require.True(t, metrics[1].Failed)
		}
		require.EqualValues(t, 1, reads.Load())
		require.Len(t, f.classes(), 1)
		time.Sleep(time.Minute)
		_, err := r.Read(context.Background(), anOwner("b", 1))
		require.NoError(t, err)
		r.Close()
		synctest.Wait()
	})
}

// A formula that does not end ends its worker, and is then evaluated alone. The owner's triggers
// are read as before.
func TestHangingFormula(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			switch {
			case strings.Contains(r.Key, "slow"): // and is answered after the formula's deadline
				time.AfterFunc(time.Duration(r.Timeout)*time.Millisecond+grace-time.Millisecond/2, func() { w.result(id, wire.Result{Value: 7, Target: 2}) })
			case r.Formula == nil:
				w.result(id, wire.Result{Value: 7, Target: 2})
			case r.Formula.Text == "none":
				w.result(id, wire.Result{None: true})
			case r.Formula.Text == "bad":
				w.result(id, wire.Result{Error: "bad"})
			case r.Formula.Text == "sum":
				w.result(id, wire.Result{Value: *r.Formula.Values["a"] + 1})
			}
		}
		r := newFake(t, Options{}, f, nil)
		a := 2.
		values := map[string]*float64{"a": &a, "b": nil}
		sum, err := r.Formula(context.Background(), anOwner("good", 1), "sum", values)
		require.NoError(t, err)
		require.Equal(t, 3., *sum)
		none, err := r.Formula(context.Background(), anOwner("good", 1), "none", values)
		require.NoError(t, err)
		require.Nil(t, none)
		_, err = r.Formula(context.Background(), anOwner("good", 1), "bad", values)
		require.EqualError(t, err, "bad")
		for _, want := range []string{"did not end in time", "did not end in time", "has ended a worker"} {
			var other error
			var reading sync.WaitGroup
			reading.Go(func() {
				time.Sleep(time.Millisecond)
				_, other = r.Read(context.Background(), anOwner("slow", 1))
			})
			_, err = r.Formula(context.Background(), anOwner("loop", 1), "loop", values)
			require.ErrorContains(t, err, want)
			reading.Wait()
			require.NoError(t, other, "a read that is under way when the formula's worker ends")
			_, err = r.Read(context.Background(), anOwner("loop", 1))
			require.NoError(t, err)
		}
		require.Len(t, f.classes(), 3, "the first, the second for reads, and one that was alone")
		r.Close()
		synctest.Wait()
	})
}

// Triggers that are skipped have no metric, and the others keep their names.
func TestSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			w.result(id, wire.Result{Value: float64(r.Position), Target: 1})
		}
		r := newFake(t, Options{}, f, nil)
		o := anOwner("a", 3)
		o.Skip = map[int]bool{0: true, 2: true}
		metrics, err := r.Read(context.Background(), o)
		require.NoError(t, err)
		require.Equal(t, []scaling.Metric{{Name: "redis-2", Value: 1, Target: 1, Activity: scaling.Inactive}}, metrics)
		r.Close()
		synctest.Wait()
	})
}

// A worker that answers nothing at all, or that receives nothing from some time on, is ended, and
// every read ends.
func TestSilentWorker(t *testing.T) {
	for _, receives := range []int{0, 1, 2, 3} { // messages
		synctest.Test(t, func(t *testing.T) {
			var open atomic.Int64
			r := newFake(t, Options{}, &fakeWorker{}, nil)
			r.pool.start = func(string) (io.ReadWriteCloser, error) {
				ours, theirs := net.Pipe()
				open.Add(1)
				go func() {
					defer open.Add(-1)
					w := wire.NewConn(theirs, wire.FromReader)
					for range receives {
						m, _ := w.Receive()
						if m.Read != nil {
							time.Sleep(time.Millisecond)
							_ = w.Send(wire.Message{ID: m.ID, Ask: &wire.Ask{Kind: wire.Owner}})
						}
					}
					for err := error(nil); err == nil; _, err = theirs.Write(nil) { // until it is ended
						time.Sleep(time.Second)
					}
				}()
				return ours, nil
			}
			for _, name := range []string{"a", "b", "c"} {
				begin := time.Now()
				_, err := r.Read(t.Context(), anOwner(name, 1))
				require.Error(t, err)
				require.Less(t, time.Since(begin), 25*time.Second)
			}
			time.Sleep(takesWithin)
			require.LessOrEqual(t, open.Load(), int64(1), "the next read finds out")
			r.Close()
			time.Sleep(takesWithin)
			require.Zero(t, open.Load())
		})
	}
}

// A worker that asks without end, and receives no answer, costs the reader nothing else.
func TestFloodOfAsks(t *testing.T) {
	r, flooded := newFake(t, Options{}, &fakeWorker{}, nil), make(chan bool)
	r.pool.start = func(string) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer close(flooded)
			w := wire.NewConn(theirs, wire.FromReader)
			_, _ = w.Receive()
			m, err := w.Receive()
			for n := uint64(0); err == nil && n < 10_000; n++ {
				err = w.Send(wire.Message{ID: m.ID + n%2, Ask: &wire.Ask{N: n, Kind: wire.Owner}})
			}
		}()
		return ours, nil
	}
	before := goruntime.NumGoroutine()
	go r.Read(t.Context(), anOwner("a", 1))
	select {
	case <-flooded:
	case <-time.After(2 * time.Second): // it waits
	}
	require.Less(t, goruntime.NumGoroutine(), before+50)
}

// A supervisor that can start no worker blames no owner.
func TestSupervisorStartsNone(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) { w.result(id, wire.Result{Target: 1}) }}
	var runs atomic.Bool
	go Serve(t.Context(), l, func(class string) (io.ReadWriteCloser, error) {
		if !runs.Load() {
			return nil, errors.New("no memory")
		}
		return f.start(class)
	})
	r := newFake(t, Options{}, f, nil)
	r.pool.start = Dial(socket)
	for range 2 {
		_, err = r.Read(t.Context(), anOwner("a", 1))
		require.ErrorContains(t, err, "has started no worker")
	}
	runs.Store(true)
	_, err = r.Read(t.Context(), anOwner("a", 1))
	require.NoError(t, err)
}

// After many builds another worker takes over, and the reads under way end with the old one, which
// does not wait for one that hangs.
func TestReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var builds atomic.Int64
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			switch r.Key {
			case "slow/0":
				time.Sleep(5 * time.Second)
			case "hangs/0":
				time.Sleep(time.Hour)
			}
			w.result(id, wire.Result{Value: float64(w.n), Target: 1, Load: wire.Load{Builds: builds.Load(), Scalers: 500}})
		}
		r := newFake(t, Options{}, f, nil)
		slow := make(chan float64)
		go func() {
			metrics, _ := r.Read(context.Background(), anOwner("slow", 1))
			slow <- metrics[0].Value
		}()
		go r.Read(context.Background(), anOwner("hangs", 1))
		synctest.Wait()
		builds.Store(1500)
		_, err := r.Read(context.Background(), anOwner("a", 1))
		require.NoError(t, err)
		require.Len(t, f.classes(), 1, "500 scalers are alive")
		builds.Store(1501)
		_, err = r.Read(context.Background(), anOwner("a", 1))
		require.NoError(t, err)
		builds.Store(0)
		metrics, err := r.Read(context.Background(), anOwner("a", 1))
		require.NoError(t, err)
		require.Equal(t, 2., metrics[0].Value)
		require.Equal(t, 1., <-slow)
		time.Sleep(r.Timeout)
		require.EqualValues(t, 1, f.open.Load())
		r.Close()
		time.Sleep(time.Hour)
	})
}

// However often a tenant's triggers make scalers be built, or its owners come and go while they are read,
// one worker at the most runs besides, and workers are not replaced in a row.
func TestReplacementsAreBounded(t *testing.T) {
	for _, leave := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var most, builds atomic.Int64
			f := &fakeWorker{}
			f.read = func(w *fakeConn, id uint64, r wire.Read) {
				most.Store(max(most.Load(), f.open.Load()))
				if strings.HasPrefix(r.Key, "slow") {
					time.Sleep(9 * time.Second)
				}
				w.result(id, wire.Result{Value: 7, Target: 1, Load: wire.Load{Builds: builds.Load()}})
			}
			const workers = 2
			r := newFake(t, Options{Workers: workers}, f, nil)
			var reading sync.WaitGroup
			begin := time.Now()
			for i := range 8 {
				for k := range 20 { // more than one worker has
					o := anOwner(fmt.Sprintf("%d-%d", i, k), 32)
					if k > 15 {
						o.UID = "slow" + o.UID
					}
					reading.Go(func() { _, _ = r.Read(t.Context(), o) })
					if leave {
						time.AfterFunc(2*betweenStarts, func() { r.Forget(o.UID) })
					} else {
						builds.Store(maxBuilds + 1)
					}
				}
				time.Sleep(3 * betweenStarts)
			}
			reading.Wait()
			require.LessOrEqual(t, most.Load(), int64(workers+1))
			if !leave {
				require.Less(t, len(f.classes()), workers+2+int(time.Since(begin)/r.Timeout))
			}
			r.Close()
			synctest.Wait()
		})
	}
}

// Reads that wait for their turn while the worker is replaced are done by the next one.
func TestReplacementWhileReadsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, _ wire.Read) {
			time.Sleep(time.Second)
			w.result(id, wire.Result{Value: 7, Target: 1, Load: wire.Load{Builds: maxBuilds + 1}})
		}
		r := newFake(t, Options{}, f, nil)
		var reads sync.WaitGroup
		for i := range 2 * inAll {
			reads.Go(func() {
				_, err := r.Read(context.Background(), anOwner(fmt.Sprint(i), 1))
				assert.NoError(t, err)
			})
		}
		reads.Wait()
		require.Greater(t, len(f.classes()), 1)
		r.Close()
		synctest.Wait()
	})
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte("value")}}
}

func object(kind, namespace, name string, annotations map[string]any, spec map[string]any) runtime.Object {
	metadata := map[string]any{"name": name, "annotations": annotations}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": authentications.String(), "kind": kind, "metadata": metadata, "spec": spec}}
}

func refersTo(name string) map[string]any {
	return map[string]any{"secretTargetRef": []any{map[string]any{"parameter": "password", "name": name, "key": "key"}}}
}

// What the worker may have, and what not.
func TestPolicy(t *testing.T) {
	core := []runtime.Object{secret("team", "own"), secret("other", "theirs"), secret("keda", "shared"), secret("keda", "internal")}
	all := []runtime.Object{
		object("TriggerAuthentication", "team", "auth", nil, refersTo("own")),
		object("TriggerAuthentication", "team", "second", nil, refersTo("own")),
		object("TriggerAuthentication", "team", "nested", nil, map[string]any{"azureKeyVault": map[string]any{"podIdentity": map[string]any{"provider": "azure-workload"}}}),
		object("TriggerAuthentication", "team", "unknown", nil, map[string]any{"newWay": map[string]any{}}),
		object("ClusterTriggerAuthentication", "", "closed", nil, refersTo("shared")),
		object("ClusterTriggerAuthentication", "", "identity", map[string]any{annotationNamespaces: "team", annotationHosts: "sqs.eu.amazonaws.com,a.example"},
			map[string]any{"podIdentity": map[string]any{"provider": "aws"}}),
		object("ClusterTriggerAuthentication", "", "served", map[string]any{annotationNamespaces: "team", annotationHosts: "a.example"}, refersTo("shared")),
	}
	get := func(kind, namespace, name string) wire.Ask {
		return wire.Ask{Kind: kind, Namespace: namespace, Name: name}
	}
	all = append(all, object("TriggerAuthentication", "other", "auth", nil, refersTo("theirs")))
	core = append(core, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shared"}})
	var large []wire.Ask
	for i := range 9 {
		s := secret("team", fmt.Sprint("large-", i))
		s.Data["a"] = make([]byte, 1<<20)
		core, large = append(core, s), append(large, get("Secret", "team", s.Name))
	}
	for _, c := range []struct {
		name    string
		ref     manifest.AuthenticationRef
		asks    []wire.Ask
		refused string
	}{
		{"own Secret", manifest.AuthenticationRef{}, []wire.Ask{get("Secret", "team", "own")}, ""},
		{"a Secret elsewhere", manifest.AuthenticationRef{}, []wire.Ask{get("Secret", "other", "theirs")}, "another namespace"},
		{"a Secret of the cluster", manifest.AuthenticationRef{}, []wire.Ask{get("Secret", "keda", "shared")}, "another namespace"},
		{"a Deployment", manifest.AuthenticationRef{}, []wire.Ask{get("Deployment", "team", "own")}, "no trigger may read"},
		{"pods elsewhere", manifest.AuthenticationRef{}, []wire.Ask{get("Pod", "other", "")}, "another namespace"},
		{"its authentication", manifest.AuthenticationRef{Name: "auth"}, []wire.Ask{get("TriggerAuthentication", "team", "auth"), get("Secret", "team", "own")}, ""},
		{"another authentication", manifest.AuthenticationRef{Name: "auth"}, []wire.Ask{get("TriggerAuthentication", "team", "second")}, "does not refer to"},
		{"an identity inside", manifest.AuthenticationRef{Name: "nested"}, []wire.Ask{get("TriggerAuthentication", "team", "nested")}, "-allow-trigger azure-workload=team"},
		{"an unknown way", manifest.AuthenticationRef{Name: "unknown"}, []wire.Ask{get("TriggerAuthentication", "team", "unknown")}, "not known"},
		{"a token", manifest.AuthenticationRef{}, []wire.Ask{get(wire.Token, "team", "default")}, "-token-audience team/default"},
		{"a token that no authentication uses", manifest.AuthenticationRef{}, []wire.Ask{get(wire.Token, "team", "used")}, "no authentication that uses"},
		{"of the cluster, with an identity", manifest.AuthenticationRef{Name: "identity", Kind: "ClusterTriggerAuthentication"}, []wire.Ask{get("ClusterTriggerAuthentication", "", "identity")}, ""},
		{"of the cluster, closed", manifest.AuthenticationRef{Name: "closed", Kind: "ClusterTriggerAuthentication"}, []wire.Ask{get("ClusterTriggerAuthentication", "", "closed")}, "-open-cluster-authentication"},
		{"of the cluster", manifest.AuthenticationRef{Name: "served", Kind: "ClusterTriggerAuthentication"}, []wire.Ask{get("ClusterTriggerAuthentication", "", "served"), get("Secret", "keda", "shared")}, ""},
		{"of the cluster, and an own Secret of the name", manifest.AuthenticationRef{Name: "served", Kind: "ClusterTriggerAuthentication"}, []wire.Ask{get("ClusterTriggerAuthentication", "", "served"), get("Secret", "team", "shared")}, ""},
		{"of the cluster, another Secret", manifest.AuthenticationRef{Name: "served", Kind: "ClusterTriggerAuthentication"}, []wire.Ask{get("ClusterTriggerAuthentication", "", "served"), get("Secret", "keda", "internal")}, "another namespace"},
		{"an authentication of the name elsewhere", manifest.AuthenticationRef{Name: "auth"}, []wire.Ask{get("TriggerAuthentication", "other", "auth")}, "does not refer to"},
		{"many large Secrets", manifest.AuthenticationRef{}, large, "more than 8388608 bytes"},
		{"an absent Secret", manifest.AuthenticationRef{}, []wire.Ask{get("Secret", "team", "absent")}, "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var last wire.Answer
			f := &fakeWorker{}
			f.read = func(w *fakeConn, id uint64, _ wire.Read) {
				for _, ask := range c.asks {
					last = w.ask(id, ask)
				}
				w.result(id, wire.Result{Value: 7, Target: 1}) // as KEDA does
			}
			o := anOwner("a", 1)
			if c.ref.Name != "" {
				o.Triggers[0].AuthenticationRef = &c.ref
			}
			allow := []Allowance{{Kind: "aws", Namespaces: []string{"team"}, Hosts: []string{"*.amazonaws.com"}}}
			metrics, err := newFake(t, Options{Allow: allow, Audiences: map[string]string{"team/used": "a"}}, f, core, all...).Read(context.Background(), o)
			if c.refused == "" {
				require.NoError(t, err)
				require.NotEmpty(t, last.Object)
				if c.ref.Name == "identity" {
					require.Equal(t, []string{"sqs.eu.amazonaws.com"}, last.Hosts)
				}
				return
			}
			require.ErrorContains(t, err, c.refused)
			require.True(t, metrics[0].Failed, "whatever the worker made of it")
		})
	}
}

// configMaps is a client whose only ConfigMap is what get returns.
type configMaps struct {
	kubernetes.Interface
	get func() *corev1.ConfigMap
}

type core struct {
	typedcorev1.CoreV1Interface
	of configMaps
}

type namespaced struct {
	typedcorev1.ConfigMapInterface
	of configMaps
}

func (c configMaps) CoreV1() typedcorev1.CoreV1Interface { return core{of: c} }

func (c core) ConfigMaps(string) typedcorev1.ConfigMapInterface { return namespaced{of: c.of} }

func (n namespaced) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return n.of.get(), nil
}

// Each object that a tenant may name can have a megabyte. However many of a worker's reads ask at the same
// time, few objects are held for it, and none that a read has no bytes left for.
func TestAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) {
			for range 2 * asksAtOn {
				w.ask(id, wire.Ask{Kind: "ConfigMap", Namespace: "team", Name: "large"}) // any of the answers
			}
			w.result(id, wire.Result{Target: 1})
		}}
		large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "large"}, Data: map[string]string{"a": strings.Repeat("a", maxServed/4)}}
		r := newFake(t, Options{}, f, nil)
		var now, most, all atomic.Int64
		r.Client = configMaps{get: func() *corev1.ConfigMap {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			all.Add(1)
			time.Sleep(time.Millisecond)
			return large
		}}
		var reads sync.WaitGroup
		for i := range 10 {
			reads.Go(func() { _, _ = r.Read(t.Context(), anOwner(fmt.Sprint(i), 1)) })
		}
		reads.Wait()
		require.EqualValues(t, answersAt, most.Load())
		require.LessOrEqual(t, all.Load(), int64(10*(4+answersAt)), "of 160")
		r.Close()
		synctest.Wait()
	})
}

// A read has bounds: of requests, of the objects in a list, and of the owner's triggers with the
// environment.
func TestBoundsOfARead(t *testing.T) {
	core := []runtime.Object{secret("team", "own")}
	for i := range maxList + 1 {
		core = append(core, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("pod-", i)}})
	}
	var last wire.Answer
	asks := []wire.Ask{{Kind: "Pod", Namespace: "team"}}
	f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) {
		for _, ask := range asks {
			last = w.ask(id, ask)
		}
		w.result(id, wire.Result{Value: 7, Target: 1})
	}}
	r := newFake(t, Options{}, f, core)
	_, err := r.Read(context.Background(), anOwner("a", 1))
	require.ErrorContains(t, err, "more than 5000 objects")
	asks = slices.Repeat([]wire.Ask{{Kind: "Secret", Namespace: "team", Name: "own"}}, maxAsks)
	_, err = r.Read(context.Background(), anOwner("a", 1))
	require.NoError(t, err)
	require.Empty(t, last.Refused)
	asks = append(asks, asks[0])
	_, err = r.Read(context.Background(), anOwner("a", 1))
	require.NoError(t, err, "which the worker reports")
	require.Contains(t, last.Refused, "more than 256 requests")
	asks = nil
	long := anOwner("a", 1)
	long.Triggers[0].Metadata["query"] = strings.Repeat("a", maxObject)
	_, err = r.Read(context.Background(), long)
	require.ErrorContains(t, err, "use at most 1048576")
	asks, long.Generation = []wire.Ask{{Kind: wire.Owner}}, 1
	_, err = r.Read(context.Background(), long)
	require.ErrorContains(t, err, "use at most 1048576")
}

// A read of an owner that was not edited does not encode it, and an edit is another revision, with and
// without generations.
func TestRevisions(t *testing.T) {
	var revisions []int64
	var object wire.Answer
	f := &fakeWorker{read: func(w *fakeConn, id uint64, read wire.Read) {
		revisions = append(revisions, read.Revision)
		object = w.ask(id, wire.Ask{Kind: wire.Owner})
		w.result(id, wire.Result{Value: 7, Target: 1})
	}}
	r, o := newFake(t, Options{}, f, nil), anOwner("a", 1)
	for _, edit := range []func(){func() {}, func() {}, func() { o.Container = "b" }, func() { o.Generation = 1 }, func() { o.Generation, o.Container = 2, "c" }} {
		edit()
		_, err := r.Read(t.Context(), o)
		require.NoError(t, err)
	}
	require.Equal(t, revisions[0], revisions[1])
	require.NotEqual(t, revisions[1], revisions[2])
	require.Equal(t, []int64{1, 2}, revisions[3:])
	require.Contains(t, string(object.Object), `"envSourceContainerName":"c"`)
	o.Pod.Containers = make([]corev1.Container, 100)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = o.revision(0) }), 1., "for each poll")
}

// A worker has the variables of its identity, and no other of this process.
func TestVariablesOfWorkers(t *testing.T) {
	all := []string{"AWS_REGION=a", "PASSWORD=b", "GOOGLE_CLOUD_PROJECT=c"}
	require.Equal(t, []string{"KEDA_CLUSTER_OBJECT_NAMESPACE=keda"}, Program{}.environment("", all))
	require.Equal(t, []string{"KEDA_CLUSTER_OBJECT_NAMESPACE=keda", "AWS_REGION=a"}, Program{}.environment("aws", all))
	require.Equal(t, []string{"KEDA_CLUSTER_OBJECT_NAMESPACE=keda"}, Program{}.environment("anything", all))
}

func TestOptionalSecretMayBeAbsent(t *testing.T) {
	yes := true
	var last wire.Answer
	f := &fakeWorker{}
	f.read = func(w *fakeConn, id uint64, _ wire.Read) {
		last = w.ask(id, wire.Ask{Kind: "Secret", Namespace: "team", Name: "absent"})
		w.result(id, wire.Result{Value: 7, Target: 1})
	}
	r := newFake(t, Options{}, f, nil)
	o := anOwner("a", 1)
	ref := &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}, Optional: &yes}
	o.Pod.Containers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: ref}}}}
	_, err := r.Read(context.Background(), o)
	require.NoError(t, err)
	require.True(t, last.Absent)
	ref.Optional = nil
	_, err = r.Read(context.Background(), o)
	require.ErrorContains(t, err, "not found")
}

// An identity has a worker of its own, once it is allowed.
func TestIdentityHasItsWorker(t *testing.T) {
	f := &fakeWorker{}
	f.read = func(w *fakeConn, id uint64, _ wire.Read) {
		a := w.ask(id, wire.Ask{Kind: "TriggerAuthentication", Namespace: "team", Name: "identity"})
		if a.Refused == "" && a.Hosts[0] != "*.amazonaws.com" {
			a.Refused = "hosts"
		}
		w.result(id, wire.Result{Error: a.Refused, Value: float64(w.n), Target: 1})
	}
	allowance, err := ParseAllowance("aws=team@*.amazonaws.com")
	require.NoError(t, err)
	r := newFake(t, Options{Allow: []Allowance{allowance}}, f, nil,
		object("TriggerAuthentication", "team", "identity", nil, map[string]any{"podIdentity": map[string]any{"provider": "aws"}}))
	o := anOwner("a", 1)
	o.Triggers[0].AuthenticationRef = &manifest.AuthenticationRef{Name: "identity"}
	for range 2 {
		metrics, err := r.Read(context.Background(), o)
		require.NoError(t, err)
		require.Equal(t, 2., metrics[0].Value)
	}
	require.Equal(t, []string{"", "aws"}, f.classes())
}

// What names no host allows none.
func TestWithoutHosts(t *testing.T) {
	f := &fakeWorker{}
	f.read = func(w *fakeConn, id uint64, r wire.Read) {
		hosts := r.Hosts
		for _, kind := range []string{"TriggerAuthentication", "ClusterTriggerAuthentication"} {
			if strings.HasPrefix(r.Key, kind) {
				hosts = w.ask(id, wire.Ask{Kind: kind, Namespace: "team", Name: "auth"}).Hosts
			}
		}
		w.result(id, wire.Result{Value: float64(len(hosts)), Active: hosts != nil})
	}
	identity := map[string]any{"podIdentity": map[string]any{"provider": "aws"}}
	var allow []Allowance
	for _, kind := range []string{"aws", "external"} {
		a, err := ParseAllowance(kind + "=team")
		require.NoError(t, err)
		allow = append(allow, a)
	}
	r := newFake(t, Options{Allow: allow}, f, nil, object("TriggerAuthentication", "team", "auth", nil, identity),
		object("ClusterTriggerAuthentication", "", "auth", map[string]any{annotationNamespaces: "team"}, refersTo("own")))
	for _, kind := range []string{"external", "TriggerAuthentication", "ClusterTriggerAuthentication"} {
		o := anOwner(kind, 1)
		if kind == "external" {
			o.Triggers[0].Type = kind
		} else {
			o.Triggers[0].AuthenticationRef = &manifest.AuthenticationRef{Name: "auth", Kind: kind}
		}
		metrics, err := r.Read(t.Context(), o)
		require.NoError(t, err, kind)
		require.Equal(t, scaling.Metric{Name: o.Triggers[0].Type, Activity: scaling.Active}, metrics[0], kind)
	}
}

// The owner of an identity is what KEDA calls its operator.
func TestIdentityOfTheOperator(t *testing.T) {
	f := &fakeWorker{}
	f.read = func(w *fakeConn, id uint64, _ wire.Read) { w.result(id, wire.Result{Value: 7, Target: 1}) }
	o := anOwner("a", 1)
	o.Triggers[0].Metadata = map[string]string{"identityOwner": "operator"}
	_, err := newFake(t, Options{}, f, nil).Read(context.Background(), o)
	require.ErrorContains(t, err, "-allow-trigger aws=team")
	require.Empty(t, f.classes())
	allowance, err := ParseAllowance("aws=team@*.amazonaws.com")
	require.NoError(t, err)
	metrics, err := newFake(t, Options{Allow: []Allowance{allowance}}, f, nil).Read(context.Background(), o)
	require.NoError(t, err)
	require.Equal(t, 7., metrics[0].Value)
	require.Equal(t, []string{"aws"}, f.classes())
}

// Whatever an administrator has not allowed is refused, and the error has the flag. With the flag,
// it is not.
func TestOffByDefault(t *testing.T) {
	provider := func(name string) map[string]any { return map[string]any{"provider": name} }
	tried := map[string]any{ // a trigger, or the specification of its authentication
		"aws":                map[string]any{"podIdentity": provider("aws")},
		"aws-eks":            map[string]any{"podIdentity": provider("aws-eks")},
		"azure-workload":     map[string]any{"azureKeyVault": map[string]any{"vaultUri": "https://v.example"}, "podIdentity": provider("azure-workload")},
		"gcp":                map[string]any{"podIdentity": provider("gcp")},
		"vault":              map[string]any{"hashiCorpVault": map[string]any{"address": "https://v.example"}},
		"azure-key-vault":    map[string]any{"azureKeyVault": map[string]any{"vaultUri": "https://v.example"}},
		"aws-secret-manager": map[string]any{"awsSecretManager": map[string]any{"secrets": []any{}}},
		"gcp-secret-manager": map[string]any{"gcpSecretManager": map[string]any{"secrets": []any{}}},
		"file":               map[string]any{"filePath": "../token"},
		"token":              map[string]any{"boundServiceAccountToken": []any{map[string]any{"serviceAccountName": "default"}}},
		"credentials-file":   manifest.ScaleTrigger{Type: "gcp-pubsub", Metadata: map[string]string{"credentialsFromEnvFile": "/token"}},
		"external":           manifest.ScaleTrigger{Type: "external"},
		"external-push":      manifest.ScaleTrigger{Type: "external-push"},
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(kinds)), slices.Collect(maps.Keys(tried)))
	f := &fakeWorker{}
	f.read = func(w *fakeConn, id uint64, r wire.Read) {
		if !strings.HasPrefix(r.Key, "external") && !strings.HasPrefix(r.Key, "credentials") {
			w.ask(id, wire.Ask{Kind: "TriggerAuthentication", Namespace: "team", Name: "auth"})
		}
		w.result(id, wire.Result{Value: 7, Target: 1}) // as KEDA does
	}
	for kind, how := range tried {
		o, objects := anOwner(kind, 1), []runtime.Object(nil)
		switch how := how.(type) {
		case manifest.ScaleTrigger:
			o.Triggers[0] = how
		case map[string]any:
			o.Triggers[0].AuthenticationRef = &manifest.AuthenticationRef{Name: "auth"}
			objects = []runtime.Object{object("TriggerAuthentication", "team", "auth", nil, how)}
		}
		metrics, err := newFake(t, Options{}, f, nil, objects...).Read(context.Background(), o)
		require.ErrorContains(t, err, "-allow-trigger "+kind+"=team", kind)
		require.True(t, metrics[0].Failed, kind)
		var all []Allowance
		for k := range kinds {
			all = append(all, Allowance{Kind: k, Namespaces: []string{"team"}, Hosts: []string{"https://v.example"}})
		}
		_, err = newFake(t, Options{Allow: all, Audiences: map[string]string{"team/default": "a"}}, f, nil, objects...).Read(context.Background(), o)
		require.NoError(t, err, kind)
	}
	for _, text := range []string{
		"vault", "vault=", "valut=team", "vault=team@vault.example", "vault=team@https://", "vault=team@https://vault.example/v1",
		"vault=team@ftp://vault.example", "vault=team@https://a:b@vault.example", "vault=team@https://*.example", "vault=team@https://vault.example?a",
	} { // KEDA's own checks would end each worker
		_, err := ParseAllowance(text)
		require.ErrorContains(t, err, "allowance: found", text)
	}
	for _, text := range []string{"vault=team@https://Vault.example:8200/,http://10.0.0.1", "vault=*", "file=a,b"} {
		_, err := ParseAllowance(text)
		require.NoError(t, err, text)
	}
	_, err := New(Options{
		Start: f.start, Client: fake.NewClientset(), Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		Allow: []Allowance{{Kind: "vault", Namespaces: []string{"team"}, Hosts: []string{"vault"}}}, Audiences: map[string]string{"team/a": " a", "Team/a": "a", "team": "a", "team/b": ""},
	})
	for _, text := range []string{`"vault"`, `"team/a= a"`, `"Team/a=a"`, `"team=a"`, `"team/b="`} {
		require.ErrorContains(t, err, "found "+text+"; use")
	}
	before := len(f.classes())
	_, err = newFake(t, Options{}, f, nil).Read(context.Background(), anOwner("a", maxTriggers+1))
	require.ErrorContains(t, err, "at most 32")
	require.Len(t, f.classes(), before)
}

// What an authentication names beside the parameters of a trigger gets credentials too: the hosts of the
// allowance hold for it. A ServiceAccount has an audience, also one of the cluster's namespace.
func TestAddressesOfAuthentications(t *testing.T) {
	identity := func(field, value string) map[string]any {
		return map[string]any{"podIdentity": map[string]any{"provider": "azure-workload", "identityId": "a", "identityTenantId": "t", field: value}}
	}
	tokens := map[string]any{"boundServiceAccountToken": []any{map[string]any{"parameter": "password", "serviceAccountName": "reader"}}}
	for _, c := range []struct {
		spec    map[string]any
		refused string
	}{
		{map[string]any{"hashiCorpVault": map[string]any{"address": "https://a.example/v1"}}, ""},
		{map[string]any{"hashiCorpVault": map[string]any{"address": "http://a.example"}}, "-allow-trigger vault=team@"},
		{map[string]any{"hashiCorpVault": map[string]any{"address": "https://b.example"}}, "-allow-trigger vault=team@"},
		{map[string]any{"hashiCorpVault": map[string]any{"address": "https://a.example", "credential": map[string]any{"serviceAccountName": "b"}}}, "-token-audience team/b="},
		{map[string]any{"azureKeyVault": map[string]any{"vaultUri": "https://a.example"}}, ""},
		{map[string]any{"azureKeyVault": map[string]any{"vaultUri": "https://b.example"}}, "spec.azureKeyVault.vaultUri: found another address; the administrator may allow it with the flag -allow-trigger azure-key-vault=team@"},
		{map[string]any{"awsSecretManager": map[string]any{"region": "eu-west-1"}}, ""},
		{map[string]any{"awsSecretManager": map[string]any{"region": "b.example/"}}, "-allow-trigger aws-secret-manager=team@"},
		{identity("identityAuthorityHost", "https://a.example/"), ""},
		{identity("identityAuthorityHost", "https://b.example/"), "-allow-trigger azure-workload=team@"},
		{identity("identityTenantId", "https://b.example/"), "spec.podIdentity.identityTenantId: found"},
		{identity("identityTenantId", "b.example/../c"), "spec.podIdentity.identityTenantId: found"},
		{identity("identityTenantId", "b.example@c"), "spec.podIdentity.identityTenantId: found"},
		{identity("identityTenantId", "b.onmicrosoft.com"), ""},
		{tokens, ""},
		{map[string]any{"boundServiceAccountToken": []any{map[string]any{"serviceAccountName": "b"}}}, "-token-audience keda/b="},
	} {
		f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) {
			w.ask(id, wire.Ask{Kind: "ClusterTriggerAuthentication", Name: "auth"})
			if c.spec["boundServiceAccountToken"] != nil {
				w.ask(id, wire.Ask{Kind: "ServiceAccount", Namespace: "keda", Name: "reader"})
				w.ask(id, wire.Ask{Kind: wire.Token, Namespace: "keda", Name: "reader"})
			}
			w.result(id, wire.Result{Value: 7, Target: 1})
		}}
		o := anOwner("a", 1)
		o.Triggers[0].AuthenticationRef = &manifest.AuthenticationRef{Name: "auth", Kind: "ClusterTriggerAuthentication"}
		options := Options{OpenClusterAuthentication: true, Audiences: map[string]string{"keda/reader": "a"}}
		for _, kind := range []string{"vault", "azure-key-vault", "aws-secret-manager", "azure-workload", "token"} {
			options.Allow = append(options.Allow, Allowance{Kind: kind, Namespaces: []string{"team"}, Hosts: []string{"https://a.example"}},
				Allowance{Kind: kind, Namespaces: []string{"other"}, Hosts: []string{"https://b.example"}})
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "keda", Name: "reader"}}
		r := newFake(t, options, f, []runtime.Object{account}, object("ClusterTriggerAuthentication", "", "auth", nil, c.spec))
		r.Client.(*fake.Clientset).PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, a.(clienttesting.CreateAction).GetObject(), nil
		})
		_, err := r.Read(t.Context(), o)
		if c.refused == "" {
			require.NoError(t, err, c.spec)
			continue
		}
		require.ErrorContains(t, err, c.refused, c.spec)
	}
}

// A worker that reports without end that triggers are active wakes the owners that it reads, each twice a
// second at the most, and costs the reader nothing else.
func TestFloodOfWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{read: func(w *fakeConn, id uint64, r wire.Read) {
			for range 20 {
				for i := range 50 {
					for _, key := range []string{r.Key, "victim/0", "", strings.Repeat("x", i)} {
						_ = w.Send(wire.Message{Wake: key})
					}
				}
				time.Sleep(betweenWakes / 10)
			}
			w.result(id, wire.Result{})
		}}
		woken := map[types.UID]int{}
		r := newFake(t, Options{Wake: func(uid types.UID) {
			woken[uid]++ // no two at the same time
			time.Sleep(time.Millisecond)
		}}, f, nil)
		before := goruntime.NumGoroutine()
		_, err := r.Read(t.Context(), anOwner("a", 1))
		require.NoError(t, err)
		require.Less(t, goruntime.NumGoroutine(), before+50)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, map[types.UID]int{"a": 3}, woken, "at once, after half a second, and for what came after that")
		r.Close()
		synctest.Wait()
	})
}

// What a worker writes is one line of bounded length.
func TestTextsOfAWorker(t *testing.T) {
	long := strings.Repeat("\x1b[31m\n", 10_000)
	f := &fakeWorker{read: func(w *fakeConn, id uint64, r wire.Read) {
		if r.Key == "asks/0" {
			w.ask(id, wire.Ask{Kind: long})
		}
		w.result(id, wire.Result{Error: long, Warning: long})
	}}
	for _, name := range []string{"asks", "reads"} {
		_, err := newFake(t, Options{}, f, nil).Read(t.Context(), anOwner(name, 1))
		require.Less(t, len(err.Error()), 2048)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "\x1b")
	}
}

// A worker's message is bounded.
func TestEndlessMessageEndsTheWorker(t *testing.T) {
	f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) {
		w.result(id, wire.Result{Error: strings.Repeat("x", wire.FromWorker)})
	}}
	_, err := newFake(t, Options{}, f, nil).Read(context.Background(), anOwner("a", 1))
	require.ErrorIs(t, err, errEnded)
}

func TestStartFails(t *testing.T) {
	r := newFake(t, Options{}, &fakeWorker{}, nil)
	r.pool.start = func(string) (io.ReadWriteCloser, error) { return nil, errors.New("no such program") }
	metrics, err := r.Read(context.Background(), anOwner("a", 2))
	require.ErrorContains(t, err, "no such program")
	require.Len(t, metrics, 2)
}

// A ScaledJob without a Job template, such as a ScaledObject's triggers, has no variables.
func TestOwnerWithoutTemplate(t *testing.T) {
	s := &manifest.ScaledJob{}
	s.Spec.Triggers = []manifest.ScaleTrigger{{Type: "redis"}}
	o := OwnerOf(s)
	require.Empty(t, o.Pod.Containers)
	data, err := o.object(0)
	require.NoError(t, err)
	require.Contains(t, string(data), `"containers":[{"name":"none"`, "KEDA needs one")
}

// Each worker has at most 500 triggers. An owner stays with its worker, and a worker ends after the
// last of its owners, except the first.
func TestOwnersAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		reads := map[int]map[string]bool{} // keys, by worker
		f := &fakeWorker{}
		f.read = func(w *fakeConn, id uint64, r wire.Read) {
			mu.Lock()
			if reads[w.n] == nil {
				reads[w.n] = map[string]bool{}
			}
			reads[w.n][r.Key] = true
			mu.Unlock()
			w.result(id, wire.Result{Value: 7, Target: 1})
		}
		r := newFake(t, Options{Workers: 3}, f, nil)
		for range 2 {
			for i := range 48 {
				_, err := r.Read(context.Background(), anOwner(fmt.Sprint(i), 25))
				require.NoError(t, err)
			}
		}
		require.Len(t, f.classes(), 3)
		for n, triggers := range map[int]int{1: 500, 2: 500, 3: 200} {
			require.Len(t, reads[n], triggers)
		}
		for i := range 40 { // a fourth worker would be needed
			_, err := r.Read(context.Background(), anOwner(fmt.Sprint("more", i), 25))
			require.NoError(t, err)
		}
		require.Len(t, f.classes(), 3)
		require.InDelta(t, len(reads[1]), len(reads[3]), 25, "those above are spread as well")
		for i := range 48 {
			r.Forget(types.UID(fmt.Sprint(i)))
		}
		for i := range 40 {
			r.Forget(types.UID(fmt.Sprint("more", i)))
		}
		synctest.Wait()
		require.EqualValues(t, 1, f.open.Load())
		r.Close()
		synctest.Wait()
	})
}

// Ten thousand edits leave no goroutine and no state.
func TestEditsLeaveNothing(t *testing.T) {
	f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) { w.result(id, wire.Result{Target: 1}) }}
	r := newFake(t, Options{}, f, nil)
	edit := func(i int) {
		o := anOwner("a", 1)
		o.Triggers[0].Metadata = map[string]string{"address": fmt.Sprint("a:", i)}
		_, err := r.Read(context.Background(), o)
		require.NoError(t, err)
		r.Forget(o.UID)
	}
	edit(0)
	before := goruntime.NumGoroutine()
	for i := range 10_000 {
		edit(i)
	}
	require.Eventually(t, func() bool { return goruntime.NumGoroutine() < before+100 }, time.Minute, 10*time.Millisecond, "10,000 edits")
	require.Len(t, f.classes(), 1)
	require.Empty(t, r.classes)
	require.Empty(t, r.pool.blame.owners)
	require.Empty(t, r.pool.class("").owners)
	require.Zero(t, r.pool.class("").shards[0].triggers)
	require.Empty(t, r.pool.class("").shards[0].worker.streams)
}

// What a read builds after its owner was forgotten is closed at its end.
func TestForgottenDuringRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeWorker{read: func(w *fakeConn, id uint64, _ wire.Read) {
			time.Sleep(time.Second)
			w.result(id, wire.Result{Target: 1})
		}}
		r := newFake(t, Options{}, f, nil)
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = r.Read(t.Context(), anOwner("a", perOwner+1)) })
		time.Sleep(time.Second / 2)
		r.Forget("a")
		reading.Wait()
		require.Empty(t, r.pool.class("").owners)
		require.Zero(t, r.pool.class("").shards[0].triggers)
		require.Empty(t, r.reads)
		r.Close()
		synctest.Wait()
	})
}
