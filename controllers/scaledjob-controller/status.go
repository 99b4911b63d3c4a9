package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// A status is KEDA's status of a ScaledJob.
type status struct {
	LastActiveTime       *metav1.Time       `json:"lastActiveTime,omitempty"`
	TriggersTypes        string             `json:"triggersTypes,omitempty"`
	AuthenticationsTypes string             `json:"authenticationsTypes,omitempty"`
	Conditions           []metav1.Condition `json:"conditions,omitempty"`
}

// A report holds the updates of a ScaledJob for the API server: its new status, and events.
type report struct {
	status    *status // nil until the first poll
	unwritten bool    // the API server does not have the status
	events    []scaledjob.Event
	budget    flowcontrol.PassiveRateLimiter // of events
}

// tell adds events, within the budget that client-go's recorder gives an object.
func (r *report) tell(events ...scaledjob.Event) {
	for _, e := range events {
		if r.budget == nil {
			r.budget = flowcontrol.NewTokenBucketPassiveRateLimiter(1./300, 25)
		}
		if r.budget.TryAccept() {
			r.events = append(r.events, e)
		}
	}
}

// slow notes that KEDA polls less often than asked.
func (e *entry) slow(period time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.slow = period
}

// done takes a poll's result over into metrics, status and events. They are written
// later, and by few at once: creating Jobs goes first. When the ScaledJob was last active
// is written along with the rest only, so that a queue which is never empty does not cost
// a request at every poll.
func (e *entry) done(t *term, s *spec, p scaledjob.PollResult, metrics []scaling.Metric, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.add(t.totals, p, metrics)
	if p.Invalid == nil {
		t.totals.pollDuration.Observe(took.Seconds())
	}
	r := &e.report
	if r.status == nil {
		r.status = &status{}
		if json.Unmarshal(e.from.status, r.status) != nil {
			r.status = &status{} // another client's, of another form
		}
	}
	previous, now := r.status, time.Now()
	current := *previous
	current.TriggersTypes, current.AuthenticationsTypes = s.TriggersTypes, s.AuthenticationsTypes
	p.AsKEDA = t.transition.release != nil
	current.Conditions = p.Conditions(previous.Conditions, s.generation, now)
	if p.Decision.Trace.Demand.Active > 0 {
		current.LastActiveTime = &metav1.Time{Time: now}
	}
	r.unwritten = r.unwritten || p.Result.Created > 0 || !current.equals(previous)
	r.tell(p.Events(previous.Conditions, current.Conditions)...)
	r.status = &current
	if r.unwritten || len(r.events) > 0 {
		t.reports.Now(e.name)
	}
}

// equals ignores LastActiveTime.
func (s *status) equals(t *status) bool {
	other := *t
	other.LastActiveTime = s.LastActiveTime
	return equality.Semantic.DeepEqual(*s, other)
}

// write writes the status if it has changed, and the events. It frees a ScaledJob that is being
// deleted.
func (t *term) write(ctx context.Context, key cache.ObjectName) {
	e := t.entry(key)
	switch {
	case ctx.Err() != nil || !t.Lease.MayAct():
		return
	case e == nil:
		t.free(ctx, key)
		return
	}
	e.mu.Lock()
	status, unwritten, events := e.report.status, e.report.unwritten, e.report.events
	e.report.unwritten, e.report.events = false, nil
	e.mu.Unlock()
	if unwritten {
		err := t.writeStatus(ctx, e, status)
		e.mu.Lock()
		if err == nil {
			e.tally.failing[failedStatus] = time.Time{}
		} else {
			t.log.Warn("status not written, will try again", "namespace", key.Namespace, "scaledjob", key.Name, "err", err)
			e.report.unwritten = true
			e.tally.fail(t.totals, failedStatus)
		}
		e.mu.Unlock()
	}
	for _, event := range events {
		if err := t.writeEvent(ctx, e, event); err != nil {
			t.log.Warn("event not written", "namespace", key.Namespace, "scaledjob", key.Name, "reason", event.Reason, "err", err)
		}
	}
}

// writeStatus tests the UID, so that another ScaledJob that has taken the name since
// keeps its own.
func (t *term) writeStatus(ctx context.Context, e *entry, s *status) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": e.uid},
		{"op": "add", "path": "/status", "value": s},
	})
	if err == nil {
		_, err = t.Dynamic.Resource(scaledJobs).Namespace(e.name.Namespace).
			Patch(ctx, e.name.Name, types.JSONPatchType, patch, metav1.PatchOptions{
				FieldManager: name,
				// KEDA's own definition has no times of conditions: the API server drops them, with a warning for each.
				FieldValidation: metav1.FieldValidationIgnore,
			}, "status")
	}
	if apierrors.IsNotFound(err) || replaced(err) { // deleted; an event of the watch follows
		return nil
	}
	return err
}

// replaced reports whether the patch failed in its test of the UID. The API server then
// answers 422 without a cause; for an invalid object the cause names the field.
func replaced(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

var instance = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return name + "-" + host
})

// eventName returns the name of a new event about an object, whose name may be as long as a name can be.
func eventName(about string) string {
	suffix := "." + strings.ToLower(rand.Text()[:16])
	return strings.TrimRight(about[:min(len(about), validation.DNS1123SubdomainMaxLength-len(suffix))], "-.") + suffix
}

// writeEvent writes an event once. Nothing depends on it.
func (t *term) writeEvent(ctx context.Context, e *entry, event scaledjob.Event) error {
	now := time.Now()
	_, err := t.Requests.EventsV1().Events(e.name.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: e.name.Namespace, Name: eventName(e.name.Name)},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: name, ReportingInstance: instance(),
		Type: event.Type, Reason: event.Reason, Action: event.Reason, Note: event.Message,
		Regarding: corev1.ObjectReference{
			APIVersion: manifest.GroupVersionKind.GroupVersion().String(), Kind: manifest.GroupVersionKind.Kind,
			Namespace: e.name.Namespace, Name: e.name.Name, UID: e.uid,
		},
	}, metav1.CreateOptions{})
	return err
}
