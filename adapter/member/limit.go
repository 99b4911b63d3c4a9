package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An answer takes a multiple of its bytes when it is decoded: an empty container takes half a
// kilobyte, and several while its list grows. So the values of an answer are bounded as well,
// before it is decoded. Only JSON is read, because its values can be counted without its types.
const (
	// maxBytes is the default of Options.MaxBytes.
	maxBytes = 32 << 20
	// maxValues is the most values of an answer, or of an event of a watch. An object of a list
	// counts as itemValues more, because it is that much larger than any part of an object.
	maxValues  = 100_000
	itemValues = 4
	// freeValues and freeBytes are the size of an answer that is read at any time. A member's larger
	// answers are read and decoded one after another.
	freeValues, freeBytes = 1000, 256 << 10
	// pageSize is the most objects that a page is asked for. Pages of larger objects have fewer.
	pageSize = 100
	// watches is how many times the bytes of an answer a watch may send in each minute: it may begin
	// with all Jobs.
	watches = 32
)

const jsonType = "application/json"

var errTooLarge = errors.New("the answer of the member is too large")

// notRead lets an answer that is too large concern one of several namespaces, as if it were forbidden to
// read it: it may be a tenant's object.
func notRead(err error) error {
	return fmt.Errorf("%w: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not read"}}, err)
}

// smaller lists a page of at most pageSize objects, and of fewer while the answer is too large. client-go
// lists again without a limit.
func smaller[L any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error)) (L, error) {
	if o.Limit <= 0 || o.Limit > pageSize {
		o.Limit = pageSize
	}
	for ; ; o.Limit /= 10 {
		if there, err := list(ctx, o); o.Limit < 10 || !errors.Is(err, errTooLarge) {
			return there, err
		}
	}
}

// decoding sends a request. A large answer has been decoded when it returns.
func decoding(ctx context.Context, request func(context.Context) error) error {
	decoded := make(chan struct{})
	defer close(decoded)
	return request(context.WithValue(ctx, decodedKey{}, decoded))
}

// decodedKey is the key of a context for a channel that is closed when the answer is decoded.
type decodedKey struct{}

// A limited bounds the answers of a member.
type limited struct {
	next http.RoundTripper
	most int64
	slot chan struct{} // has an item while a large answer is read and decoded
}

// RoundTrip sends the request.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b := &limitedBody{ReadCloser: response.Body, ctx: r.Context(), most: l.most, often: l.most, slot: l.slot, begin: time.Now()}
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		b.watch, b.event, b.often = true, 1, max(b.most, b.most*watches) // which may overflow
	}
	response.Body = b
	switch is, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); {
	case is == jsonType:
	case response.StatusCode >= http.StatusBadRequest: // such as of a proxy
		response.Header.Set("Content-Type", "text/plain")
	default:
		b.Close()
		return nil, fmt.Errorf("the member answers with the content type %.40q; want %s", is, jsonType)
	}
	return response, nil
}

// A limitedBody fails after the most bytes or values that an answer may have.
type limitedBody struct {
	io.ReadCloser
	ctx         context.Context
	most        int64 // bytes of a document
	often, read int64 // bytes of a watch in a minute
	watch       bool
	begin       time.Time // of the present minute
	values

	slot          chan struct{}
	mu            sync.Mutex
	holds, closed bool // the slot; the answer
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.watch && time.Since(b.begin) > time.Minute {
		b.begin, b.read = time.Now(), 0
	}
	if b.watch && b.n <= freeValues && b.size <= freeBytes { // the documents before were decoded
		b.release()
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.count(p[:n])
	switch {
	case b.longest > b.most, b.read > b.often:
		b.release() // it is not decoded
		return 0, fmt.Errorf("%w: it has more than %d bytes; if it should, raise maxBytes of its registration", errTooLarge, b.most)
	case b.peak > maxValues:
		b.release()
		return 0, fmt.Errorf("%w: it has more than %d values", errTooLarge, maxValues)
	case b.peak > freeValues, b.longest > freeBytes:
		if err := b.hold(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// hold waits for the slot, unless the answer holds it.
func (b *limitedBody) hold() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds || b.closed {
		return nil
	}
	b.mu.Unlock()
	var err error
	select {
	case b.slot <- struct{}{}:
	case <-b.ctx.Done():
		err = b.ctx.Err()
	}
	if b.mu.Lock(); err == nil && b.closed {
		<-b.slot
	} else {
		b.holds = err == nil
	}
	return err
}

func (b *limitedBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds {
		b.holds = false
		<-b.slot
	}
}

// Close ends the answer. Only now it is decoded, unless it is a watch.
func (b *limitedBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	if decoded, is := b.ctx.Value(decodedKey{}).(chan struct{}); is && !b.watch {
		go func() { <-decoded; b.release() }()
	} else {
		b.release()
	}
	return b.ReadCloser.Close()
}

// values counts the objects, lists and elements of a JSON document, by the characters that begin and
// separate them. The next document of a watch begins at 0.
type values struct {
	n, peak       int   // of this document, and of the largest in the last part
	size, longest int64 // the same of bytes
	depth, event  int   // event is 1 if documents are events, with an object each
	text, escaped bool  // within a text, after a backslash
}

// count takes over a part of the documents.
func (v *values) count(part []byte) {
	begin := 0
	v.peak, v.longest = 0, 0
	for i, b := range part {
		switch {
		case v.escaped:
			v.escaped = false
		case v.text:
			v.text, v.escaped = b != '"', b == '\\'
		case b == '"':
			v.text = true
		case b == ',':
			if v.n++; v.depth == 2+v.event { // the objects of a list
				v.n += itemValues
			}
		case b == '{', b == '[':
			v.n++
			v.depth++
		case b == '}', b == ']':
			if v.depth--; v.depth <= 0 {
				v.peak, v.longest = max(v.peak, v.n), max(v.longest, v.size+int64(i+1-begin))
				v.n, v.size, v.depth, begin = 0, 0, 0, i+1
			}
		}
	}
	v.size += int64(len(part) - begin)
	v.peak, v.longest = max(v.peak, v.n), max(v.longest, v.size)
}
