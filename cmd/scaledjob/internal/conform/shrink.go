package conform

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// maxSteps is the number of questions that are asked to make one small.
const maxSteps = 1000

// kept are the fields without which a question is another one.
var kept = []string{"kind", "release", "scalers", "queueLength", "target", "jobs", "maxScale", "generation", "name", "creationTimestamp", "completionTime", "phase", "status", "type", "lastTransitionTime"}

// smaller returns values that are one step simpler, those without a part first.
func smaller(value any) (list []any) {
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		for _, name := range names {
			if !slices.Contains(kept, name) {
				without := maps.Clone(v)
				delete(without, name)
				list = append(list, without)
			}
		}
		for _, name := range names {
			for _, simpler := range smaller(v[name]) {
				list = append(list, map[string]any(question(v).with(name, simpler)))
			}
		}
	case []any:
		for i := range v {
			list = append(list, slices.Delete(slices.Clone(v), i, i+1))
		}
		for i := range v {
			for _, simpler := range smaller(v[i]) {
				changed := slices.Clone(v)
				changed[i] = simpler
				list = append(list, changed)
			}
		}
	case json.Number:
		x, _ := v.Float64() // was read from JSON
		simple := []float64{0, 1, 10, math.Trunc(x / 2), math.Trunc(x)}
		if math.Abs(x) < 100 {
			simple = append(simple, x-math.Copysign(1, x))
		}
		for _, simpler := range simple {
			if math.Abs(simpler) < math.Abs(x) {
				list = append(list, json.Number(strconv.FormatFloat(simpler, 'g', -1, 64)))
			}
		}
	}
	return list
}

// shrink returns a difference with the smallest question that was found.
func (d *Difference) shrink(ask judge) (*Difference, error) {
	name := d.Name + ", made smaller"
	for steps, found := 0, true; found; {
		found = false
		for _, simpler := range smaller(map[string]any(d.Question)) {
			if steps++; steps > maxSteps {
				return d, nil
			}
			less, _, err := ask(simpler.(map[string]any))
			if err != nil {
				return d, err
			}
			if less != nil {
				less.Name = cmp.Or(less.Name, name)
				d, found = less, true
				break
			}
		}
	}
	return d, nil
}
