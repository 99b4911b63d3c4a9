package triggers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
)

const (
	// maxTriggers is the most triggers of an owner.
	maxTriggers = 32
	// maxObject is the most bytes of an owner's triggers and environment.
	maxObject = 1 << 20
)

// Options configure a [Reader].
type Options struct {
	// Start starts the workers: [Program.Start] or the result of [Dial].
	Start Starter
	// Client and Dynamic read the objects that triggers refer to, with this process's
	// permissions. Both are required.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// ClusterNamespace is the namespace of the objects that ClusterTriggerAuthentications refer
	// to. The default is keda.
	ClusterNamespace string
	// Timeout is the time within which a trigger must answer, 10 s by default.
	Timeout time.Duration
	// Allow allows what is off by default.
	Allow []Allowance
	// Audiences are the audiences of the tokens of ServiceAccounts, by namespace/name. A token
	// without an audience is not created.
	Audiences map[string]string
	// OpenClusterAuthentication lets each namespace use each ClusterTriggerAuthentication with any
	// host, as KEDA does.
	OpenClusterAuthentication bool
	// FileRoot is the directory of filePath, as the workers see it.
	FileRoot string
	// Workers is the most workers that share the owners of an identity, or of none. The default
	// is 4. A worker is meant for 500 triggers; with more than 500 for each, all get more.
	Workers int
	// Wake, unless nil, is called with an owner's UID when a push scaler becomes active.
	Wake func(types.UID)
}

// An Owner is an object with triggers.
type Owner struct {
	Namespace, Name string
	UID             types.UID
	// Generation, unless 0, differs after each edit of the fields below. If it is 0, which costs some 0.1 ms
	// for each read of a trigger, the fields are compared.
	Generation int64
	Triggers   []manifest.ScaleTrigger
	// Pod is the specification of the owner's pods, for environment variables and the name of the
	// ServiceAccount. Without containers, no trigger can refer to a variable.
	Pod corev1.PodSpec
	// Container is the container whose environment is used, the first by default.
	Container string
	// Skip holds the positions of triggers that are not read now. They have no metric.
	Skip map[int]bool
}

// OwnerOf returns the owner with the triggers of a ScaledJob, without the parts of its pods that
// no trigger needs.
func OwnerOf(s *manifest.ScaledJob) Owner {
	o := Owner{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Triggers: s.Spec.Triggers, Container: s.Spec.EnvSourceContainerName}
	if s.Spec.JobTargetRef != nil {
		o.Pod = environment(s.Spec.JobTargetRef.Template.Spec)
	}
	return o
}

// environment returns the parts of a pod that triggers may refer to.
func environment(pod corev1.PodSpec) corev1.PodSpec {
	is := corev1.PodSpec{ServiceAccountName: pod.ServiceAccountName}
	for _, c := range pod.Containers {
		is.Containers = append(is.Containers, corev1.Container{Name: c.Name, Env: c.Env, EnvFrom: c.EnvFrom})
	}
	return is
}

func (o *Owner) key() string { return o.Namespace + "/" + o.Name }

// prefix begins the keys of the owner's triggers.
func (o *Owner) prefix() string { return string(o.UID) + "/" }

// prefixOf returns the prefix of a key.
func prefixOf(key string) string { return key[:strings.LastIndex(key, "/")+1] }

// names returns a name for each trigger, as the metrics have it.
func (o *Owner) names() []string { return manifest.TriggerNames(o.Triggers) }

// object returns the owner with a single trigger, in the form of KEDA's ScaledJob.
func (o *Owner) object(position int) ([]byte, error) {
	pod := environment(o.Pod)
	if len(pod.Containers) == 0 {
		pod.Containers = []corev1.Container{{Name: "none"}}
	}
	s := map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
		"metadata": map[string]any{"namespace": o.Namespace, "name": o.Name, "uid": o.UID},
		"spec": map[string]any{
			"jobTargetRef": map[string]any{"template": map[string]any{"spec": pod}}, "envSourceContainerName": o.Container,
			"triggers": o.Triggers[position : position+1],
		},
	}
	data, err := json.Marshal(s)
	if err == nil && len(data) > maxObject {
		err = fmt.Errorf("the triggers and the environment have %d bytes; use at most %d", len(data), maxObject)
	}
	return data, err
}

