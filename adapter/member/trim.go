package member

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of the answers of a member, whose API server is not trusted: a byte of an answer may take
// hundreds of bytes when it is decoded.
const (
	pageSize  = 100       // objects of a page of a list
	maxObject = 4 << 20   // bytes of an object, which an API server bounds by 3 MiB
	maxShort  = 64 << 10  // bytes of an object that is read beside others
	maxOther  = 256 << 10 // bytes of an answer that is not trimmed
	// Of each part of an object so many fields, such as labels, and bytes are decoded, and of each text.
	maxFields = 64
	maxPart   = 16 << 10
	maxText   = 1 << 10
)

// A shape has the fields of a message in protobuf that are decoded, by number. The shape of a
// field is nil if it is no message, or small.
type shape map[uint64]shape

var (
	entries  = shape{} // of a map, by key: those of this library and of Kubernetes
	metadata = shape{1: nil, 3: nil, 5: nil, 6: nil, 7: nil, 8: nil, 9: nil, 11: entries, 12: entries, 13: {1: nil, 3: nil, 4: nil, 5: nil, 6: nil}}
	// conditions have a type, a status, a time, a reason and a message.
	conditions = shape{1: nil, 2: nil, 4: nil, 5: nil, 6: nil}
	waiting    = shape{2: {1: {1: nil, 2: nil}}} // of containers
	// shapes are those of the objects that the hub reads, by version and kind.
	shapes = map[string]shape{
		"batch/v1 Job": {1: metadata, 2: {8: nil, 10: nil}, 3: {1: conditions, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil, 9: nil, 11: nil}},
		"v1 Pod":       {1: metadata, 2: {10: nil}, 3: {1: nil, 2: conditions, 3: nil, 4: nil, 8: waiting, 10: waiting}},
		"v1 Event":     {2: {1: nil, 2: nil, 3: nil}, 3: nil, 4: nil},
		"v1 Namespace": {1: metadata},
		"v1 Status":    {1: {2: nil}, 2: nil, 3: nil, 4: nil, 5: {1: nil, 3: nil, 5: nil, 6: nil}, 6: nil},
	}
)

// kept reports whether an entry of labels or annotations is decoded.
func kept(entry []byte) bool {
	number, _, key, _, ok := next(entry)
	return ok && number == 1 && len(entry) <= maxText && slices.ContainsFunc([]string{"scaledjob.", "k8s.io/", "batch.kubernetes.io/", "job-name", "controller-uid"},
		func(prefix string) bool { return bytes.HasPrefix(key, []byte(prefix)) })
}

// A trimmer leaves of the member's Jobs, pods, events and namespaces the fields that this package
// reads. Whatever the member answers, what is read at once and what is decoded are bounded.
type trimmer struct {
	next http.RoundTripper
	long *sync.Mutex // held while a long object is in memory
}

// RoundTrip returns the trimmed answer.
func (t trimmer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	read := strings.HasPrefix(r.URL.Path, "/api/v1/") || strings.HasPrefix(r.URL.Path, "/apis/batch/v1/")
	if !read || response.StatusCode >= http.StatusMultipleChoices {
		response.Body = &other{response.Body, maxOther}
		return response, nil
	}
	body := response.Body
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/vnd.kubernetes.protobuf" {
		body.Close()
		return nil, fmt.Errorf("the member answers with the content type %q; an API server answers with protobuf", short(kind))
	}
	query := r.URL.Query()
	if watch := query.Get("watch"); watch == "1" || watch == "true" {
		response.Body = &frames{in: bufio.NewReader(body), Closer: body, memory: memory{long: t.long}}
		return response, nil
	}
	defer body.Close()
	most, _ := strconv.Atoi(query.Get("limit"))
	answer, err := (&memory{long: t.long}).trim(bufio.NewReader(body), most)
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(answer)), int64(len(answer))
	return response, nil
}

