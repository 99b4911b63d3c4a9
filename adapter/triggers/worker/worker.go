package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/metricscollector"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling"
	"github.com/kedacore/keda/v2/pkg/scaling/cache"
	"github.com/kedacore/keda/v2/pkg/scaling/resolver"
	"github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/check"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/redact"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// httpTimeout is KEDA's default for the HTTP requests of a scaler that has no timeout of its own.
const httpTimeout = 3 * time.Second

// A worker holds the scalers that it has built.
type worker struct {
	conn   *wire.Conn
	builds atomic.Int64
	start  int64 // bytes of live objects before the first read

	mu       sync.Mutex
	streams  map[uint64]*stream
	triggers map[string]*trigger // by their keys
	handlers []*handler
}

// A handler has the scalers of one trigger position.
type handler struct {
	scaling.ScaleHandler

	naming sync.Mutex          // also while scalers are closed, so that no new ones are closed instead
	names  map[string]*trigger // by the names under which KEDA's handler has them
}

func newHandler(tokens *authentication.AuthClientSet) *handler {
	of := scaling.NewScaleHandler(reader{}, nil, runtime.NewScheme(), httpTimeout, httpTimeout, silent{}, tokens)
	return &handler{ScaleHandler: of, names: map[string]*trigger{}}
}

// take makes a trigger the one of its name. Another owner's with this name before is closed.
func (h *handler) take(t *trigger) {
	h.naming.Lock()
	defer h.naming.Unlock()
	if other := h.names[t.name()]; other != t {
		if other != nil {
			_ = h.ClearScalersCache(context.Background(), t.object)
		}
		h.names[t.name()] = t
	}
}

// drop closes the scaler of a trigger, unless another trigger has its name.
func (h *handler) drop(t *trigger) {
	h.naming.Lock()
	defer h.naming.Unlock()
	if h.names[t.name()] == t {
		delete(h.names, t.name())
		_ = h.ClearScalersCache(context.Background(), t.object)
	}
}

// A trigger is a trigger of an owner, with its scaler.
type trigger struct {
	key     string
	handler *handler
	reading sync.Mutex

	// Only the read uses the fields below.
	revision int64
	object   *kedav1alpha1.ScaledJob
	limits   wire.Limits
	secrets  redact.Secrets
	cache    *cache.ScalersCache // nil: the scaler is not built
	stop     context.CancelFunc  // of a push scaler
}

func newWorker(conn *wire.Conn) *worker {
	return &worker{
		conn: conn, start: live(), streams: map[uint64]*stream{}, triggers: map[string]*trigger{},
	}
}

// live returns the bytes of objects that the last garbage collection left.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// run returns when the connection has ended.
func (w *worker) run() error {
	for {
		m, err := w.conn.Receive()
		if err != nil {
			return err
		}
		switch {
		case m.Setup != nil:
			if err := configure(m.Setup); err != nil {
				return err
			}
		case m.Read != nil:
			s := &stream{id: m.ID, conn: w.conn, waiting: map[uint64]chan wire.Answer{}, known: map[string]wire.Answer{}}
			w.mu.Lock()
			w.streams[m.ID] = s
			w.mu.Unlock()
			if f := m.Read.Formula; f != nil {
				go func() { w.finish(s, evaluate(f)) }()
			} else {
				go w.serve(s, w.trigger(*m.Read), *m.Read)
			}
		case m.Answer != nil:
			w.mu.Lock()
			s := w.streams[m.ID]
			w.mu.Unlock()
			if s != nil {
				s.answered(*m.Answer)
			}
		case m.Forget != "":
			w.forget(m.Forget)
		case m.Ping:
			go func() { _ = w.conn.Send(wire.Message{Ping: true}) }()
		}
	}
}

// serve reads a trigger and sends the result.
func (w *worker) serve(s *stream, t *trigger, r wire.Read) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), streamKey{}, s), time.Duration(r.Timeout)*time.Millisecond)
	defer cancel()
	t.reading.Lock()
	result, err := w.read(ctx, s, t, r)
	if refused := s.refusal(); refused != nil {
		err = refused
	}
	if err != nil {
		result = wire.Result{Error: t.text(err)}
		w.clear(t) // the next read builds anew, with the credentials of then
	}
	t.reading.Unlock()
	w.finish(s, result)
}

// finish sends the result of a read.
func (w *worker) finish(s *stream, result wire.Result) {
	w.mu.Lock()
	delete(w.streams, s.id)
	result.Load = wire.Load{Builds: w.builds.Load(), Scalers: int64(len(w.triggers)), Memory: live(), Start: w.start}
	w.mu.Unlock()
	_ = w.conn.Send(wire.Message{ID: s.id, Result: &result})
}

var fileRefused = regexp.MustCompile(`\bopen \S+: permission denied`)