// revision returns a number that differs if the object does.
func (o *Owner) revision(position int) (int64, error) {
	if o.Generation > 0 {
		return o.Generation, nil
	}
	data, err := o.object(position)
	hash := fnv.New64a()
	_, _ = hash.Write(data)
	return int64(hash.Sum64() >> 1), err
}

// A Reader reads triggers. It has no goroutine for a trigger that is not being read.
type Reader struct {
	Options
	pool *pool

	mu      sync.Mutex
	classes map[string]string // of triggers that need an identity, by their keys
	reads   map[types.UID]*reads
}

// reads are the reads of an owner that are under way.
type reads struct {
	n         int
	forgotten bool // meanwhile
}

// New returns a reader. Workers start with the first read.
func New(o Options) (*Reader, error) {
	if o.Start == nil || o.Client == nil || o.Dynamic == nil {
		return nil, errors.New("triggers: Options.Start, Client and Dynamic: found nil; use values")
	}
	var problems field.Errors
	for _, a := range o.Allow {
		problems.Join("", a.check())
	}
	for account, audience := range o.Audiences {
		problems.Join("", checkAudience(account, audience))
	}
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("triggers: %w", err)
	}
	if o.ClusterNamespace == "" {
		o.ClusterNamespace = "keda"
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	r := &Reader{Options: o, pool: newPool(&o), classes: map[string]string{}, reads: map[types.UID]*reads{}}
	r.pool.setup = r.setup
	r.pool.wake = func(prefix string) {
		if r.Wake != nil {
			r.Wake(types.UID(strings.TrimSuffix(prefix, "/")))
		}
	}
	return r, nil
}

func (r *Reader) setup(class string) wire.Setup {
	s := wire.Setup{Class: class, FileRoot: r.FileRoot}
	for _, a := range r.Allow {
		if a.Kind == "vault" {
			s.VaultEndpoints = append(s.VaultEndpoints, a.Hosts...)
		}
	}
	for account, audience := range r.Audiences {
		namespace, name, _ := strings.Cut(account, "/")
		s.Audiences = append(s.Audiences, wire.Audience{Namespace: namespace, ServiceAccount: name, Audience: audience})
	}
	return s
}

// Read reads all triggers of an owner, each within the timeout. A trigger that could not be read
// is a failed metric, and the error has the reason. A trigger without a value, such as cpu, has no
// metric, and the error says so. Read may be called for different owners at the same time.
func (r *Reader) Read(ctx context.Context, o Owner) ([]scaling.Metric, error) {
	if n := len(o.Triggers); n > maxTriggers {
		return failed(o.names()), &field.Error{Path: "spec.triggers", Found: strconv.Itoa(n), Fix: fmt.Sprintf("at most %d", maxTriggers)}
	}
	var metrics []scaling.Metric
	err := r.with(ctx, &o, o.key(), func(find finder) (err error) {
		metrics, err = r.readAll(ctx, &o, find)
		return err
	})
	if metrics == nil {
		metrics = failed(o.names())
	}
	return metrics, err
}

// with calls do with the owner's shared workers, or with workers of its own if the key has a part
// in the ends of workers.
func (r *Reader) with(ctx context.Context, o *Owner, key string, do func(finder) error) error {
	defer r.begins(o.UID)()
	alone, err := r.pool.blame.alone(key, time.Now())
	switch {
	case err != nil:
		return err
	case alone:
		return turn(ctx, r.pool.alone, key, "", func() error { return r.alone(ctx, key, do) })
	}
	return do(func(ctx context.Context, class string) (*workerConn, error) { return r.pool.shared(ctx, class, o) })
}

// begins notes a read of an owner. If the owner is forgotten during the read, and not read again, what
// the read has built meanwhile is closed at its end.
func (r *Reader) begins(uid types.UID) (ended func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads[uid] == nil {
		r.reads[uid] = &reads{}
	}
	of := r.reads[uid]
	of.n, of.forgotten = of.n+1, false
	return func() {
		r.mu.Lock()
		of.n--
		last := of.n == 0
		if last {
			delete(r.reads, uid)
		}
		r.mu.Unlock()
		if last && of.forgotten {
			r.Forget(uid)
		}
	}
}

