package member

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// defaultMaxBytes is the default of Options.MaxBytes.
	defaultMaxBytes = 32 << 20
	// pageSize is the most objects that a page is asked for. Pages of larger objects have fewer.
	pageSize = 100
	// maxUID is the longest UID or resource version, in bytes.
	maxUID = 64
)

// ours reports whether this hub created the Job, or the pod's Job. Anybody who may create them on the
// member can copy the labels to another name or namespace.
func (c *Cluster) ours(object metav1.Object) bool {
	return !isLong(object) && (len(c.options.Key) == 0 || hmac.Equal([]byte(object.GetLabels()[labelProof]), []byte(c.proof(object))))
}

// isLong reports whether an object has a name, a UID, a version or a label that no API server accepts. A
// tracker keeps these.
func isLong(object metav1.Object) bool {
	if len(object.GetNamespace()) > maxLabel || len(object.GetName()) > 253 || len(object.GetUID()) > maxUID || len(object.GetResourceVersion()) > maxUID {
		return true
	}
	for _, value := range object.GetLabels() {
		if len(value) > maxLabel {
			return true
		}
	}
	return false
}

// disown returns the Job without the labels that name an owner, unless it is ours.
func (c *Cluster) disown(j *batchv1.Job) *batchv1.Job {
	if c.ours(j) {
		return j
	}
	foreign := *j
	foreign.Labels = nil
	return &foreign
}

// checkLength returns the Job of an answer. A Job that no API server accepts is no answer.
func checkLength(job *batchv1.Job, err error) (*batchv1.Job, error) {
	if err == nil && isLong(job) {
		return nil, errors.New("the member answered with a Job that has too long a name, UID, version or label")
	}
	return job, err
}

var errTooLarge = errors.New("the answer of the member is too large")

// listPage lists a page of at most pageSize objects, and of fewer while the answer is too large: a tenant's
// objects may be. client-go lists again without a limit.
func listPage[L any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error)) (L, error) {
	if o.Limit <= 0 || o.Limit > pageSize {
		o.Limit = pageSize
	}
	for ; ; o.Limit /= 10 {
		if page, err := list(ctx, o); o.Limit < 10 || !errors.Is(err, errTooLarge) {
			return page, err
		}
	}
}

// A limitedTransport bounds the bytes of each answer that is no watch. client-go bounds the events of a watch.
type limitedTransport struct {
	next     http.RoundTripper
	maxBytes int64
}

// RoundTrip sends the request.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if watched := r.URL.Query().Get("watch"); watched != "true" && watched != "1" {
		response.Body = &limitedBody{ReadCloser: response.Body, maxBytes: t.maxBytes}
	}
	return response, nil
}

// A limitedBody fails when it has more bytes than an answer may have.
type limitedBody struct {
	io.ReadCloser
	read, maxBytes int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.maxBytes {
		return 0, fmt.Errorf("%w: it has more than %d bytes; if the member has so many Jobs, raise maxBytes of its registration", errTooLarge, b.maxBytes)
	}
	return n, err
}
