package conform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/testdata"
)

// A question is a line for an oracle.
type question map[string]any

func (q question) with(name string, value any) question {
	changed := maps.Clone(q)
	changed[name] = value
	return changed
}

func (q question) String() string {
	data, _ := json.Marshal(q) // of values that were read from JSON
	return string(data)
}

func (q question) kind() string { kind, _ := q["kind"].(string); return kind }

// field names the field of the answer that is compared.
func (q question) field() string {
	switch q.kind() {
	case "strategy":
		return "effectiveMaxScale"
	case "history", "rollout":
		return "deleted"
	}
	return "create"
}

// right returns the oracle's answer and its trace, or false if the question is no fair one: a field is
// invalid, or the release lacks it, panics, or leaves the range of 64 bits.
func (q question) right() (right answer, trace string, ok bool) {
	given, err := oracle.Answer([]byte(q.String()))
	if err != nil {
		return answer{}, "", false
	}
	data, err := json.Marshal(given)
	if err != nil {
		return answer{}, "", false
	}
	var other struct {
		Trace                           string
		Panic, WrapsAround, Unsupported any
	}
	if json.Unmarshal(data, &other) != nil || other.Panic != nil || other.WrapsAround != nil || other.Unsupported != nil {
		return answer{}, "", false
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // an object, as it was read above
	return answer{value: q.canonical(fields[q.field()])}, other.Trace, true
}

// form names the type of the compared field.
func (q question) form() string {
	if q.field() == "deleted" {
		return "list of names"
	}
	return "number"
}

// canonical returns one spelling for equal values, or "" for a value of another type. A rollout judges each Job
// alone, in any order.
func (q question) canonical(value json.RawMessage) string {
	if q.field() != "deleted" {
		return number(string(value))
	}
	var names []string
	if json.Unmarshal(value, &names) != nil || names == nil {
		return ""
	}
	if q.kind() == "rollout" {
		slices.Sort(names)
	}
	spelling, _ := json.Marshal(names) // texts can always be written
	return string(spelling)
}

// number returns one spelling for equal numbers, or "" for what is no number.
func number(text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !json.Valid([]byte(text)):
		return ""
	case x == math.Trunc(x) && math.Abs(x) < 1<<63:
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// literal returns a number as it is written.
func literal(value any) string {
	data, _ := json.Marshal(value) // was read from JSON
	return string(data)
}

// A vector is a question of the test vectors, with the rule that it is for.
type vector struct {
	name     string
	rule     int
	question question
}

// vectors returns the vectors of a level.
func vectors(level string) ([]vector, error) {
	switch level {
	case "strategy":
		return strategyVectors()
	case "decision":
		return casesOf("decisions.json", func(c map[string]any) question { return question(c["input"].(map[string]any)) })
	case "history":
		return casesOf("history.json", historyQuestion)
	case "rollout":
		return casesOf("rollout.json", rolloutQuestion)
	}
	return releaseVectors(level)
}

// decode reads a file of the vectors, with numbers as they are written.
func decode(name string, into any) error {
	data, err := testdata.Files.ReadFile(name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

func casesOf(file string, ask func(map[string]any) question) (list []vector, err error) {
	var data struct{ Cases []map[string]any }
	err = decode(file, &data)
	for _, c := range data.Cases {
		rule, _ := strconv.Atoi(fmt.Sprint(c["cites"]))
		list = append(list, vector{fmt.Sprint(c["name"]), rule, ask(c)})
	}
	return list, err
}

func strategyVectors() (list []vector, err error) {
	names := strategy.Names() // in the order of the rules
	var data struct{ Cases []map[string]any }
	err = decode("strategies.json", &data)
	for i, c := range data.Cases {
		for _, name := range slices.Sorted(maps.Keys(c["want"].(map[string]any))) {
			q := question{"kind": "strategy", "strategy": name}
			for field, from := range map[string]string{"maxScale": "target", "running": "running", "pending": "pending", "stuck": "stuck", "maxReplicaCount": "max"} {
				q[field] = cmp.Or(c[from], any(0))
			}
			if name == "custom" {
				q["customScalingQueueLengthDeduction"] = cmp.Or(c["deduction"], any(0))
				q["customScalingRunningJobPercentage"] = cmp.Or(c["percentage"], any("0"))
			}
			list = append(list, vector{fmt.Sprintf("load %d, %s", i+1, name), slices.Index(names, name) + 1, q})
		}
	}
	return list, err
}

func historyQuestion(c map[string]any) question {
	q := question{"kind": "history"}
	policy := c["policy"].(map[string]any)
	for field, value := range map[string]any{"successfulJobsHistoryLimit": policy["succeeded"], "failedJobsHistoryLimit": policy["failed"], "age": policy["age"], "now": c["now"]} {
		if value != nil {
			q[field] = value
		}
	}
	jobs := []any{}
	for _, listed := range c["jobs"].([]any) {
		from := listed.(map[string]any)
		jobs = append(jobs, finishedJob(from["name"], from["outcome"], from["finished"], from["deleting"] == true))
	}
	return q.with("jobs", jobs)
}

// finishedJob returns a Job as the API server lists it.
func finishedJob(name, outcome, finished any, deleting bool) map[string]any {
	job := map[string]any{"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
	switch outcome {
	case "succeeded":
		job["completionTime"], job["conditions"] = finished, []any{map[string]any{"type": "Complete", "status": "True"}}
	case "failed":
		job["conditions"] = []any{map[string]any{"type": "Failed", "status": "True", "lastTransitionTime": finished}}
	}
	if deleting {
		job["deletionTimestamp"] = finished
	}
	return job
}

func rolloutQuestion(c map[string]any) question {
	policy, from, current := c["policy"].(map[string]any), c["job"].(map[string]any), c["current"].(map[string]any)
	job := map[string]any{"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
	if revision, ok := from["revision"].(map[string]any); ok {
		if generation := revision["generation"]; generation != nil {
			job["generationAnnotation"] = fmt.Sprint(generation)
		}
		if hash := revision["templateHash"]; hash != nil {
			job["templateHash"] = hash
		}
	}
	if from["neverStarted"] != true {
		job["pods"] = []any{map[string]any{"phase": "Running"}}
	}
	if from["finished"] == true {
		job["conditions"] = []any{map[string]any{"type": "Complete", "status": "True"}}
	}
	if from["deleting"] == true {
		job["deletionTimestamp"] = "2026-01-01T01:00:00Z"
	}
	q := question{"kind": "rollout", "rollout": map[string]any{"strategy": policy["strategy"]}, "everyEdit": policy["everyEdit"] == true,
		"generation": current["generation"], "jobs": []any{job}}
	if hash := current["templateHash"]; hash != nil {
		q["templateHash"] = hash
	}
	return q
}

// releaseVectors returns the questions of keda.json that the kinds of an answer cover.
func releaseVectors(release string) (list []vector, err error) {
	var data struct {
		Vectors []struct {
			ID, Kind string
			Input    map[string]any
		}
	}
	err = decode("keda.json", &data)
	for _, v := range data.Vectors {
		const percentage = "customScalingRunningJobPercentage"
		if p := v.Input[percentage]; p != nil { // a text in a manifest
			v.Input[percentage] = fmt.Sprint(p)
		}
		if v.Kind == "create" || v.Kind == "strategy" || v.Kind == "history" || v.Kind == "rollout" {
			list = append(list, vector{v.ID, 0, question(v.Input).with("kind", v.Kind).with("release", release)})
		}
	}
	return list, err
}

// size returns a number of a question, or 0.
func size(value any) float64 {
	if text, ok := value.(string); ok {
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	x, _ := strconv.ParseFloat(number(literal(value)), 64)
	return x
}
