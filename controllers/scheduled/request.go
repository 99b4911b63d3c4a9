package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

// A request is a RunRequest. Its status is the run's, or has a message while there is
// no run.
type request struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Job      string             `json:"job"`
		Tag      string             `json:"tag"` // of an earlier run, whose occurrence the run stands for
		Backfill *schedule.Backfill `json:"backfill"`
	} `json:"spec"`
	Status requestStatus `json:"status"`

	plan  schedule.BackfillPlan
	waits bool   // a backfill waits for others
	note  string // what has no effect
}

// maxBackfills is the number of backfills of a ScheduledJob that are looked at. Later ones wait.
const maxBackfills = 20

type requestStatus struct {
	schedule.Run `json:",inline"`
	Message      string `json:"message,omitempty"`
	// Of a backfill.
	Runs     int64 `json:"runs,omitempty"`
	Done     int64 `json:"done,omitempty"`     // completed runs before the first that has not
	Failures int64 `json:"failures,omitempty"` // completed runs that did not succeed
	Later    int64 `json:"later,omitempty"`    // occurrences that are due after the request
}

// requestsOf returns the requests for the decision.
func requestsOf(objects []*request, policy schedule.Policy, checkpoint schedule.Checkpoint, now time.Time) (requests []schedule.Request) {
	begin, backfills := cmp.Or(checkpoint.Begin, policy.Created), 0
	for _, r := range objects {
		answered := r.Status.Status == schedule.Completed
		if r.Spec.Backfill == nil || answered {
			occurrence := r.occurrence(policy, checkpoint)
			if r.Spec.Tag != "" && occurrence.IsZero() {
				r.note = fmt.Sprintf("spec.tag: %q is not the tag of an occurrence, so that this run is an extra one", r.Spec.Tag)
			}
			requests = append(requests, schedule.Request{ID: string(r.UID), RequestedAt: r.CreationTimestamp.Time, Answered: answered, Occurrence: occurrence})
			continue
		}
		if r.Spec.Backfill.Together && policy.Concurrency != schedule.Allow {
			r.note = "spec.backfill.together has no effect, because runs may not overlap; "
		}
		backfills++
		if r.waits = backfills > maxBackfills; !r.waits {
			progress := schedule.Progress{ID: string(r.UID), RequestedAt: r.CreationTimestamp.Time, Done: r.Status.Done, Last: r.Status.Occurrence}
			r.plan = r.Spec.Backfill.Plan(policy, begin, progress, now)
			requests = append(requests, r.plan.Requests...)
		}
	}
	return requests
}

// occurrence returns the occurrence of the run with the request's tag, if it has one.
func (r *request) occurrence(policy schedule.Policy, checkpoint schedule.Checkpoint) time.Time {
	if occurrence, ok := schedule.TagOccurrence(policy.UID, r.Spec.Tag); ok {
		return occurrence
	}
	for _, run := range slices.Concat(checkpoint.Running, checkpoint.Completed) {
		if run.Tag == r.Spec.Tag {
			return run.Occurrence
		}
	}
	return time.Time{}
}

// backfilled returns the status of a backfill, by the runs of its requests.
func (r *request) backfilled(runs map[string]schedule.Run, now time.Time) requestStatus {
	status := r.Status
	status.Message, status.Status, status.OnDemand, status.Runs, status.Later = r.note, schedule.Pending, true, r.plan.Runs, r.plan.Later
	if status.Later > 0 {
		status.Message += fmt.Sprintf("%d occurrences of the span were due after the request, at %s; the schedule runs them", status.Later, r.CreationTimestamp.UTC().Format(time.RFC3339))
	}
	for i, next := range r.plan.Requests {
		switch run := runs[next.ID]; run.Status {
		case schedule.Completed:
			if status.Done != r.Status.Done+int64(i) {
				continue
			}
			status.Done, status.Occurrence = status.Done+1, run.Occurrence
			if run.Outcome() != schedule.Succeeded {
				status.Failures++
			}
		case schedule.Running:
			status.Status = schedule.Running
		}
	}
	if status.Done >= status.Runs {
		status.Status, status.Completed, status.Success = schedule.Completed, now.UTC().Truncate(time.Second), status.Failures == 0
		if status.Runs+status.Later == 0 {
			status.Message = "the schedule has no occurrence in the span"
		}
	}
	return status
}

