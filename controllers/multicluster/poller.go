package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// A poller polls an object, from its first turn until it is gone. Its turns never overlap.
type poller struct {
	*kind
	uid  types.UID
	slow atomic.Int64    // nanoseconds between KEDA's polls, if KEDA polls less often than asked
	gone context.Context // ends when the object is deleted, and the turn under way with it
	end  context.CancelFunc

	// Only the poller's turn uses the fields below.
	subject
	log      *slog.Logger
	problems process.Warnings
	cached   *unstructured.Unstructured // the object as the informer had it at the last turn
	current  *unstructured.Unstructured // the same, or with the finalizer that the API server has added since
	unread   bool                       // current is to be read
	written  []byte                     // the status that the API server has
	reported []string                   // the present warnings, which have been reported
	causes   causes
}

// A subject decides about an object: Jobs or replicas.
type subject interface {
	// read reads the present object.
	read()
	// poll decides, acts, and reports. It returns the time of the next poll; the zero time is when a
	// reading comes.
	poll(ctx context.Context) time.Time
	// close forgets the object, that is gone or not ours any more.
	close()
}

func newPoller(k *kind, u *unstructured.Unstructured) *poller {
	log := k.log.With("kind", u.GetKind(), "object", cache.MetaObjectToName(u).String())
	p := &poller{kind: k, uid: u.GetUID(), log: log, problems: process.Warnings{Log: log}, cached: u, current: u, unread: true, causes: causes{}}
	p.gone, p.end = context.WithCancel(context.Background())
	p.subject = k.subject(p)
	return p
}

// turn polls the object as the informer has it, and returns when to poll it again.
func (p *poller) turn(ctx context.Context, u *unstructured.Unstructured) time.Time {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.gone, cancel)()
	if u != p.cached {
		p.unread = p.unread || !equalExceptStatus(p.current, u)
		p.cached, p.current = u, u
	}
	if p.unread {
		p.read()
		p.unread = false
	}
	return p.poll(ctx)
}

// equalExceptStatus reports whether the two are equal except for the status.
func equalExceptStatus(a, b *unstructured.Unstructured) bool {
	sameMetadata := maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
	sameLife := a.GetUID() == b.GetUID() && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil)
	return a.GetGeneration() == b.GetGeneration() && sameMetadata && sameLife
}

// earliest is the earlier of two times; the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// restore reads the status that the object has. A field that cannot be read is written anew,
// except for the checkpoint: see unusable.
func (p *poller) restore(status any) {
	stored, err := json.Marshal(p.current.Object["status"])
	if err == nil && json.Unmarshal(stored, status) == nil {
		p.written, _ = json.Marshal(status)
	}
}

// unusable reads a stored checkpoint, which may be of an unknown version.
func unusable(stored json.RawMessage, checkpoint any) error {
	if len(stored) == 0 {
		return nil
	}
	var long struct{ Version string } // of api.Slim
	if json.Unmarshal(stored, &long) == nil && long.Version != "" {
		return fmt.Errorf("status.checkpoint: found %s; create the object anew", long.Version)
	}
	if err := json.Unmarshal(stored, checkpoint); err != nil {
		return fmt.Errorf("status.checkpoint: %w", err)
	}
	return nil
}

// report writes the status if it has changed, and sends the events.
func (p *poller) report(ctx context.Context, status any, events []scaledjob.Event) {
	scaledjob.Record(p.recorder, p.current, merged(events))
	// The last poll is reported too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := p.write(ctx, status); err != nil && !apierrors.IsNotFound(err) {
		p.log.Warn("status not written, will try again", "err", err)
	}
}

// write writes the status if it has changed. If the object is gone, the error is
// NotFound, and nothing may be created for it.
func (p *poller) write(ctx context.Context, status any) error {
	data, err := json.Marshal(status)
	if err != nil || bytes.Equal(data, p.written) {
		return err
	}
	err = p.patch(ctx, []operation{{"add", "/status", json.RawMessage(data)}}, "status")
	if err == nil {
		p.written = data
	}
	return err
}

// An operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// homeTimeout is the timeout of a request about the object. The next poll tries again.
const homeTimeout = 10 * time.Second

// patch tests the UID first, so that it does not patch another object of that name.
func (p *poller) patch(ctx context.Context, operations []operation, subresources ...string) error {
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	data, err := json.Marshal(append([]operation{{"test", "/metadata/uid", p.uid}}, operations...))
	if err == nil {
		_, err = p.client().Patch(ctx, p.current.GetName(), types.JSONPatchType, data, metav1.PatchOptions{FieldManager: name}, subresources...)
	}
	return err
}

// client returns the client of the object's resource and namespace.
func (p *poller) client() dynamic.ResourceInterface {
	return p.Dynamic.Resource(p.resource).Namespace(p.current.GetNamespace())
}
