package scheduledjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/schedule"
)

// A Tracker carries out the decisions of package schedule, and knows which creates may still
// arrive. One Tracker is for all ScheduledJobs of a process, from several goroutines, and for
// one term: make a new Tracker when the process leads again, or call Start.
//
// Each request checks that its decision is of the present term. A request that is under way when the
// term ends may still have its effect, within half of Late. So the next term treats each create as
// one that may arrive, until Late after its start.
//
//	seen, err := tracker.Observe(ctx, s, jobs, revision)
//	d := schedule.Decide(config.Policy, seen.Observation, s.Status.Checkpoint)
//	err = tracker.Carry(ctx, Order{Owner: s.Owner(), Config: config, Decision: d, Seen: seen, Store: store})
type Tracker struct {
	Client adapter.Client
	// Late is the time after which a create that was not answered can no longer arrive: twice
	// the timeout of a request. Until then its Job is not deleted, and the run stays active. 0 means
	// twice adapter.DefaultTimeout.
	Late time.Duration
	// Terms decide whether this process may act; needed. Nothing is sent outside of a term.
	Terms *requests.Terms
	Now   func() time.Time // needed

	mutex    sync.Mutex
	term     *requests.Term                     // that began at started
	started  time.Time                          // a process before may have sent a create until then
	until    map[types.NamespacedName]time.Time // when a create that was not answered can no longer arrive
	rejected map[types.UID][]schedule.Rejection // since the last decision that was stored
}

// Start begins the term. It must be called before the first decision is carried out.
func (t *Tracker) Start() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.term, t.started = t.Terms.Term(), t.Now()
}

// An Order is a decision to carry out.
type Order struct {
	Owner    metav1.OwnerReference
	Config   Config // may be the zero value, if the decision starts nothing
	Decision schedule.Decision
	Seen     Observation // from which the decision was made
	// Store stores the state of the decision in place of the state that was read. Nothing else
	// is done if it fails.
	Store func(context.Context) error
}

// Carry stores the state, and then creates and deletes Jobs, so that every later decision knows
// what may have been done, wherever the process stops. The error joins all problems. A problem
// is repaired by later decisions.
func (t *Tracker) Carry(ctx context.Context, o Order) error {
	if err := o.Store(ctx); err != nil {
		return err
	}
	t.mutex.Lock()
	delete(t.rejected, o.Owner.UID) // the stored decision has them
	t.mutex.Unlock()
	s := sender{t, o.Seen.term}
	var problems []error
	for _, r := range o.Decision.Start {
		if err := s.start(ctx, o.Config.NewJob(o.Owner, r), o.Owner.UID, r); err != nil {
			problems = append(problems, fmt.Errorf("start run %s: %w", r.Tag, err))
		}
	}
	for _, j := range o.Seen.Cached {
		if t.mayArrive(nameOf(&j)) {
			continue
		}
		var err error
		switch tag := j.Labels[LabelTag]; {
		case slices.Contains(o.Decision.Stop, tag), o.Seen.Ending && unfinished(&j):
			err = s.stop(ctx, &j)
		case slices.Contains(o.Decision.Delete, tag):
			err = s.delete(ctx, &j, metav1.DeletePropagationBackground, &metav1.Preconditions{UID: &j.UID})
		case slices.Contains(o.Decision.Expire, tag):
			err = s.expire(ctx, &j)
		}
		problems = append(problems, err)
	}
	return errors.Join(append(problems, s.deletePods(ctx, o.Seen.Orphans))...)
}

// A sender sends what was decided in a term, and nothing after its end.
type sender struct {
	tracker *Tracker
	decided *requests.Term // nil before the first
}

// start creates the Job of a run, and notes what is known if that fails.
func (s sender) start(ctx context.Context, job *batchv1.Job, owner types.UID, r schedule.Run) error {
	err := s.create(ctx, job, owner)
	if err == nil {
		return nil
	}
	// A run's first create follows no other, whichever process sends it.
	late := r.Attempts > 1 && s.tracker.mayArrive(nameOf(job))
	if !answered(err) {
		s.tracker.late(job)
		late = true
	}
	if s.tracker.absent(ctx, job, err) {
		rejection := schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: adapter.ErrorText(err), MayArrive: late}
		s.tracker.mutex.Lock()
		defer s.tracker.mutex.Unlock()
		if s.tracker.rejected == nil {
			s.tracker.rejected = map[types.UID][]schedule.Rejection{}
		}
		s.tracker.rejected[owner] = append(s.tracker.rejected[owner], rejection)
	}
	return err
}