// An other answer, such as a scale or an error, is decoded as it is, and is short.
type other struct {
	io.ReadCloser
	left int
}

func (o *other) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if o.left -= n; o.left < 0 {
		return 0, fmt.Errorf("the member's answer has more than %d bytes", maxOther)
	}
	return n, err
}

// frames are the events of a watch.
type frames struct {
	in *bufio.Reader
	io.Closer
	memory
	event []byte // the part that has not been read
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.event) == 0 {
		var length [4]byte
		if _, err := io.ReadFull(f.in, length[:]); err != nil {
			return 0, err
		}
		if err := f.take(f.in, uint64(binary.BigEndian.Uint32(length[:])), func(whole []byte) error {
			event, err := trimEvent(whole)
			f.event = append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
			return err
		}); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.event)
	f.event = f.event[n:]
	return n, nil
}

var (
	errMalformed = errors.New("the member's answer is malformed")
	magic        = []byte("k8s\x00")
)

// trimEvent trims the object of an event of a watch.
func trimEvent(event []byte) (trimmed []byte, err error) {
	for len(event) > 0 {
		number, _, value, rest, ok := next(event)
		switch event = rest; {
		case !ok:
			return nil, errMalformed
		case number == 1: // the type
			trimmed = appendField(trimmed, 1, cut(value))
		case number == 2:
			_, _, raw, _, _ := next(value)
			raw, is := bytes.CutPrefix(raw, magic)
			_, _, kind, rest, _ := next(raw)
			_, _, object, _, ok := next(rest)
			if !is || !ok {
				return nil, errMalformed
			}
			of, err := shapeOf(kindOf(kind))
			if err != nil {
				return nil, err
			}
			if object, err = of.trim(object, maxObject); err != nil {
				return nil, err
			}
			trimmed = appendField(trimmed, 2, appendField(nil, 1, appendObject(cut(kind), object)))
		}
	}
	return trimmed, nil
}

func appendObject(kind, object []byte) []byte {
	return appendField(appendField(bytes.Clone(magic), 1, kind), 2, object)
}

func shapeOf(kind string) (shape, error) {
	if of, read := shapes[kind]; read {
		return of, nil
	}
	return nil, fmt.Errorf("the member answers with the kind %q", short(kind))
}

// trim reads an object, or a list of at most so many. The object follows its version and kind.
func (m *memory) trim(in *bufio.Reader, most int) (trimmed []byte, err error) {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil {
		return nil, err
	}
	if !bytes.Equal(begin, magic) {
		return nil, errMalformed
	}
	number, length, err := header(in)
	if err != nil || number != 1 || length > maxText {
		return nil, cmp.Or(err, errMalformed)
	}
	kind := make([]byte, length)
	if _, err := io.ReadFull(in, kind); err != nil {
		return nil, err
	}
	if number, length, err = header(in); err != nil || number != 2 {
		return nil, cmp.Or(err, errMalformed)
	}
	name, list := strings.CutSuffix(kindOf(kind), "List")
	of, err := shapeOf(name)
	switch {
	case err != nil:
	case list:
		trimmed, err = m.list(of, bufio.NewReader(io.LimitReader(in, int64(min(length, 1<<40)))), most)
	default:
		err = m.take(in, length, func(whole []byte) (err error) { trimmed, err = of.trim(whole, maxObject); return err })
	}
	return appendObject(kind, trimmed), err
}

// kindOf returns the version and the kind of an answer, as its member gives them.
func kindOf(message []byte) string {
	var parts [3]string
	for len(message) > 0 {
		number, _, value, rest, ok := next(message)
		if !ok {
			break
		}
		parts[min(number, 2)], message = string(value), rest
	}
	return parts[1] + " " + parts[2]
}

