package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// A reply is the result of a request.
type reply struct {
	slots.Result
	uid types.UID // of the Job that was created or has the name
	err error     // nil if everything went as planned
}

func (a *application) send(ctx context.Context, jobs batchclient.JobsGetter, c call) reply {
	ctx, cancel := term.Timeout(term.With(ctx, a.plan.term), a.tracker.options.Timeout)
	defer cancel()
	switch {
	case c.Kind == slots.Read && c.of != nil:
		switch gone, err := a.gone(ctx, jobs, c.of); {
		case err != nil:
			return reply{slots.Unanswered, "", err}
		case gone:
			return reply{Result: slots.None}
		}
		return reply{Result: slots.Done}
	case c.Kind == slots.Read:
		return a.read(ctx, jobs, c)
	}
	a.tracker.mu.Lock()
	err := cmp.Or(ctx.Err(), a.stops())
	a.tracker.mu.Unlock()
	switch {
	case err != nil:
		return reply{slots.None, "", fmt.Errorf("%w: %w", ErrNotSent, err)}
	case c.Kind == slots.Create:
		return a.create(ctx, jobs, c)
	case c.Kind == slots.Delete:
		return a.delete(ctx, jobs, c.of)
	}
	if err = a.plan.term.Aside(ctx); err != nil {
		return reply{slots.None, "", err}
	}
	return reply{Result: slots.Done}
}

// create creates the Job, or finds out which Job has its name.
func (a *application) create(ctx context.Context, jobs batchclient.JobsGetter, c call) reply {
	job, err := c.from.from.job(a.tracker.options.hub.Place, c.Slot, c.from.item, c.from.labels)
	if selects := a.tracker.selector; err == nil && !selects.Matches(labels.Set(job.Labels)) {
		err = fmt.Errorf("item %q: the tracker does not select its labels: use %s", c.Slot.Key, selects)
	}
	if err != nil {
		return reply{slots.Refused, "", err}
	}
	created, err := jobs.Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case err == nil:
		return reply{slots.Done, uidOf(created), nil}
	case !apierrors.IsAlreadyExists(err):
		return failure(err)
	}
	r := a.read(ctx, jobs, c)
	switch r.Result {
	case slots.Done:
		r.err = err
	case slots.None, slots.Taken:
		r.err = fmt.Errorf("%w: %w", err, r.err)
	case slots.Unanswered:
		r.err = fmt.Errorf("the name exists, and its Job could not be read: %w", r.err)
	}
	return r
}

// read finds out which Job has the name of a slot.
func (a *application) read(ctx context.Context, jobs batchclient.JobsGetter, c call) reply {
	options, of := &a.tracker.options, &c.from.from.Owner
	job, err := jobs.Jobs(of.Namespace).Get(ctx, of.slotName(options.hub.Place, c.Slot), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return reply{slots.None, "", err}
	case err != nil:
		return reply{slots.Unanswered, "", err}
	}
	item, phase := itemOf(job), end(job)
	if options.ownerOf(job).uid != a.plan.Owner || c.Slot.Key != "" && (item == nil || *item != c.Slot) || phase == Succeeded || phase == Failed {
		return reply{slots.Taken, uidOf(job), errTaken}
	}
	return reply{slots.Done, uidOf(job), nil}
}

var propagations = map[rollout.Propagation]metav1.DeletionPropagation{
	rollout.Background: metav1.DeletePropagationBackground,
	rollout.Foreground: metav1.DeletePropagationForeground,
	rollout.Orphan:     metav1.DeletePropagationOrphan,
}

func (a *application) delete(ctx context.Context, jobs batchclient.JobsGetter, d *Deletion) reply {
	options := metav1.DeleteOptions{
		PropagationPolicy: new(propagations[d.Propagation]),
		Preconditions:     &metav1.Preconditions{UID: &d.UID},
	}
	if d.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &d.ResourceVersion
	}
	err := jobs.Jobs(d.Namespace).Delete(ctx, d.Name, options)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return reply{Result: slots.Done}
	case apierrors.IsConflict(err):
		gone, err := a.gone(ctx, jobs, d)
		if gone {
			return reply{Result: slots.Done}
		}
		return reply{slots.None, "", cmp.Or(err, errChanged)}
	}
	return failure(err)
}

// gone reports whether the Job is deleted, or being deleted. Another Job may have its name.
func (a *application) gone(ctx context.Context, jobs batchclient.JobsGetter, d *Deletion) (bool, error) {
	job, err := jobs.Jobs(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("it has changed, and could not be read: %w", err)
	}
	return uidOf(job) != d.UID || job.DeletionTimestamp != nil, nil
}

// failure returns the reply to a request that failed: None or Refused if it is certain that
// the request had no effect, Refused if the reason is the Job.
func failure(err error) reply {
	var status apierrors.APIStatus
	var network *net.OpError
	r := reply{slots.Unanswered, "", err}
	switch {
	case errors.Is(err, ErrNotSent):
		r.Result = slots.None
	case errors.As(err, &network) && network.Op == "dial":
		r.Result = slots.None
	case errors.As(err, &status):
		switch code := status.Status().Code; {
		case code == http.StatusTooManyRequests, code == http.StatusUnauthorized:
			r.Result = slots.None
		case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
			r.Result = slots.Refused
		}
	}
	return r
}

// longestWords bounds the API server's words in an error, in characters.
const longestWords = 300

// words returns an error's text without control characters: at most 300 characters of it. An
// answer of the API server begins with its status, such as "403 Forbidden: exceeded quota".
func words(err error) string {
	text := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, err.Error()))
	if len(text) > longestWords {
		text = append(text[:longestWords-1], '…')
	}
	var status apierrors.APIStatus
	if code := int32(0); errors.As(err, &status) {
		if code = status.Status().Code; code > 0 {
			return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(int(code)))) + ": " + string(text)
		}
	}
	return string(text)
}
