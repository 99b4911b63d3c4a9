package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Results of a mutant, and reasons that are not the name of a test.
const (
	killed      = "killed"
	survived    = "survived"
	notCompiled = "not compiled"

	notCovered = "not covered"
	timedOut   = "timeout"
)

// A record is a line of the file of results.
type record struct {
	mutant
	Hash string `json:"hash"` // of the sources of the package and its tests
	outcome
}

// id identifies the mutant of a record.
func (r *record) id() string { return r.Hash + " " + r.position() + " " + r.change() }

// A store is the file of results. An interrupted run leaves its results there.
type store struct {
	mutex sync.Mutex
	file  *os.File
	known map[string]outcome // by id
}

// openStore opens a file of results. It drops the results of the tasks' packages
// that have another hash.
func openStore(name string, tasks []*task) (*store, error) {
	hashes := map[string]string{}
	for _, t := range tasks {
		hashes[t.path] = t.hash
	}
	s := &store{known: map[string]outcome{}}
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept bytes.Buffer
	for lines := bufio.NewReader(bytes.NewReader(b)); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // also drops a last line that was not written to its end
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w; remove the file", name, err)
		}
		if hash, running := hashes[r.Package]; !running || hash == r.Hash {
			s.known[r.id()] = r.outcome
			kept.Write(line)
		}
	}
	if err := os.WriteFile(name+".new", kept.Bytes(), 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return nil, err
	}
	s.file, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	return s, err
}

// add appends a result.
func (s *store) add(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known[r.id()] = r.outcome
	_, err = s.file.Write(append(b, '\n'))
	return err
}
