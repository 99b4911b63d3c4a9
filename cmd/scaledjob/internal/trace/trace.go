// Package trace reads the arrivals and the measured lengths of a queue: CSV, JSON, or the answer
// of a Prometheus range query.
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
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

const traceHelp = "use CSV with the columns time, items and service, JSON with the same keys, or the answer of a Prometheus range query"

// A sample is a row of a trace, before times are relative to the first.
type sample struct {
	at      time.Duration // since the start; of a time since 1970 the complement, which is below 0
	items   float64
	service simulation.Duration
}

// Read reads the arrivals of a file, and when the first of them was, since 1970; 0 if
// the times are offsets.
func Read(name, as string) (all []simulation.Arrival, began time.Duration, err error) {
	if as != "" && as != "rate" && as != "counter" {
		return nil, 0, input.Usagef("--trace-as %q: use rate or counter", as)
	}
	samples, streamed, err := stream(name)
	if !streamed {
		var file input.Source
		if file, err = input.ReadSource(name, nil, input.MaxFile); err != nil {
			return nil, 0, err
		}
		samples, err = samplesIn(file.Data, func(data []byte) ([]sample, error) { return samplesOfPrometheus(data, as) })
	}
	if all, began, err = arrivals(samples, err); err != nil {
		return nil, 0, inFile(name, err)
	}
	return all, began, nil
}

// stream reads the rows of a CSV file without its text in memory. streamed is false if the file is
// not CSV in UTF-8 without a mark, or cannot be read.
func stream(name string) (samples []sample, streamed bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	text := bytes.TrimSpace(head)
	if err != nil || !info.Mode().IsRegular() || info.Size() > input.MaxFile || len(text) == 0 || text[0] == '[' || text[0] == '{' || text[0] >= utf8.RuneSelf || text[0] == 0 || bytes.IndexByte(head, 0) >= 0 {
		return nil, false, err
	}
	rows := int(float64(bytes.Count(head, []byte("\n"))+1) * float64(info.Size()) / float64(n) * 1.05)
	samples, err = samplesOfCSV(io.MultiReader(bytes.NewReader(head), f), head, rows)
	return samples, !errors.Is(err, errNotText), err
}

var errNotText = errors.New("not text")

// arrivalsIn is Read for the content of a file.
func arrivalsIn(data []byte, as string) ([]simulation.Arrival, time.Duration, error) {
	return arrivals(samplesIn(data, func(data []byte) ([]sample, error) { return samplesOfPrometheus(data, as) }))
}

func arrivals(samples []sample, err error) (all []simulation.Arrival, began time.Duration, _ error) {
	if err == nil {
		samples, began, err = fromTheFirst(samples)
	}
	if err != nil {
		return nil, 0, err
	}
	if all = whole(samples); len(all) == 0 {
		return nil, 0, errors.New(" no items; use rows with at least one item in all")
	}
	return all, began, nil
}

// readSamples reads the rows of a file, and the answer of Prometheus by a function.
func readSamples(name string, prometheus func(data []byte) ([]sample, error)) (samples []sample, err error) {
	file, err := input.ReadSource(name, nil, input.MaxFile)
	if err != nil {
		return nil, err
	}
	if samples, err = samplesIn(file.Data, prometheus); err != nil {
		return nil, inFile(name, err)
	}
	return samples, nil
}

// samplesIn is readSamples for the content of a file.
func samplesIn(data []byte, prometheus func(data []byte) ([]sample, error)) ([]sample, error) {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return nil, errors.New(" the file is empty; " + traceHelp)
	case text[0] == '[':
		return samplesOfJSON(text)
	case text[0] == '{':
		return prometheus(text)
	}
	return samplesOfCSV(bytes.NewReader(data), data, bytes.Count(data, []byte("\n"))+1)
}

