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
	"github.com/scaledjob/scaledjob/testdata"
)

// A question is a line for an oracle, as it is read from JSON.
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

// field names the field of the answer that is compared.
func (q question) field() string {
	switch q["kind"] {
	case "strategy":
		return "effectiveMaxScale"
	case "history", "rollout":
		return "deleted"
	}
	return "create"
}

// right returns the oracle's answer and its trace, or false if the question is no fair one: a field is
// invalid, or the release lacks it, panics, or leaves the range of 64 bits.
func (q question) right() (right answer, trace string, fair bool) {
	line, err := oracle.Answer([]byte(q.String()))
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(line, &fields) != nil {
		return answer{}, "", false
	}
	for _, name := range []string{"panic", "wrapsAround", "unsupported"} {
		if fields[name] != nil {
			return answer{}, "", false
		}
	}
	if fields["trace"] != nil {
		_ = json.Unmarshal(fields["trace"], &trace) // a text
	}
	return answer{value: q.canonical(fields[q.field()])}, trace, true
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
	if q["kind"] == "rollout" {
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

// A vector is a question with its right answer, and the rule that it is for.
type vector struct {
	name     string
	rule     int // 0 if it is for none
	question question
	right    answer
}

// vectors returns the vectors of a level that are fair. Those of a release are for no rule.
func vectors(level string) (list []vector, err error) {
	add := func(name string, rule int, q question) {
		if right, _, fair := q.right(); fair {
			list = append(list, vector{name, rule, q, right})
		}
	}
	var file struct {
		Cases []struct {
			Name              string
			Cites             int
			Input             question
			EffectiveMaxScale map[string]any
		}
		Vectors []struct {
			ID, Kind string
			Input    question
		}
	}
	names := map[string]string{"strategy": "strategies.json", "decision": "decisions.json", "history": "history.json", "rollout": "rollout.json"}
	name, specified := names[level]
	if !specified {
		name = "keda.json"
	}
	data, err := testdata.Files.ReadFile(name)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber() // as they are written
		err = d.Decode(&file)
	}
	page := rules()
	for i, c := range file.Cases {
		for _, strategy := range slices.Sorted(maps.Keys(c.EffectiveMaxScale)) {
			add(fmt.Sprintf("load %d, %s", i+1, strategy), cmp.Or(c.Cites, ruleOf(page, strategy)), c.Input.with("strategy", strategy))
		}
		if c.EffectiveMaxScale == nil {
			add(c.Name, c.Cites, c.Input)
		}
	}
	for _, v := range file.Vectors {
		if slices.Contains([]string{"create", "strategy", "history", "rollout"}, v.Kind) {
			add(v.ID, 0, v.Input.with("kind", v.Kind).with("release", level))
		}
	}
	return list, err
}
