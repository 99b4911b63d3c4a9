// Package trace reads the arrivals of a queue: CSV, JSON, or the answer of a Prometheus range query.
package trace

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/simulation"
)

const traceHelp = "use CSV with the columns time, items and service, JSON with the same keys, or the answer of a Prometheus range query"

// A sample is a row of a trace, before times are relative to the first.
type sample struct {
	at       time.Duration // since the start, or if absolute since 1970
	absolute bool
	items    float64
	service  simulation.Duration
}

// Read reads the arrivals of a file. Its numbers are items, a rate of items per second, a counter, or ""
// for what the form of the file means. fractions reports whether a number of items is not whole.
func Read(name, as string) (all []simulation.Arrival, fractions bool, err error) {
	if !slices.Contains([]string{"", "items", rateOfItems, counterOfItems}, as) {
		return nil, false, input.Usagef("--trace-as %q: use items, rate or counter", as)
	}
	file, err := input.ReadSource(name, nil, input.MaxFile)
	if err != nil {
		return nil, false, err
	}
	samples, prometheus, err := samplesIn(file.Data, as)
	if err != nil {
		return nil, false, inFile(name, err)
	}
	if !prometheus && (as == rateOfItems || as == counterOfItems) {
		slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
		if samples, err = between(nil, samples, as == counterOfItems); err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	fractions = slices.ContainsFunc(samples, func(s sample) bool { return s.items != math.Trunc(s.items) })
	if err := fromTheFirst(samples); err != nil {
		return nil, false, inFile(name, err)
	}
	if all = whole(samples); len(all) == 0 {
		return nil, false, inFile(name, errors.New(" no items; use rows with at least one item in all"))
	}
	return all, fractions, nil
}

// Values of the meaning of the numbers in a trace.
const (
	rateOfItems    = "rate"
	counterOfItems = "counter"
)

func samplesIn(data []byte, as string) (samples []sample, prometheus bool, err error) {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return nil, false, errors.New(" the file is empty; " + traceHelp)
	case text[0] == '[':
		samples, err = samplesOfJSON(text)
	case text[0] == '{':
		prometheus = true
		samples, err = samplesOfPrometheus(text, as)
	default:
		samples, err = samplesOfCSV(data)
	}
	return samples, prometheus, err
}

// inFile puts the name of the file in front of each of the first errors.
func inFile(name string, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s:%w", name, err)
	}
	const most = 10
	var all []error
	for i, e := range joined.Unwrap() {
		if i == most {
			all = append(all, fmt.Errorf("%s: %d more errors", name, len(joined.Unwrap())-most))
			break
		}
		all = append(all, fmt.Errorf("%s:%w", name, e))
	}
	return errors.Join(all...)
}

// samplesOfCSV reads rows. The first may name the columns; otherwise they are time,
// items and service.
func samplesOfCSV(data []byte) (samples []sample, err error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	samples = make([]sample, 0, bytes.Count(data, []byte("\n"))+1)
	first, _, _ := bytes.Cut(data, []byte("\n"))
	for _, comma := range "\t;" {
		if n := bytes.Count(first, []byte{byte(comma)}); n > bytes.Count(first, []byte(",")) {
			r.Comma = comma
		}
	}
	r.TrimLeadingSpace = r.Comma != '\t' // which would be trimmed, too
	var columns []string
	var problems []error
	form := ""
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return samples, errors.Join(problems...)
		}
		if err != nil {
			return nil, fmt.Errorf(" %w", err)
		}
		line, _ := r.FieldPos(0)
		if columns == nil {
			names, err := headerOf(row)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", line, err)
			}
			if columns = names; columns != nil {
				continue
			}
			columns = columnNames[:min(len(columnNames), len(row))]
		}
		for i := range row {
			if r.Comma == ';' && i < len(columns) && columns[i] != "items" {
				row[i] = strings.ReplaceAll(row[i], ",", ".") // a decimal comma
			}
		}
		s, err := sampleOf(columns, row, &form)
		for _, problem := range input.Problems(err) {
			problems = append(problems, fmt.Errorf("%d: %w", line, problem))
		}
		samples = append(samples, s)
	}
}

var columnNames = []string{"time", "items", "service"}