// text returns the text of an error, without credentials.
func (t *trigger) text(err error) string {
	if t.limits.Withhold {
		return "the trigger could not be read; its error is not shown, because its values come from a secret manager"
	}
	text, hint := err.Error(), ""
	if strings.Contains(text, "operation not permitted") {
		hint = " (loopback, link-local and own addresses are refused unless the administrator sets the flag -allow-local-addresses)"
	}
	if fileRefused.MatchString(text) {
		hint = " (files are refused unless the administrator sets the flag -file-root)"
	}
	return t.secrets.Text(text) + hint
}

// trigger returns the state of a trigger. Another owner with the name of one before does not get
// its scaler.
func (w *worker) trigger(r wire.Read) *trigger {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.handlers) <= r.Position {
		w.handlers = append(w.handlers, newHandler(&authentication.AuthClientSet{CoreV1Interface: tokens{}}))
	}
	t := w.triggers[r.Key]
	if t == nil {
		t = &trigger{key: r.Key, handler: w.handlers[r.Position]}
		w.triggers[r.Key] = t
	}
	return t
}

// forget closes the scalers of an owner, after the reads that are under way.
func (w *worker) forget(prefix string) {
	w.mu.Lock()
	var gone []*trigger
	for key, t := range w.triggers {
		if strings.HasPrefix(key, prefix) {
			gone = append(gone, t)
			delete(w.triggers, key)
		}
	}
	w.mu.Unlock()
	for _, t := range gone {
		go func() {
			t.reading.Lock()
			defer t.reading.Unlock()
			w.clear(t)
		}()
	}
}

// clear closes the scaler of a trigger.
func (w *worker) clear(t *trigger) {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
	if t.cache != nil {
		t.cache = nil
		t.handler.drop(t)
	}
}

func (t *trigger) name() string { return t.object.Namespace + "/" + t.object.Name }

// read reads a trigger. A scaler that fails is built again, once, as KEDA does.
func (w *worker) read(ctx context.Context, s *stream, t *trigger, r wire.Read) (result wire.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the scaler panicked: %v", p)
		}
	}()
	s.secrets = &t.secrets
	if t.object == nil || t.revision != r.Revision {
		w.clear(t)
		a, err := s.ask(ctx, wire.Ask{Kind: wire.Owner})
		if err != nil {
			return result, err
		}
		object := &kedav1alpha1.ScaledJob{}
		if err := json.Unmarshal(a.Object, object); err != nil {
			return result, err
		}
		object.Generation = r.Revision
		t.object, t.revision = object, r.Revision
	}
	for {
		fresh := t.cache == nil
		if fresh {
			if err := w.build(ctx, s, t, r.Limits); err != nil {
				return result, err
			}
		}
		result, err = measure(ctx, t)
		if err == nil || fresh || ctx.Err() != nil || s.refusal() != nil {
			return result, err
		}
		w.clear(t)
		s.forgetAnswers()
	}
}

// build resolves the trigger's parameters, checks them, and builds the scaler.
func (w *worker) build(ctx context.Context, s *stream, t *trigger, limits wire.Limits) error {
	t.secrets = redact.Secrets{}
	in := &t.object.Spec.Triggers[0]
	for name, value := range in.Metadata {
		if strings.Contains(value, "://") && strings.Contains(value, "@") {
			t.secrets.Add(value)
		} else if strings.Contains(strings.ToLower(name), "password") || strings.Contains(strings.ToLower(name), "key") {
			t.secrets.AddPlain(value)
		}
	}
	ofRead := &authentication.AuthClientSet{CoreV1Interface: tokens{read: ctx}}
	env, auth, err := s.resolve(ctx, t, limits, ofRead)
	if err := cmp.Or(err, s.refusal()); err != nil {
		return err
	}
	all := parameters(in, env, auth, &t.secrets)
	for _, hosts := range [][]string{limits.Hosts, s.limits.Hosts} {
		if err := check.Parameters(in.Type, all, hosts); err != nil {
			return err
		}
	}
	if s.vault {
		t.handler = newHandler(ofRead)
	}
	t.handler.take(t)
	w.builds.Add(1)
	if t.cache, err = t.handler.GetScalersCache(ctx, t.object); err != nil {
		t.cache = nil
		return err
	}
	if all, _ := t.cache.GetScalers(); len(all) == 1 {
		w.push(t, all[0])
	}
	return s.refusal()
}

