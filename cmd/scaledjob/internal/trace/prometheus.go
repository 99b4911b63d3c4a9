package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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

func rangeQuery(data []byte) ([]series, error) {
	var answer struct {
		Data struct {
			ResultType string
			Result     []series
		}
		Error string
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil || (answer.Error == "" && answer.Data.ResultType == ""):
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
	p.at, p.absolute = time.Duration(seconds*float64(time.Second)), true
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
		gap := to.at - from.at
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
			s.items, s.at = 1, s.at+time.Duration(float64(gap)*(n-before)/items)
			samples = append(samples, s)
		}
		owed = max(0, owed-(n-1))
	}
	return samples, nil
}