// request sends a request, with a deadline of its own, if the process may act in the term. An object
// that is gone or has changed is no problem: the change leads to another decision.
func (s sender) request(ctx context.Context, verb, run string, call func(context.Context) error) error {
	ctx, cancel, err := s.context(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	err = call(ctx)
	if changed := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !changed {
		return fmt.Errorf("%s of run %s: %w", verb, run, err)
	}
	return nil
}

func (s sender) context(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel, err := s.decided.Request(ctx, s.tracker.lateness()/2)
	if err != nil {
		err = fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	return ctx, cancel, err
}

// create creates the Job, unless it exists.
func (s sender) create(ctx context.Context, job *batchv1.Job, owner types.UID) error {
	ctx, cancel, err := s.context(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	jobs := s.tracker.Client.BatchV1().Jobs(job.Namespace)
	_, err = jobs.Create(ctx, job, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, getErr := jobs.Get(ctx, job.Name, metav1.GetOptions{})
	if getErr != nil {
		return errors.Join(err, getErr)
	}
	if c := metav1.GetControllerOfNoCopy(found); c != nil && c.UID == owner && found.Labels[LabelTag] == job.Labels[LabelTag] {
		return nil
	}
	return fmt.Errorf("%w, and has %w", err, errTaken)
}

var errTaken = errors.New("another owner")

// answered reports whether a create that failed had no effect and will have none: it was
// not sent, or the API server rejected it. After a timeout or an error of the server, this
// is not known. The code decides, because an admission webhook chooses the reason.
func answered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return errors.Is(err, adapter.ErrNotSent)
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// absent reports whether the API server has no Job of the run after an error of the API server.
func (t *Tracker) absent(ctx context.Context, job *batchv1.Job, err error) bool {
	if errors.Is(err, errTaken) {
		return true
	}
	if status := apierrors.APIStatus(nil); apierrors.IsAlreadyExists(err) || !errors.As(err, &status) {
		return false
	}
	_, err = t.Client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func nameOf(j *batchv1.Job) types.NamespacedName {
	return types.NamespacedName{Namespace: j.Namespace, Name: j.Name}
}

func (t *Tracker) lateness() time.Duration { return cmp.Or(t.Late, 2*adapter.DefaultTimeout) }

// late notes a create that was not answered.
func (t *Tracker) late(job *batchv1.Job) {
	now := t.Now()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.until == nil {
		t.until = map[types.NamespacedName]time.Time{}
	}
	maps.DeleteFunc(t.until, func(_ types.NamespacedName, until time.Time) bool { return !now.Before(until) })
	t.until[nameOf(job)] = now.Add(t.lateness())
}

// mayArrive reports whether a create of the Job may still arrive, of this process or of one
// before. If the Job were deleted before, its run would start twice.
func (t *Tracker) mayArrive(job types.NamespacedName) bool {
	now := t.Now()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if present := t.Terms.Term(); t.term != nil && t.term != present {
		t.term, t.started = present, now // in between, another process may have sent creates
	}
	return now.Before(t.until[job]) || now.Before(t.started.Add(t.lateness()))
}

// stop deletes a Job unless it has changed: a Job that has finished is kept for its outcome.
func (s sender) stop(ctx context.Context, j *batchv1.Job) error {
	return s.delete(ctx, j, metav1.DeletePropagationForeground, &metav1.Preconditions{UID: &j.UID, ResourceVersion: &j.ResourceVersion})
}

func (s sender) delete(ctx context.Context, j *batchv1.Job, propagation metav1.DeletionPropagation, only *metav1.Preconditions) error {
	return s.request(ctx, "delete the Job", j.Labels[LabelTag], func(ctx context.Context) error {
		return s.tracker.Client.BatchV1().Jobs(j.Namespace).Delete(ctx, j.Name, metav1.DeleteOptions{
			PropagationPolicy: &propagation, Preconditions: only,
		})
	})
}

// expire lets the time to live of a finished Job begin.
func (s sender) expire(ctx context.Context, j *batchv1.Job) error {
	patch := ttlPatch(j)
	if patch == nil {
		return nil
	}
	return s.request(ctx, "set the time to live of the Job", j.Labels[LabelTag], func(ctx context.Context) error {
		_, err := s.tracker.Client.BatchV1().Jobs(j.Namespace).Patch(ctx, j.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// deletePods deletes the pods of Jobs that are gone, as with orphans, unless they end already.
func (s sender) deletePods(ctx context.Context, orphans []corev1.Pod) error {
	var problems []error
	for _, p := range orphans {
		if p.DeletionTimestamp == nil && !finished(&p) {
			problems = append(problems, s.request(ctx, "delete the pod "+p.Name, p.Labels[LabelTag], func(ctx context.Context) error {
				return s.tracker.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})
			}))
		}
	}
	return errors.Join(problems...)
}
