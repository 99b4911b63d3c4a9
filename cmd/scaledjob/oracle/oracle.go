package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// most is the largest length of a line in bytes, for the Jobs of a large namespace.
const maxLine = 64 << 20

// Run answers the lines of in on out, and returns the number of unreadable lines. It
// returns an error if reading in or writing out fails.
func Run(in io.Reader, out io.Writer) (unreadable int, err error) {
	w := bufio.NewWriter(out)
	lines := bufio.NewScanner(flusher{in, w})
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	answers := json.NewEncoder(w)
	answers.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		data := lines.Bytes()
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 {
			continue
		}
		answer, err := Answer(data)
		if err != nil {
			unreadable++
			answer = failed{idOf(data), n, err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			return unreadable, err
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	}
	return unreadable, errors.Join(err, w.Flush())
}

// A flusher reads, and writes all answers before. A program that waits for an answer
// before its next question gets the answer.
type flusher struct {
	io.Reader
	answers *bufio.Writer
}

// Read flushes the answers and reads.
func (f flusher) Read(p []byte) (int, error) {
	if err := f.answers.Flush(); err != nil {
		return 0, err
	}
	return f.Reader.Read(p)
}

type failed struct {
	ID    json.RawMessage `json:"id"`
	Line  int             `json:"line"` // from 1
	Error string          `json:"error"`
}

type unsupported struct {
	ID          json.RawMessage `json:"id"`
	Unsupported string          `json:"unsupported"`
}

type panics struct {
	ID    json.RawMessage `json:"id"`
	Panic bool            `json:"panic"`
	Fault string          `json:"fault"`
	Trace string          `json:"trace,omitempty"`
}

// Answer returns the answer to a line, which can be marshaled. If the line cannot be
// read, the error joins a [*field.Error] for each problem.
func Answer(data []byte) (any, error) {
	l, err := read(data)
	if l.ID == nil {
		l.ID = json.RawMessage("null")
	}
	var problems field.Errors
	problems.Join("", err)
	if l.Stuck != nil && l.AgesUnknown {
		problems.Add(field.Error{Path: "stuck", Found: fmt.Sprintf("%d, while agesUnknown is true", *l.Stuck), Fix: "only one of the two"})
	}
	answer, err := l.answer()
	problems.Join("", err)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return answer, nil
}

func (l *line) answer() (any, error) {
	if l.Release == "" || l.Release == "spec" {
		answer, err := kindOf(l.Kind, coreKinds)
		if err != nil {
			return nil, err
		}
		return answer(l)
	}
	var problems field.Errors
	profile, err := keda.Release(l.Release)
	problems.Check(err == nil, "release", l.Release, fmt.Sprintf(`"spec", or a release of KEDA from 2.0 to %s, such as "2.21" or "2.14.1"`, keda.Newest().Release()))
	answer, err := kindOf(l.Kind, kedaKinds)
	problems.Join("", err)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	q := l.ask(profile)
	if first := q.unsupported(); first != "" {
		return unsupported{l.ID, "since " + first}, nil
	}
	return answer(q), nil
}

func kindOf[F any](kind string, fields map[string]F) (F, error) {
	var problems field.Errors
	answer, ok := fields[kind]
	problems.Check(ok, "kind", kind, "none, or one of "+strings.Join(slices.Sorted(maps.Keys(fields))[1:], ", "))
	return answer, problems.Err()
}

// idOf returns the id of the first object of a line, or null if it cannot be read.
func idOf(data []byte) json.RawMessage {
	var l struct{ ID json.RawMessage }
	if json.NewDecoder(bytes.NewReader(data)).Decode(&l) != nil || l.ID == nil {
		return json.RawMessage("null")
	}
	return l.ID
}
