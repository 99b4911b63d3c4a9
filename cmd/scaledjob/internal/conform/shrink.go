package conform

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
)

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
	case json.Number, int:
		return smaller(size(v))
	case float64:
		simpler := []float64{0, 1, 10, math.Trunc(v / 2), math.Trunc(v)}
		if math.Abs(v) < 100 {
			simpler = append(simpler, v-math.Copysign(1, v))
		}
		for _, x := range simpler {
			if math.Abs(x) < math.Abs(v) {
				list = append(list, x)
			}
		}
	}
	return list
}

// shrink returns the smallest question that is as wrong as q. wrong is asked at most so many times.
func shrink(q question, limit int, wrong func(question) (bool, error)) (question, error) {
	for {
		found := false
		for _, simpler := range smaller(map[string]any(q)) {
			if limit--; limit < 0 {
				return q, nil
			}
			isWrong, err := wrong(simpler.(map[string]any))
			if err != nil {
				return q, err
			}
			if isWrong {
				q, found = simpler.(map[string]any), true
				break
			}
		}
		if !found {
			return q, nil
		}
	}
}
