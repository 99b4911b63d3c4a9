// Package recording has what other autoscalers did, poll by poll: the controller of the HPA, and the executor
// of KEDA. The tests of test/conformance run them and write testdata/recordings; the tests of horizontal
// and keda replay the files, without their code.
package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/testdata"
)

// A HorizontalSequence has polls of one autoscaler.
type HorizontalSequence []HorizontalPoll

// A HorizontalPoll is what the controller of the HPA read and did.
type HorizontalPoll struct {
	Policy      horizontal.Policy      `json:"policy"`
	Started     bool                   `json:"started,omitempty"` // the controller forgot its recommendations and changes before it
	Observation horizontal.Observation `json:"observation"`
	Replicas    int32                  `json:"replicas"` // afterwards
	Wrote       bool                   `json:"wrote,omitempty"`
	// Reasons are those of the conditions afterwards. That of AbleToScale is the decision's if nothing was written.
	Reasons map[string]string `json:"reasons"`
}

// A KEDASequence has polls of one ScaledJob. The Jobs of a poll are those of the poll before and those that
// it created, without those that it deleted; they start and finish between polls.
type KEDASequence struct {
	ScaledJob keda.ScaledJob `json:"scaledJob"`
	Polls     []KEDAPoll     `json:"polls"`
}

// A KEDAPoll is what the executor of KEDA read and did.
type KEDAPoll struct {
	Scalers     []keda.Scaler `json:"scalers"`
	Jobs        []keda.Job    `json:"jobs"`
	JobsUnknown bool          `json:"jobsUnknown,omitempty"` // no Job could be listed
	Created     int64         `json:"created"`
	Panicked    bool          `json:"panicked,omitempty"` // the process would have ended
	Deleted     []string      `json:"deleted,omitempty"`
}

const suffix = ".jsonl.gz"

// Read returns the sequences of a recording: horizontal or keda.
func Read[T any](name string) (sequences []T, err error) {
	text, err := unpack(name)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var s T
		if err := decoder.Decode(&s); err == io.EOF {
			return sequences, nil
		} else if err != nil {
			return nil, err
		}
		sequences = append(sequences, s)
	}
}

// Check returns an error if the recording of a name does not have exactly these sequences. If RECORDINGS in the environment
// names a directory, it writes the file there instead.
func Check[T any](name string, sequences []T) error {
	var text bytes.Buffer
	for _, s := range sequences {
		if err := json.NewEncoder(&text).Encode(s); err != nil {
			return err
		}
	}
	if directory := os.Getenv("RECORDINGS"); directory != "" {
		return pack(filepath.Join(directory, name+suffix), text.Bytes())
	}
	before, err := unpack(name)
	if err == nil && !bytes.Equal(before, text.Bytes()) {
		err = errors.New(name + ": other sequences are recorded today: make recordings")
	}
	return err
}

func pack(path string, text []byte) error {
	var data bytes.Buffer
	w, err := gzip.NewWriterLevel(&data, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return errors.Join(err, w.Close(), os.WriteFile(path, data.Bytes(), 0o644))
}

// unpack returns the text, which is compared: its compressed form depends on the version of Go.
func unpack(name string) ([]byte, error) {
	data, err := testdata.Files.ReadFile("recordings/" + name + suffix)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