// alone calls do with workers that serve nothing else.
func (r *Reader) alone(ctx context.Context, key string, do func(finder) error) error {
	workers, killed := map[string]*workerConn{}, false
	var mu sync.Mutex
	err := do(func(_ context.Context, class string) (w *workerConn, err error) {
		mu.Lock()
		defer mu.Unlock()
		if w = workers[class]; w != nil {
			return w, nil
		}
		w, err = r.pool.open(class, func(map[string]bool) {
			mu.Lock()
			defer mu.Unlock()
			killed = true
		})
		if err == nil {
			w.alone, workers[class] = true, w
		}
		return w, err
	})
	mu.Lock()
	dead := killed
	mu.Unlock()
	for _, w := range workers {
		w.close()
	}
	if ctx.Err() == nil && len(workers) > 0 {
		r.pool.blame.ended(key, dead, time.Now())
	}
	return err
}

// A worker is found by its class.
type finder func(ctx context.Context, class string) (*workerConn, error)

func (r *Reader) readAll(ctx context.Context, o *Owner, find finder) ([]scaling.Metric, error) {
	results, problems := make([]wire.Result, len(o.Triggers)), make([]error, len(o.Triggers))
	atOnce := make(chan struct{}, perOwner)
	var reads sync.WaitGroup
	for i := range o.Triggers {
		if o.Skip[i] {
			continue
		}
		reads.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			results[i], problems[i] = r.readOne(ctx, o, i, find)
		})
	}
	reads.Wait()
	metrics := make([]scaling.Metric, 0, len(o.Triggers))
	for i, name := range o.names() {
		switch result := results[i]; {
		case o.Skip[i]:
		case problems[i] != nil:
			metrics = append(metrics, scaling.Metric{Name: name, Failed: true})
		case result.Warning != "":
			problems[i] = errors.New(result.Warning)
		default:
			m := scaling.Metric{Name: name, Value: result.Value, Target: result.Target, Activity: scaling.Inactive}
			if result.Active {
				m.Activity = scaling.Active
			}
			metrics = append(metrics, m)
		}
		if problems[i] != nil {
			problems[i] = fmt.Errorf("trigger %s: %w", name, problems[i])
		}
	}
	return metrics, errors.Join(problems...)
}

// readOne reads a trigger. If its authentication turns out to need an identity, it is read again
// by a worker that has it. A worker that has gone while the read waited for its turn is no failure.
func (r *Reader) readOne(ctx context.Context, o *Owner, position int, find finder) (wire.Result, error) {
	revision, err := o.revision(position)
	if err != nil {
		return wire.Result{}, err
	}
	key := o.prefix() + strconv.Itoa(position)
	last := errors.New("the authentication changes while it is read")
	for range 3 {
		p := &policy{Reader: r, owner: o, position: position}
		read := wire.Read{Key: key, Position: position, Revision: revision}
		if read.Limits, err = p.trigger(); err != nil {
			return wire.Result{}, err
		}
		r.mu.Lock()
		p.class = cmp.Or(r.classes[key], p.own)
		r.mu.Unlock()
		w, err := find(ctx, p.class)
		if err != nil {
			return wire.Result{}, err
		}
		result, err := r.pool.read(ctx, w, read, &stream{owner: o.key(), key: key, serve: func(a wire.Ask) wire.Answer { return p.serve(ctx, a) }})
		if errors.Is(err, errGone) {
			last = err
			continue
		}
		r.pool.check(p.class, w)
		if class, other := p.needs(); other {
			r.mu.Lock()
			if class == "" {
				delete(r.classes, key)
			} else {
				r.classes[key] = class
			}
			r.mu.Unlock()
			continue
		}
		switch {
		case err != nil:
			return result, err
		case p.refusal() != nil:
			return result, p.refusal() // whatever KEDA made of it
		case result.Error != "":
			return result, errors.New(result.Error)
		}
		return result, nil
	}
	return wire.Result{}, last
}

func failed(names []string) []scaling.Metric {
	metrics := make([]scaling.Metric, len(names))
	for i, name := range names {
		metrics[i] = scaling.Metric{Name: name, Failed: true}
	}
	return metrics
}

// Forget closes the scalers of an owner that is gone, or that is not read any more.
func (r *Reader) Forget(uid types.UID) {
	prefix := string(uid) + "/"
	r.mu.Lock()
	if of := r.reads[uid]; of != nil {
		of.forgotten = true
	}
	for key := range r.classes {
		if strings.HasPrefix(key, prefix) {
			delete(r.classes, key)
		}
	}
	r.mu.Unlock()
	r.pool.all(func(c *class) { c.forget(prefix) })
}

// Close ends all workers. Reads that are under way fail.
func (r *Reader) Close() { r.pool.close() }
