package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
)

// A queue holds the reports of the triggers over time.
type queue []sample

// A sample is the length of each trigger's queue from a time on.
type sample struct {
	at      time.Duration
	lengths []float64
}

// at returns the lengths at a time; before the first sample they are 0.
func (q queue) at(t time.Duration) []float64 {
	lengths := make([]float64, len(q[0].lengths))
	for _, s := range q {
		if s.at <= t {
			lengths = s.lengths
		}
	}
	return lengths
}

// readQueue reads lengths separated by commas, one for each poll, or a CSV file.
func readQueue(text string, c scaledjob.Config) (queue, error) {
	_, err := strconv.ParseFloat(strings.TrimSpace(strings.Split(text, ",")[0]), 64)
	isFile := err != nil && (strings.EqualFold(filepath.Ext(text), ".csv") || !strings.Contains(text, ","))
	if isFile {
		return readCSV(text, c)
	}
	if len(c.Triggers) > 1 {
		return nil, fmt.Errorf("%s: the ScaledJob has %d triggers: want a CSV file with a column for each", text, len(c.Triggers))
	}
	var q queue
	for i, field := range strings.Split(text, ",") {
		n, err := length(field)
		if err != nil {
			return nil, fmt.Errorf("%s: poll %d: %w", text, i+1, err)
		}
		q = append(q, sample{time.Duration(i) * c.PollingInterval, []float64{n}})
	}
	return q, nil
}

func readCSV(path string, c scaledjob.Config) (queue, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%q: neither queue lengths such as 0,3,6,3 nor a CSV file: %w", path, err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s: want a header and at least one row", path)
	}
	columns, err := columnsOf(rows[0], c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var q queue
	for i, row := range rows[1:] {
		s, err := sampleOf(row, columns)
		if err == nil && i > 0 && s.at <= q[i-1].at {
			err = errors.New("want a later time than the row before")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+2, err)
		}
		q = append(q, s)
	}
	return q, nil
}

// columnsOf returns the column of each trigger.
func columnsOf(header []string, c scaledjob.Config) ([]int, error) {
	columns := make([]int, len(c.Triggers))
	want := []string{"time"}
	for i, t := range c.Triggers {
		columns[i] = slices.Index(header, t.Name)
		want = append(want, t.Name)
	}
	if header[0] != "time" || slices.Contains(columns, -1) || len(header) != len(want) {
		return nil, fmt.Errorf("the header is %s: want %s", strings.Join(header, ","), strings.Join(want, ","))
	}
	return columns, nil
}

func sampleOf(row []string, columns []int) (sample, error) {
	s := sample{lengths: make([]float64, len(columns))}
	seconds, err := strconv.ParseFloat(row[0], 64)
	if err == nil && seconds >= 0 && seconds < math.MaxInt64/1e9 {
		s.at = time.Duration(seconds * float64(time.Second))
	} else if s.at, err = time.ParseDuration(row[0]); err != nil || s.at < 0 {
		return s, fmt.Errorf("time %q: want seconds or a duration such as 1m30s, not negative", row[0])
	}
	for i, column := range columns {
		if s.lengths[i], err = length(row[column]); err != nil {
			return s, err
		}
	}
	return s, nil
}

func length(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("queue length %q: want a number of 0 or more", text)
	}
	return n, nil
}