// columnForms are the names that databases, data frames and spreadsheets give these columns.
var columnForms = map[string][]string{
	"time": {"time", "timestamp", "ts", "date", "datetime", "arrival", "arrival_time", "arrived_at", "created_at", "created", "enqueued_at", "received_at",
		"submit_time", "submitted_at", "start_time", "event_time"},
	"items":   {"items", "count", "n", "number", "messages", "jobs", "requests", "value"},
	"service": {"service", "service_time", "duration", "runtime", "run_time", "processing_time", "elapsed", "seconds"},
}

func columnOf(name string) string {
	name = strings.ToLower(strings.Trim(strings.TrimSpace(name), "\"'"))
	name = strings.NewReplacer(" ", "_", "-", "_", ".", "_").Replace(name)
	for column, forms := range columnForms {
		if slices.Contains(forms, name) {
			return column
		}
	}
	return ""
}

// headerOf returns the names in the first row, or nil if it holds values.
func headerOf(row []string) ([]string, error) {
	if _, _, err := instant(row[0], new(string)); err == nil {
		return nil, nil
	}
	return columnsOf(row)
}

// columnsOf returns what the columns of these names mean. Others are "", and are not read.
func columnsOf(row []string) (columns []string, err error) {
	for _, name := range row {
		column := columnOf(name)
		if column != "" && slices.Contains(columns, column) {
			return nil, fmt.Errorf("found the column %s twice; use it once", column)
		}
		columns = append(columns, column)
	}
	if !slices.Contains(columns, "time") {
		return nil, errors.New("no column time; use time,items, or names such as timestamp, count and duration")
	}
	return columns, nil
}

// sampleOf reads a row, whose time is probably in a form; see instant.
func sampleOf(columns, row []string, form *string) (s sample, err error) {
	if len(row) != len(columns) {
		return s, fmt.Errorf("found %d values; use %d, for %s", len(row), len(columns), strings.Join(columns, ", "))
	}
	s.items = 1
	var problems []error
	for i, column := range columns {
		var err error
		switch text := strings.TrimSpace(row[i]); column {
		case "time":
			s.at, s.absolute, err = instant(text, form)
		case "items":
			s.items, err = amount(text)
		case "service":
			if text != "" {
				s.service, err = lasting(text)
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", column, err))
		}
	}
	return s, errors.Join(problems...)
}

// samplesOfJSON reads a list of objects with the names of the columns, or of times alone.
func samplesOfJSON(data []byte) (samples []sample, err error) {
	var rows []any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil || d.More() {
		return nil, fmt.Errorf(" invalid JSON; %s", traceHelp)
	}
	var problems []error
	for i, row := range rows {
		s, err := sampleOfJSON(row)
		for _, problem := range input.Problems(err) {
			problems = append(problems, fmt.Errorf(" [%d]: %w", i, problem))
		}
		samples = append(samples, s)
	}
	return samples, errors.Join(problems...)
}

func sampleOfJSON(row any) (s sample, err error) {
	if _, list := row.([]any); list || row == nil {
		return s, errors.New(`found no object; use one such as {"time": 0, "items": 1}`)
	}
	fields, ok := row.(map[string]any)
	if !ok {
		fields = map[string]any{"time": row}
	}
	var names, values []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fields[name]; value != nil {
			text, err := json.Marshal(value)
			if err != nil {
				return s, err
			}
			if quoted, ok := value.(string); ok {
				text = []byte(quoted)
			}
			names, values = append(names, name), append(values, string(text))
		}
	}
	columns, err := columnsOf(names)
	if err != nil {
		return s, err
	}
	return sampleOf(columns, values, new(string))
}

// fromTheFirst sorts samples, and makes absolute times relative to the first.
func fromTheFirst(samples []sample) error {
	absolute := 0
	for i := range samples {
		if samples[i].absolute {
			absolute++
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	switch absolute {
	case 0:
	case len(samples):
		first := samples[0].at
		for i := range samples {
			samples[i].at -= first
		}
	default:
		return errors.New(" found times since the start and times of day; use the same kind in all rows")
	}
	return nil
}

// whole returns arrivals of whole items. A fraction is carried to the next row, so that
// the sum is right.
func whole(samples []sample) (all []simulation.Arrival) {
	sum, given := 0.0, 0.0
	all = make([]simulation.Arrival, 0, len(samples))
	for _, s := range samples {
		sum += s.items
		if n := math.Floor(sum+1e-9) - given; n >= 1 {
			given += n
			all = append(all, simulation.Arrival{At: simulation.Duration(s.at), Items: int64(n), Service: s.service})
		}
	}
	return all
}