// inFile puts the name of the file in front of each of the first errors.
func inFile(name string, err error) error {
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
// items and service. head is the start of the text, and rows about their number.
func samplesOfCSV(text io.Reader, head []byte, rows int) (samples []sample, err error) {
	r := csv.NewReader(text)
	r.TrimLeadingSpace, r.FieldsPerRecord, r.ReuseRecord = true, -1, true
	samples = make([]sample, 0, rows)
	if first, _, _ := bytes.Cut(head, []byte("\n")); bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		r.Comma = ';'
	}
	var columns []string
	var problems []error
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return samples, errors.Join(problems...)
		}
		if err != nil {
			return nil, fmt.Errorf(" %w", err)
		}
		if slices.ContainsFunc(row, func(s string) bool { return !utf8.ValidString(s) }) {
			return nil, errNotText
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
		s, err := sampleOf(columns, row)
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

// columnOf returns the column that a name means, or "".
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
	if _, _, err := instant(row[0]); err == nil {
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

func sampleOf(columns, row []string) (s sample, err error) {
	if len(row) != len(columns) {
		return s, fmt.Errorf("found %d values; use %d, for %s", len(row), len(columns), strings.Join(columns, ", "))
	}
	s.items = 1
	var problems []error
	for i, column := range columns {
		var err error
		switch text := strings.TrimSpace(row[i]); column {
		case "time":
			s.at, err = mark(instant(text))
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
	return sampleOf(columns, values)
}

// samplesOfPrometheus reads the answer of a range query. A series is a counter of
// messages if its name ends with _total or _count, or if the user says so; a series
// without a name is a rate of items per second, as rate() returns.
func samplesOfPrometheus(data []byte, as string) (samples []sample, err error) {
	answer, err := rangeQuery(data)
	if err != nil {
		return nil, err
	}
	var problems []error
	for i, series := range answer {
		name := series.Metric["__name__"]
		kind := as
		if kind == "" {
			switch {
			case strings.HasSuffix(name, "_total"), strings.HasSuffix(name, "_count"):
				kind = "counter"
			case name == "":
				kind = "rate"
			default:
				problems = append(problems, fmt.Errorf(" data.result[%d]: %s may be a rate or a counter; use --trace-as rate or --trace-as counter", i, name))
				continue
			}
		}
		var points []sample
		for k, v := range series.Values {
			p, err := pointOf(v)
			if err != nil {
				problems = append(problems, fmt.Errorf(" data.result[%d].values[%d]: %w", i, k, err))
			}
			points = append(points, p)
		}
		if len(problems) > 0 {
			continue
		}
		if samples, err = between(samples, points, kind == "counter"); err != nil {
			return nil, fmt.Errorf(" data.result[%d]: %w", i, err)
		}
	}
	if len(problems) == 0 && len(samples) == 0 {
		problems = append(problems, errors.New(" no values; use a query that returns at least two points"))
	}
	return samples, errors.Join(problems...)
}

// A series is a time series of a range query's answer.
type series struct {
	Metric map[string]string
	Values [][2]any
}

// rangeQuery reads the answer of a Prometheus range query.
func rangeQuery(data []byte) ([]series, error) {
	var answer struct {
		Data struct {
			ResultType string
			Result     []series
		}
		Error string
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil || answer.Error == "" && answer.Data.ResultType == "":
		return nil, fmt.Errorf(" neither a trace nor the answer of a Prometheus range query; %s", traceHelp)
	case answer.Error != "":
		return nil, fmt.Errorf(" Prometheus answered %q; use the answer of a query without an error", answer.Error)
	case answer.Data.ResultType != "matrix":
		return nil, fmt.Errorf(" found the result type %q; use matrix, from /api/v1/query_range", answer.Data.ResultType)
	}
	return answer.Data.Result, nil
}

// pointOf reads a time and a value, which Prometheus writes as text.
func pointOf(v [2]any) (p sample, err error) {
	seconds, isNumber := v[0].(float64)
	text, isText := v[1].(string)
	p.items, err = strconv.ParseFloat(text, 64)
	if !isNumber || !(seconds >= 0 && seconds < latest) || !isText || err != nil || !(p.items >= 0 && p.items <= math.MaxFloat64) {
		return p, fmt.Errorf("found %v; use a time and a number of 0 or more as text", v)
	}
	p.at = ^time.Duration(seconds * float64(time.Second))
	return p, nil
}

// mostSamples is the most items of a Prometheus answer.
const mostSamples = 1e7

// between appends the items that arrived from each point to the next, at even distances.
// A counter that falls was reset to 0.
func between(samples, points []sample, counter bool) ([]sample, error) {
	owed := 0.0
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		gap := from.at - to.at // complements
		items := from.items * gap.Seconds()
		if counter {
			if items = to.items - from.items; items < 0 {
				items = to.items
			}
		}
		if float64(len(samples))+items > mostSamples {
			return nil, errors.New("found more than 1e7 items; use a shorter time, or CSV with the number of items in each row")
		}
		before := owed
		owed += items
		n := 1.0
		for ; n <= owed+1e-9; n++ {
			s := from
			s.at -= time.Duration(float64(gap) * (n - before) / items)
			s.items = 1
			samples = append(samples, s)
		}
		owed = max(0, owed-(n-1))
	}
	return samples, nil
}

// fromTheFirst makes times relative to the first, if they are absolute, and returns the
// first.
func fromTheFirst(samples []sample) (all []sample, first time.Duration, err error) {
	absolute := 0
	for i := range samples {
		if samples[i].at < 0 {
			samples[i].at = ^samples[i].at
			absolute++
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	switch absolute {
	case 0:
		return samples, 0, nil
	case len(samples):
		first = samples[0].at
		for i := range samples {
			samples[i].at -= first
		}
		return samples, first, nil
	}
	return nil, 0, errors.New(" found times since the start and times of day; use the same kind in all rows")
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

// latest is the Unix time in seconds from which a time is invalid, in 2262.
const latest = math.MaxInt64 / 1_000_000_000

// timeForms are RFC 3339, and the forms of SQL, data frames and spreadsheets. A fraction may
// follow the seconds. Without a zone a time is in UTC; a date with slashes begins with
// the month.
var timeForms = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05 Z07:00",
	"2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 Z0700 UTC",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM",
	"2.1.2006 15:04:05", "2.1.2006 15:04",
}

// instant reads a time: one of these forms, a Unix time in seconds, milliseconds, microseconds or
// nanoseconds, or an offset from the start in seconds or as a duration. A number is a
// Unix time from 100,000,000 on, which is in 1973, and an offset below.
func instant(text string) (at time.Duration, absolute bool, err error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		for _, unit := range []struct {
			from float64
			unit time.Duration
		}{{1e17, 1}, {1e14, time.Microsecond}, {1e11, time.Millisecond}, {1e8, time.Second}} {
			if n >= unit.from && n < latest*float64(time.Second/unit.unit) {
				whole, fraction := math.Modf(n)
				return time.Duration(whole)*unit.unit + time.Duration(fraction*float64(unit.unit)), true, nil
			}
		}
		if n >= 0 && n < 1e8 {
			return time.Duration(n * float64(time.Second)), false, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, false, nil
	}
	upper := strings.ToUpper(text)
	for _, form := range timeForms {
		if t, err := time.Parse(form, upper); err == nil && t.Year() >= 1970 && t.Year() < 2262 {
			return time.Duration(t.UnixNano()), true, nil
		}
	}
	return 0, false, fmt.Errorf("found %q; use RFC 3339 such as 2026-01-31T12:00:00Z, a Unix time, seconds since the start, or a duration such as 1m30s", text)
}

// mark returns the time of a sample.
func mark(at time.Duration, absolute bool, err error) (time.Duration, error) {
	if absolute {
		at = ^at
	}
	return at, err
}

// amount reads a number of items, which may have a fraction.
func amount(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1e9) {
		return 0, fmt.Errorf("found %q; use a number of 0 to 1e9", text)
	}
	return n, nil
}

// clockForm is a time as spreadsheets and data frames write it.
var clockForm = regexp.MustCompile(`^(?:(\d{1,4}) days? )?(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)$`)

// lasting reads a number of seconds, or a duration.
func lasting(text string) (simulation.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e8 {
		return simulation.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if clock := clockForm.FindStringSubmatch(text); clock != nil { // 0 days 00:01:30.5, or 1:30
		d, err = time.ParseDuration(cmp.Or(clock[2], "0") + "h" + clock[3] + "m" + clock[4] + "s")
		days, _ := strconv.Atoi(cmp.Or(clock[1], "0"))
		d += time.Duration(days) * 24 * time.Hour
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("found %q; use seconds, or a duration such as 1m30s", text)
	}
	return simulation.Duration(d), nil
}

// ReadLengths reads the measured lengths of a queue. Their times are since the first arrival
// of a trace that began at this time; 0 is since the first length.
func ReadLengths(name string, began time.Duration) (all []picture.Sample, err error) {
	samples, err := readSamples(name, samplesOfGauge)
	if err != nil {
		return nil, err
	}
	samples, first, err := fromTheFirst(samples)
	if err != nil {
		return nil, inFile(name, err)
	}
	offset := time.Duration(0)
	if first > 0 && began > 0 {
		offset = first - began
	}
	for _, one := range samples {
		all = append(all, picture.Sample{Seconds: (one.at + offset).Seconds(), Value: one.items})
	}
	return all, nil
}

// samplesOfGauge reads a range query's answer, as the sum of its series at each time.
func samplesOfGauge(data []byte) ([]sample, error) {
	all, err := rangeQuery(data)
	if err != nil {
		return nil, err
	}
	sums := map[time.Duration]float64{}
	for i, series := range all {
		for k, v := range series.Values {
			p, err := pointOf(v)
			if err != nil {
				return nil, fmt.Errorf(" data.result[%d].values[%d]: %w", i, k, err)
			}
			sums[p.at] += p.items
		}
	}
	var samples []sample
	for at, sum := range sums {
		samples = append(samples, sample{at: at, items: sum})
	}
	return samples, nil
}
