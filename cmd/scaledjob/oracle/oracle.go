// Package oracle answers questions in JSON with the decisions of the ScaledJob
// specification and of each release of KEDA. Implementations in any language can be
// compared with them. A question is a line, and so is its answer: see the
// example of Run.
//
// [Fields] documents them. A line of each kind with its answer is in testdata.
package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
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

// Fields documents the questions and the answers.
//
//go:embed fields.txt
var Fields string

// maxLine is the largest length of a line in bytes, for the Jobs of a large namespace.
const maxLine = 64 << 20

// Run answers the lines of in on out, each with a write of its own, and returns the number of unreadable
// lines. It returns an error if reading in or writing out fails.
func Run(in io.Reader, out io.Writer) (unreadable int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
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
			answer = pairs{"line", n, "error", err.Error()}.encode(idOf(data))
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return unreadable, err
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	}
	return unreadable, err
}

// pairs are the fields of an answer: names and values in turn.
type pairs []any

// encode returns the answer to the question with this id.
func (p pairs) encode(id string) []byte {
	var line bytes.Buffer
	values := json.NewEncoder(&line)
	values.SetEscapeHTML(false)
	line.WriteString(`{"id":` + id)
	for i := 0; i < len(p); i += 2 {
		fmt.Fprintf(&line, ",%q:", p[i])
		_ = values.Encode(p[i+1])     // has no value that cannot be encoded
		line.Truncate(line.Len() - 1) // its newline
	}
	line.WriteByte('}')
	return line.Bytes()
}

// faulty returns the fields, or the fault of a release whose operator panics.
func (p pairs) faulty(f keda.Fault) pairs {
	switch {
	case f.Panics():
		return pairs{"panic", true, "fault", f.String()}
	case f == keda.WrapsAround:
		return append(p, "wrapsAround", true)
	}
	return p
}

// Answer returns the answer to a line. If the line cannot be read, the error joins a
// [*field.Error] for each problem.
func Answer(data []byte) ([]byte, error) {
	var problems field.Errors
	l, err := read(data)
	problems.Join("", err)
	answer, err := l.answer()
	problems.Join("", err)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return answer.encode(cmp.Or(string(l.ID), "null")), nil
}

func (l *line) answer() (pairs, error) {
	if cmp.Or(l.Release, "spec") == "spec" {
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
	q := &question{l, profile, l.scaledJob(profile), l.scalers()}
	if first := q.unsupported(); first != "" {
		return pairs{"unsupported", "since " + first}, nil
	}
	return answer(q), nil
}

func kindOf[F any](kind string, fields map[string]F) (F, error) {
	var problems field.Errors
	answer, ok := fields[cmp.Or(kind, "create")]
	problems.Check(ok, "kind", kind, "none, or one of "+strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
	return answer, problems.Err()
}

// idOf returns the id of the first object of a line, or null if it cannot be read.
func idOf(data []byte) string {
	var l struct{ ID json.RawMessage }
	if json.NewDecoder(bytes.NewReader(data)).Decode(&l) != nil {
		return "null"
	}
	return cmp.Or(string(l.ID), "null")
}
