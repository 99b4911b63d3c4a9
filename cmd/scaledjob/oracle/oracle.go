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

	"github.com/scaledjob/scaledjob/keda"
)

// most is how long a line may be, with all the Jobs of a large namespace.
const most = 64 << 20

// Run answers the lines of in on out, and returns how many of them could not be
// read. An error is one of reading or writing.
func Run(in io.Reader, out io.Writer) (unreadable int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), most)
	w := bufio.NewWriter(out)
	answers := json.NewEncoder(w)
	answers.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		data := bytes.TrimSpace(lines.Bytes())
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
		err = fmt.Errorf("line %d: longer than %d bytes", n+1, most)
	}
	return unreadable, errors.Join(err, w.Flush())
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

// Answer answers one line with a value that can be marshaled. It is an error if
// the line cannot be read.
func Answer(data []byte) (any, error) {
	l, err := parse(data)
	if err != nil {
		return nil, err
	}
	if l.ID == nil {
		l.ID = json.RawMessage("null")
	}
	if l.As == "core" {
		answer, ok := coreKinds[l.Kind]
		if !ok {
			return nil, unknown(l.Kind, coreKinds)
		}
		return answer(l)
	}
	release, ok := strings.CutPrefix(l.As, "keda@")
	if !ok {
		return nil, fmt.Errorf(`as: found %q: want "core", or a release of KEDA such as "keda@2.21"`, l.As)
	}
	profile, err := keda.Release(release)
	if err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	answer, ok := kedaKinds[l.Kind]
	if !ok {
		return nil, unknown(l.Kind, kedaKinds)
	}
	q := l.ask(profile)
	if since := q.unsupported(); since != "" {
		return unsupported{l.ID, "since " + since}, nil
	}
	return answer(q), nil
}

func unknown[F any](kind string, known map[string]F) error {
	return fmt.Errorf("kind: found %q: want none, or one of %s", kind, strings.Join(slices.Sorted(maps.Keys(known))[1:], ", "))
}