// requestOf reads a RunRequest. A status that cannot be read is empty.
func requestOf(u *unstructured.Unstructured) *request {
	r := &request{}
	data, _ := json.Marshal(u.Object) // came as JSON
	if err := json.Unmarshal(data, r); err != nil {
		r.Status = requestStatus{}
	}
	return r
}

// jobOf returns the name of the ScheduledJob that a RunRequest is for.
func jobOf(u *unstructured.Unstructured) string {
	job, _, _ := unstructured.NestedString(u.Object, "spec", "job")
	return job
}

// requestsFor returns the RunRequests for a ScheduledJob that are not being deleted, the oldest first.
func (c *controller) requestsFor(key cache.ObjectName) (requests []*request) {
	found, _ := c.requests.ByIndex(byJob, key.String()) // it has that index
	for _, object := range found {
		if r := requestOf(object.(*unstructured.Unstructured)); r.DeletionTimestamp == nil {
			requests = append(requests, r)
		}
	}
	slices.SortFunc(requests, func(a, b *request) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return requests
}

// claim returns the RunRequests of the ScheduledJob, the oldest first, and makes it the owner of RunRequests
// without one, of a hundred each time. A RunRequest of a deleted ScheduledJob with the same name is left out.
func (c *controller) claim(ctx context.Context, s *scheduledJob) (owned []*request, err error) {
	claimed := 0
	for _, r := range c.requestsFor(s.key()) {
		switch r.owner() {
		case "":
			if claimed++; claimed > mostClaimed {
				continue
			}
			if problem := c.setOwner(ctx, s, r); problem != nil {
				err = errors.Join(err, problem)
				continue
			}
		case s.UID:
		default:
			continue
		}
		owned = append(owned, r)
	}
	return owned, err
}

// The most RunRequests of a ScheduledJob that get an owner in one reconciliation, and that learn why
// they have no run. Each is a request, during which nothing else happens for the ScheduledJob.
const (
	mostClaimed = 100
	mostTold    = 20
)

// owner returns the UID of the ScheduledJob that owns the RunRequest for it, or "". Other
// owners may have created the RunRequest, such as a workflow or another ScheduledJob.
func (r *request) owner() types.UID {
	for _, o := range r.OwnerReferences {
		if o.Kind == scheduledjob.GroupVersionKind.Kind && o.Name == r.Spec.Job && strings.HasPrefix(o.APIVersion, scheduledjob.GroupVersionKind.Group+"/") {
			return o.UID
		}
	}
	return ""
}

func (c *controller) setOwner(ctx context.Context, s *scheduledJob, r *request) error {
	owner := s.Owner()
	if metav1.GetControllerOf(r) != nil {
		owner.Controller = nil // it has a controller
	}
	err := c.patch(ctx, r, types.MergePatchType, map[string]any{"metadata": map[string]any{
		"uid": r.UID, "ownerReferences": append(slices.Clone(r.OwnerReferences), owner),
	}})
	if err != nil {
		return fmt.Errorf("take on the RunRequest %s: %w", r.Name, err)
	}
	return nil
}

// answerUnknown reports RunRequests for a ScheduledJob that does not exist. If it is
// created later, it takes them on.
func (c *controller) answerUnknown(ctx context.Context, key cache.ObjectName) error {
	unknown := (&field.Error{Path: "spec.job", Found: strconv.Quote(key.Name), Fix: "the name of a ScheduledJob of the namespace; none has this name"}).Error()
	var problems []error
	for _, r := range c.requestsFor(key) {
		if r.owner() == "" && r.Status.Message != unknown && len(problems) < mostTold {
			err := c.report(ctx, r, requestStatus{Run: schedule.Run{Status: schedule.Pending}, Message: unknown})
			if err == nil {
				object := &corev1.ObjectReference{APIVersion: scheduledjob.GroupVersionKind.GroupVersion().String(), Kind: "RunRequest", Namespace: r.Namespace, Name: r.Name, UID: r.UID}
				c.recorder.Eventf(object, nil, corev1.EventTypeWarning, reasonJobNotFound, reasonJobNotFound, "%s", unknown)
			}
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// answer writes the status of the runs to their RunRequests. It deletes a RunRequest
// that has been answered for long enough, and whose run history has dropped, and one whose run was
// dropped before an answer. decided is false if the spec is invalid.
// Other RunRequests without a run get the reason, twenty more each time. With the status of another release,
// no RunRequest changes.
func (c *controller) answer(ctx context.Context, s *scheduledJob, owned []*request, decided bool) error {
	if s.foreign != nil {
		return nil
	}
	runs := map[string]schedule.Run{}
	for _, list := range [][]schedule.Run{s.Status.Pending, s.Status.Running, s.Status.Completed} {
		for _, r := range list {
			runs[r.Request] = r
		}
	}
	dropped := map[string]bool{}
	for _, tag := range s.Status.Requested {
		dropped[tag] = true
	}
	var problems []error
	count := 0
	for _, r := range owned {
		run, exists := runs[string(r.UID)]
		answered := r.Status.Status == schedule.Completed
		switch {
		case r.Spec.Backfill != nil && decided && !answered && !r.waits:
			problems = append(problems, c.report(ctx, r, r.backfilled(runs, c.now())))
		case exists:
			problems = append(problems, c.report(ctx, r, requestStatus{Run: run, Message: r.note}))
		case answered && c.now().Sub(r.Status.Completed) >= c.requestTTL, dropped[schedule.RequestTag(string(s.UID), string(r.UID))] && !answered:
			problems = append(problems, c.remove(ctx, r))
		case !answered && count < mostTold:
			kept := r.Status // such as the runs of a backfill that are done
			if kept.Status, kept.Message = schedule.Pending, othersFirst; !decided {
				kept.Message = invalidJob
			}
			if !reflect.DeepEqual(fields(kept), fields(r.Status)) {
				count++
				problems = append(problems, c.report(ctx, r, kept))
			}
		}
	}
	return errors.Join(problems...)
}

const othersFirst = "earlier requests for the ScheduledJob come first"

const invalidJob = "the spec of the ScheduledJob is invalid: see its condition Ready"

func (c *controller) remove(ctx context.Context, r *request) error {
	err := c.Dynamic.Resource(runRequests).Namespace(r.Namespace).
		Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the RunRequest %s: %w", r.Name, err)
	}
	return nil
}

// report writes the status of a RunRequest if it has changed.
func (c *controller) report(ctx context.Context, r *request, desired requestStatus) error {
	status := fields(desired)
	if reflect.DeepEqual(status, fields(r.Status)) {
		return nil
	}
	maps.DeleteFunc(status, func(_ string, value any) bool { return value == "" || value == "0001-01-01T00:00:00Z" })
	err := c.patch(ctx, r, types.JSONPatchType, []any{
		map[string]any{"op": "test", "path": "/metadata/uid", "value": r.UID},
		map[string]any{"op": "add", "path": "/status", "value": status},
	}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("answer the RunRequest %s: %w", r.Name, err)
	}
	return nil
}

func (c *controller) patch(ctx context.Context, object metav1.Object, kind types.PatchType, patch any, subresources ...string) error {
	data, _ := json.Marshal(patch) // of fields
	_, err := c.Dynamic.Resource(runRequests).Namespace(object.GetNamespace()).
		Patch(ctx, object.GetName(), kind, data, metav1.PatchOptions{FieldManager: name}, subresources...)
	return err
}
