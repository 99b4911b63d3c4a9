package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A generator draws questions with the fields and the values of examples in other combinations.
type generator struct {
	*rand.Rand
	examples []vector
}

// mixed is the number of examples that a question is mixed from. With fewer of them, rare fields hardly meet.
const mixed = 5

// vectors draws so many fair questions, or fewer if they are rare.
func (g generator) vectors(n int) (list []vector) {
	for tries := 0; len(list) < n && tries < 20*n; tries++ {
		var parts []any
		for kind := g.examples[g.IntN(len(g.examples))].question["kind"]; len(parts) < mixed; {
			if q := g.examples[g.IntN(len(g.examples))].question; q["kind"] == kind {
				parts = append(parts, map[string]any(q))
			}
		}
		q := question(g.mix(parts).(map[string]any))
		if right, fair := q.right(); fair {
			list = append(list, vector{"a random question", 0, q, right})
		}
	}
	return list
}

// mix returns a value that is made of parts of the examples.
func (g generator) mix(examples []any) any {
	example := examples[g.IntN(len(examples))]
	switch v := example.(type) {
	case map[string]any:
		fields, mix := map[string][]any{}, map[string]any{}
		for _, other := range examples {
			object, _ := other.(map[string]any)
			for name, value := range object {
				fields[name] = append(fields[name], value)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if slices.Contains(kept, name) || g.IntN(4) > 0 {
				mix[name] = g.mix(fields[name])
			}
		}
		return mix
	case []any:
		list, items := make([]any, len(v)), []any(nil)
		for _, other := range examples {
			part, _ := other.([]any)
			items = append(items, part...)
		}
		for i := range list {
			list[i] = g.mix(items)
			if object, ok := list[i].(map[string]any); ok && object["name"] != nil {
				object["name"] = fmt.Sprintf("%v-%d", object["name"], i) // names are unique
			}
		}
		return list
	case json.Number:
		whole, err := v.Int64()
		isExact := -1<<52 <= whole && whole <= 1<<52 // and so is a sum of two, where numbers are of floating point, too: larger ones are for vectors
		if err == nil && (!isExact || g.IntN(2) == 0) {
			return json.Number(strconv.FormatInt([]int64{whole/2 + g.Int64N(5) - 2, g.Int64N(14)}[g.IntN(2)], 10))
		}
	}
	return example
}