// list trims the objects of a list.
func (m *memory) list(of shape, in *bufio.Reader, most int) (trimmed []byte, err error) {
	for fields := 0; ; fields++ {
		number, length, err := header(in)
		if err == io.EOF {
			return trimmed, nil
		}
		if err != nil {
			return nil, err
		}
		if fields > most { // one is the list's metadata
			return nil, fmt.Errorf("the member lists more objects than the %d that were asked for", most)
		}
		if err := m.take(in, length, func(part []byte) (err error) {
			switch number {
			case 1:
				part, err = shape{2: nil, 3: nil, 4: nil}.trim(part, maxPart)
			case 2:
				part, err = of.trim(part, maxObject)
			default:
				err = errMalformed
			}
			trimmed = appendField(trimmed, number, part)
			return err
		}); err != nil {
			return nil, err
		}
	}
}

// A memory holds the part of an answer that is being read. Long parts of all answers of a member are read in turn.
type memory struct {
	long  *sync.Mutex
	short []byte
}

// take calls use with the next part of an answer.
func (m *memory) take(in io.Reader, length uint64, use func([]byte) error) error {
	var part []byte
	switch {
	case length > maxObject:
		return fmt.Errorf("the member answers with an object of %d bytes; an API server has none of more than %d", length, maxObject)
	case length > maxShort:
		m.long.Lock()
		defer m.long.Unlock()
		part = make([]byte, length)
	default:
		m.short = slices.Grow(m.short[:0], int(length))
		part = m.short[:length]
	}
	if _, err := io.ReadFull(in, part); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return use(part)
}

// trim returns the message with the first fields of the shape.
func (s shape) trim(message []byte, most int) (trimmed []byte, err error) {
	for fields := 0; len(message) > 0 && fields < maxFields && len(trimmed) < most; {
		number, kind, value, rest, ok := next(message)
		if !ok {
			return nil, errMalformed
		}
		field := message[:len(message)-len(rest)]
		message = rest
		sub, read := s[number]
		entry := len(sub) == 0 && sub != nil
		switch {
		case !read, entry && !kept(value):
			continue
		case kind != bytesKind:
			trimmed = append(trimmed, field...)
		case sub == nil:
			trimmed = appendField(trimmed, number, cut(value))
		case entry:
			trimmed = appendField(trimmed, number, value)
		default:
			if value, err = sub.trim(value, maxPart); err != nil {
				return nil, err
			}
			trimmed = appendField(trimmed, number, value)
		}
		fields++
	}
	return trimmed, nil
}

// Kinds of fields in protobuf.
const (
	varintKind = 0
	fixed64    = 1
	bytesKind  = 2
	fixed32    = 5
)

// next returns the first field of a message, and what follows.
func next(message []byte) (number uint64, kind byte, value, rest []byte, ok bool) {
	tag, n := binary.Uvarint(message)
	if n <= 0 {
		return 0, 0, nil, nil, false
	}
	number, kind, rest = tag>>3, byte(tag&7), message[n:]
	length := uint64(0)
	switch kind {
	case varintKind:
		_, n := binary.Uvarint(rest)
		length = uint64(max(0, n))
		ok = n > 0
	case fixed64, fixed32:
		length, ok = map[byte]uint64{fixed64: 8, fixed32: 4}[kind], true
	case bytesKind:
		if length, n = binary.Uvarint(rest); n > 0 {
			rest, ok = rest[n:], true
		}
	}
	if !ok || length > uint64(len(rest)) {
		return 0, 0, nil, nil, false
	}
	return number, kind, rest[:length], rest[length:], true
}

// header reads the begin of a field of bytes.
func header(in *bufio.Reader) (number, length uint64, err error) {
	tag, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, 0, err
	}
	if tag&7 != bytesKind {
		return 0, 0, errMalformed
	}
	if length, err = binary.ReadUvarint(in); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return tag >> 3, length, err
}

func appendField(to []byte, number uint64, value []byte) []byte {
	to = binary.AppendUvarint(to, number<<3|bytesKind)
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

func cut(text []byte) []byte { return text[:min(len(text), maxText)] }