// resolve returns the values of the trigger's environment and authentication. KEDA takes values that
// a secret manager or a container does not have for empty.
func (s *stream) resolve(ctx context.Context, t *trigger, limits wire.Limits, ofRead *authentication.AuthClientSet) (env, auth map[string]string, err error) {
	spec, namespace := &t.object.Spec, t.object.Namespace
	pod := &spec.JobTargetRef.Template
	// First, because the reader then knows which objects and keys the authentication needs.
	auth, _, err = resolver.ResolveAuthRefAndPodIdentity(ctx, reader{}, logr.Discard(), spec.Triggers[0].AuthenticationRef, pod, namespace, ofRead)
	t.limits = wire.Limits{Hosts: limits.Hosts, Withhold: s.limits.Withhold}
	if err != nil {
		return nil, nil, err
	}
	for _, name := range s.managed {
		if _, found := auth[name]; !found {
			return nil, nil, fmt.Errorf("the secret manager has no value of %s", name)
		}
	}
	environment := func(container string) (map[string]string, error) {
		return resolver.ResolveContainerEnv(ctx, reader{}, logr.Discard(), &pod.Spec, container, namespace, nil)
	}
	if env, err = environment(spec.EnvSourceContainerName); err != nil {
		return nil, nil, err
	}
	for _, e := range s.env {
		of, err := environment(e.ContainerName)
		if err != nil {
			return nil, nil, err
		}
		if _, found := of[e.Name]; !found && !optional(pod.Spec.Containers, cmp.Or(e.ContainerName, pod.Spec.Containers[0].Name), e.Name) {
			return nil, nil, fmt.Errorf("found no variable %s, which the authentication refers to", e.Name)
		}
	}
	return env, auth, nil
}

// optional reports whether a container may lack a variable.
func optional(containers []corev1.Container, container, name string) bool {
	is := func(may *bool) bool { return may != nil && *may }
	for _, c := range containers {
		if c.Name != container {
			continue
		}
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil && is(e.SecretRef.Optional) || e.ConfigMapRef != nil && is(e.ConfigMapRef.Optional) {
				return true
			}
		}
		for _, e := range c.Env {
			if from := e.ValueFrom; e.Name == name && from != nil &&
				(from.SecretKeyRef != nil && is(from.SecretKeyRef.Optional) || from.ConfigMapKeyRef != nil && is(from.ConfigMapKeyRef.Optional)) {
				return true
			}
		}
	}
	return false
}

// parameters returns what a scaler may take as its parameters, and notes what no text may contain.
func parameters(in *kedav1alpha1.ScaleTriggers, env, auth map[string]string, secrets *redact.Secrets) (all []check.Parameter) {
	for _, value := range env {
		secrets.AddPlain(value)
	}
	resolved := func(name, value string) {
		secrets.Add(value)
		all = append(all, check.Parameter{Name: name, Value: value})
	}
	for name, value := range in.Metadata {
		all = append(all, check.Parameter{Name: name, Value: value})
		if v, ok := env[value]; ok { // by FromEnv, or by the name of a variable as in KEDA 1
			resolved(strings.TrimSuffix(name, "FromEnv"), v)
		}
	}
	for name, value := range auth {
		resolved(name, value)
	}
	return all
}

// betweenWakes is the least time between two wakes of a trigger: its server may push without end.
const betweenWakes = time.Second

// push runs a push scaler until the scaler is closed.
func (w *worker) push(t *trigger, s scalers.Scaler) {
	p, ok := s.(scalers.PushScaler)
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	active := make(chan bool)
	go func() {
		defer func() { _ = recover() }()
		p.Run(ctx, active)
	}()
	go func() {
		var last time.Time
		var due <-chan time.Time
		for {
			select {
			case is, open := <-active:
				if !open {
					return
				}
				if is && due == nil {
					due = time.After(time.Until(last.Add(betweenWakes)))
				}
			case <-due:
				last, due = time.Now(), nil
				_ = w.conn.Send(wire.Message{Wake: t.key})
			case <-ctx.Done():
				return
			}
		}
	}()
}

// measure reads the trigger with the scaler that was built.
func measure(ctx context.Context, t *trigger) (result wire.Result, err error) {
	all, configs := t.cache.GetScalers()
	if len(all) != 1 {
		return result, errors.New("the scaler was closed")
	}
	specs := all[0].GetMetricSpecForScaling(ctx)
	if len(specs) == 0 {
		return result, errors.New("the scaler has no metric")
	}
	for _, spec := range specs {
		if spec.External == nil {
			return wire.Result{Warning: fmt.Sprintf("a trigger of type %s has no queue, and is ignored", t.object.Spec.Triggers[0].Type)}, nil
		}
	}
	var config scalersconfig.ScalerConfig = configs[0]
	name := specs[0].External.Metric.Name
	values, active, err := all[0].GetMetricsAndActivity(metricscollector.BuildScalerRequestCtx(ctx, config, name), name)
	if err != nil {
		return result, err
	}
	value, _, target := scaledjob.CalculateQueueLengthAndMaxValue(values, specs, math.MaxInt64)
	for _, x := range []float64{value, target} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return result, fmt.Errorf("found %v; use a finite number", x)
		}
	}
	return wire.Result{Value: value, Target: target, Active: active}, nil
}

// silent is a recorder of events that records none.
type silent struct{}

func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
