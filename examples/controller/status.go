package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
)

// A status is that of a ScaledJob, as KEDA has it.
type status struct {
	LastActiveTime       *metav1.Time       `json:"lastActiveTime,omitempty"`
	TriggersTypes        string             `json:"triggersTypes,omitempty"`
	AuthenticationsTypes string             `json:"authenticationsTypes,omitempty"`
	Conditions           []metav1.Condition `json:"conditions,omitempty"`

	unwritten bool // the API server does not have it
}

// newStatus is what s says; a status that is somebody else's, and not such a one,
// counts for nothing.
func newStatus(s scaledJob) *status {
	was := &status{}
	if json.Unmarshal(s.Status, was) != nil {
		return &status{}
	}
	return was
}

// report writes the status where it has changed, and then tells the events. When
// the ScaledJob was last active is written along with the rest only, so that a
// queue which is never empty does not cost a request at every poll.
func (p *poller) report(ctx context.Context, o adapter.Outcome) {
	was, now := p.status, time.Now()
	is := &status{
		LastActiveTime:       was.LastActiveTime,
		TriggersTypes:        list(p.scaledJob, func(t adapter.ScaleTrigger) string { return t.Type }),
		AuthenticationsTypes: list(p.scaledJob, authentication),
		Conditions:           o.Conditions(was.Conditions, p.scaledJob.Generation, now),
		unwritten:            was.unwritten,
	}
	if o.Decision.Trace.Demand.Active > 0 {
		is.LastActiveTime = &metav1.Time{Time: now}
	}
	is.unwritten = is.unwritten || o.Result.Created > 0 || !is.same(was)
	p.status = is
	if is.unwritten {
		p.write(ctx, is)
	}
	adapter.Record(p.recorder, p.scaledJob.ScaledJob, o.Events(was.Conditions, is.Conditions))
}

func (s *status) same(t *status) bool {
	return s.TriggersTypes == t.TriggersTypes && s.AuthenticationsTypes == t.AuthenticationsTypes &&
		equality.Semantic.DeepEqual(s.Conditions, t.Conditions)
}

// write tests the UID, so that one who has taken the name since keeps its own.
func (p *poller) write(ctx context.Context, s *status) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.uid},
		{"op": "add", "path": "/status", "value": s},
	})
	if err == nil {
		_, err = p.dynamic.Resource(scaledJobs).Namespace(p.scaledJob.Namespace).
			Patch(ctx, p.scaledJob.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: name}, "status")
	}
	switch {
	case err == nil:
		s.unwritten = false
	case apierrors.IsNotFound(err) || replaced(err): // it is gone, as will be told
	default:
		p.metrics.failed("status")
		p.log.Warn("status not written, will try again", "err", err)
	}
}

// replaced reports whether the patch failed in its test of the UID. The API server then
// answers 422 without a cause; where it finds the object invalid, it names the field.
func replaced(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

// list is what the triggers have of something, each once, as KEDA prints it.
func list(s scaledJob, of func(adapter.ScaleTrigger) string) string {
	var all []string
	for _, t := range s.Spec.Triggers {
		all = append(all, of(t))
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
	return strings.Join(all, ",")
}

func authentication(t adapter.ScaleTrigger) string {
	if t.AuthenticationRef == nil {
		return ""
	}
	return t.AuthenticationRef.Name
}
