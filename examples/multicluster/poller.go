package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
)

// A poller polls one object, from when it is seen until it is gone. It waits for
// nobody else: a queue that does not answer delays its own objects only.
type poller struct {
	*kind
	uid     types.UID
	cancel  context.CancelFunc
	updates chan *unstructured.Unstructured // the newest that has not been looked at

	// What follows is the poller's own.
	log     *slog.Logger
	seen    *unstructured.Unstructured // the object as it is now
	written []byte                     // the status that the API server has
	logged  map[string]string          // what is wrong
	told    int64                      // the generation whose warnings have been told
}

// A subject is what an object is about: Jobs or replicas.
type subject interface {
	// read takes over what the object says now.
	read()
	// poll reads the queues, decides, acts, and tells. It returns when to do so again;
	// the zero time is never.
	poll(ctx context.Context) time.Time
	// close forgets the object, that is gone or not ours any more.
	close()
}

func (k *kind) start(ctx context.Context, u *unstructured.Unstructured, delay time.Duration) *poller {
	ctx, cancel := context.WithCancel(ctx)
	p := &poller{
		kind: k, uid: u.GetUID(), cancel: cancel, updates: make(chan *unstructured.Unstructured, 1),
		log:  k.log.With("kind", u.GetKind(), "object", cache.MetaObjectToName(u).String()),
		seen: u, logged: map[string]string{},
	}
	k.polling.Go(func() { p.run(ctx, delay) })
	return p
}

// update replaces what the poller has not looked at yet. Only one goroutine may
// call it.
func (p *poller) update(u *unstructured.Unstructured) {
	select {
	case <-p.updates:
	default:
	}
	p.updates <- u
}

func (p *poller) run(ctx context.Context, delay time.Duration) {
	subject := p.subject(p)
	defer subject.close()
	defer p.cancel()
	subject.read()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-p.updates:
			was := p.seen
			if p.seen = u; same(was, u) {
				continue
			}
			subject.read()
		case <-timer.C:
		}
		timer.Stop()
		if next := subject.poll(ctx); !next.IsZero() {
			timer.Reset(max(50*time.Millisecond, time.Until(next)))
		}
	}
}

// same reports whether the two say the same; a status says nothing.
func same(a, b *unstructured.Unstructured) bool {
	return a.GetGeneration() == b.GetGeneration() && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil)
}

// earliest is the earlier of two times; the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// warn logs what is wrong as long as it is not the same as before.
func (p *poller) warn(what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != p.logged[what] {
		p.log.Warn(what, "err", text)
	}
	p.logged[what] = text
}

// restore reads the status that the object has into one; where it is not such a
// status it counts for nothing.
func (p *poller) restore(status any) {
	was, err := json.Marshal(p.seen.Object["status"])
	if err == nil && json.Unmarshal(was, status) == nil {
		p.written, _ = json.Marshal(status)
	}
}

// report writes the status where it has changed, and tells the events. It tests the
// UID, so that one who has taken the name since keeps its own.
func (p *poller) report(ctx context.Context, status any, events []adapter.Event) {
	adapter.Record(p.recorder, p.seen, events)
	is, err := json.Marshal(status)
	if err == nil && bytes.Equal(is, p.written) {
		return
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.uid},
		{"op": "add", "path": "/status", "value": json.RawMessage(is)},
	})
	if err == nil {
		_, err = p.dynamic.Resource(p.resource).Namespace(p.seen.GetNamespace()).
			Patch(ctx, p.seen.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: name}, "status")
	}
	switch {
	case err == nil:
		p.written = is
	case apierrors.IsNotFound(err) || ctx.Err() != nil: // it is gone, or we are
	default:
		p.log.Warn("status not written, will try again", "err", err)
	}
}
