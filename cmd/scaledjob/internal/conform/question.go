package conform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/testdata"
)

// A question is a line for an oracle, as it is read from JSON.
type question map[string]any

// with returns the question with other fields: names and values in turn.
func (q question) with(fields ...any) question {
	changed := maps.Clone(q)
	for pair := range slices.Chunk(fields, 2) {
		changed[pair[0].(string)] = pair[1]
	}
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

// right returns the oracle's answer, or false if the question is no fair one: a field is invalid, or the
// release lacks it, panics, or leaves the range of 64 bits.
func (q question) right() (right answer, fair bool) {
	line, err := oracle.Answer([]byte(q.String()))
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(line, &fields) != nil {
		return right, false
	}
	if fields["panic"] != nil || fields["wrapsAround"] != nil || fields["unsupported"] != nil {
		return right, false
	}
	_ = json.Unmarshal(fields["trace"], &right.trace) // a text
	right.value = q.canonical(fields[q.field()])
	return right, true
}

// compare returns the difference of an answer and the right one, or nil.
func (q question) compare(answered, right answer) *Difference {
	if answered.unsupported || answered.value == right.value {
		return nil
	}
	return &Difference{Question: q, Answer: answered.value, Right: right.value, Trace: right.trace}
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

// number returns one spelling for equal whole numbers, other numbers as they are, and "" for what is none.
func number(text string) string {
	_, err := strconv.ParseFloat(text, 64)
	n, ok := new(big.Rat).SetString(text)
	switch {
	case err != nil || !ok || !json.Valid([]byte(text)):
		return ""
	case n.IsInt():
		return n.Num().String()
	}
	return text
}

// A vector is a question with its right answer, and the rule that it is for.
type vector struct {
	name     string
	rule     int // 0 if it is for none
	question question
	right    answer
}

// vectors returns the vectors of a level that are fair. Those of a release are for no rule.
func vectors(level string) (list []vector) {
	add := func(name string, rule int, q question) {
		if right, fair := q.right(); fair {
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
	files := map[string]string{"strategy": "strategies.json", "decision": "decisions.json", "history": "history.json", "rollout": "rollout.json"}
	data, _ := testdata.Files.ReadFile(cmp.Or(files[level], "keda.json")) // is embedded
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // as they are written
	_ = numbers.Decode(&file)
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
			add(v.ID, 0, v.Input.with("kind", v.Kind, "release", level))
		}
	}
	return list
}
