package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
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

// smaller lists a page of at most pageSize objects, and of fewer while the answer is too large.
func smaller[L any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error)) (L, error) {
	for o.Limit = min(o.Limit, pageSize); ; o.Limit /= 10 {
		if there, err := list(ctx, o); o.Limit < 10 || !errors.Is(err, errTooLarge) {
			return there, err
		}
	}
}

// A limited bounds the answers of a member.
type limited struct {
	next http.RoundTripper
	most int64
}

// RoundTrip sends the request.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b := &limitedBody{ReadCloser: response.Body, most: l.most, begin: time.Now()}
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		b.watch, b.most = true, max(b.most, b.most*watches) // which may overflow
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
	most, read int64
	watch      bool
	begin      time.Time // of the present minute
	values
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.watch && time.Since(b.begin) > time.Minute {
		b.begin, b.read = time.Now(), 0
	}
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.most {
		return 0, fmt.Errorf("%w: it has more than %d bytes; if it should, raise maxBytes of its registration", errTooLarge, b.most)
	}
	if !b.count(p[:n]) {
		return 0, fmt.Errorf("%w: it has more than %d values", errTooLarge, maxValues)
	}
	return n, err
}

// values counts the objects, lists and elements of a JSON document, by the characters that begin and
// separate them. The next document of a watch begins at 0.
type values struct {
	n, depth      int
	text, escaped bool // within a text, after a backslash
}

// count takes over a part of the documents, and reports whether each is within the bound.
func (v *values) count(part []byte) bool {
	for _, b := range part {
		switch {
		case v.escaped:
			v.escaped = false
		case v.text:
			v.text, v.escaped = b != '"', b == '\\'
		case b == '"':
			v.text = true
		case b == ',':
			if v.n++; v.depth == 2 { // the objects of a list
				v.n += itemValues
			}
		case b == '{', b == '[':
			v.n++
			v.depth++
		case b == '}', b == ']':
			if v.depth--; v.depth <= 0 && v.n <= maxValues {
				*v = values{}
			}
		}
	}
	return v.n <= maxValues
}
