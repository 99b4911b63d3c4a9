package loop

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A Limit is a fixed number of requests in flight. Their owners have turns as package requests
// describes. The owner of a request comes from [requests.With], else the request's namespace.
type Limit struct {
	// Observe, if set, is called after each answer. Set it before the first request. It must
	// not block, and may be called from several goroutines.
	Observe func(Answer)

	*requests.Queue
}

// An Answer is the API server's answer to a request.
type Answer struct {
	Owner requests.Owner
	// Kind has the method and the resource of a namespace, such as "POST jobs".
	Kind string
	Code int // HTTP status; 0 if there was none
	requests.Answer
	RetryAfter time.Duration
}

// NewLimit returns a limit of n requests in flight. If n < 1, it is 1.
func NewLimit(n int) *Limit { return &Limit{Queue: requests.NewQueue(n)} }

// admit waits until the request may be sent, or returns an error if it may not. A nil
// limit never waits.
func (l *Limit) admit(r *http.Request) (answered func(r *http.Response, expired bool), free func(), err error) {
	if l == nil {
		return func(*http.Response, bool) {}, func() {}, cmp.Or(r.Context().Err(), mayAct(r))
	}
	ctx := r.Context()
	if requests.OwnerOf(ctx) == (requests.Owner{}) {
		ctx = requests.WithOwner(ctx, requests.Owner{Namespace: namespaceOf(r.URL.Path)})
	}
	slot, free, err := l.Wait(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("waiting for the limit on requests: %w", err)
	}
	if err := mayAct(r); err != nil {
		free()
		return nil, nil, err
	}
	a := Answer{Owner: requests.OwnerOf(ctx), Kind: kindOf(r)}
	slot.Sends(a.Kind)
	return func(r *http.Response, expired bool) {
		a.Answer, a.RetryAfter = judge(r, expired)
		slot.Answered(a.Answer, a.RetryAfter)
		if r != nil {
			a.Code = r.StatusCode
		}
		if l.Observe != nil {
			l.Observe(a)
		}
	}, free, nil
}

// mayAct returns why a change may not be sent any more. It may have waited for long, and the
// process may have been stopped.
func mayAct(r *http.Request) error {
	if r.Method == http.MethodGet {
		return nil
	}
	if err := requests.CheckTerm(r.Context()); err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrOutdated, err)
	}
	return nil
}

// namespaceOf returns the namespace in a path of the API, or "".
func namespaceOf(path string) string {
	_, after, _ := strings.Cut(path, "/namespaces/")
	name, _, _ := strings.Cut(after, "/")
	return name
}

// kindOf returns the method and the resource of a request for an object of a namespace,
// such as "POST jobs" or "PATCH scaledjobs/status".
func kindOf(r *http.Request) string {
	_, after, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(after, "/") // namespace, resource, name, subresource
	kind := r.Method
	for i, part := range parts {
		switch i {
		case 1:
			kind += " " + part
		case 3:
			kind += "/" + part
		}
	}
	return kind
}

// judge reads an answer; nil is none. The API server writes a refusal because of its own
// load as text. A webhook's refusal is a Status, whatever its code and headers are. A name
// that exists or does not, and a precondition that does not hold, are no refusals.
func judge(r *http.Response, expired bool) (requests.Answer, time.Duration) {
	if r == nil {
		return map[bool]requests.Answer{true: requests.Refused}[expired], 0
	}
	after := time.Duration(max(0, retryAfter(r))) * time.Second
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch code := r.StatusCode; {
	case code == http.StatusTooManyRequests && kind == "text/plain":
		return requests.Overloaded, max(after, time.Second)
	case code == http.StatusTooManyRequests:
		return requests.Refused, max(after, time.Second)
	case code == http.StatusNotFound, code == http.StatusConflict, code < 400:
		return requests.Success, 0
	}
	return requests.Refused, after
}

// retryAfter returns the seconds of Retry-After, or -1.
func retryAfter(r *http.Response) int {
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil {
		return -1
	}
	return min(seconds, int(requests.LongestDelay/time.Second)+1)
}
