package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A generator draws questions with the fields and the values that vectors have, in other combinations.
type generator struct {
	*rand.Rand
	kinds   []any
	objects map[string]int            // objects at a path
	fields  map[string]map[string]int // how many of them have a field
	lengths map[string][]int          // of lists at a path
	values  map[string][]any          // other values at a path
}

func newGenerator(examples []vector, seed uint64) *generator {
	g := &generator{rand.New(rand.NewPCG(seed, 0)), nil, map[string]int{}, map[string]map[string]int{}, map[string][]int{}, map[string][]any{}}
	for _, v := range examples {
		g.kinds = append(g.kinds, v.question["kind"])
		g.learn(fmt.Sprint(v.question["kind"]), map[string]any(v.question))
	}
	return g
}

// learn adds what is at a path of a question.
func (g *generator) learn(path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		if g.objects[path]++; g.fields[path] == nil {
			g.fields[path] = map[string]int{}
		}
		for name, part := range v {
			g.fields[path][name]++
			g.learn(path+"."+name, part)
		}
	case []any:
		g.lengths[path] = append(g.lengths[path], len(v))
		for _, part := range v {
			g.learn(path+"[]", part)
		}
	default:
		g.values[path] = append(g.values[path], v)
	}
}

// vectors draws so many fair questions, or fewer if they are rare.
func (g *generator) vectors(n int) (list []vector) {
	for tries := 0; len(list) < n && tries < 20*n; tries++ {
		kind := fmt.Sprint(g.kinds[g.IntN(len(g.kinds))])
		q := question(g.draw(kind).(map[string]any))
		if right, _, fair := q.right(); fair {
			list = append(list, vector{"a random question", 0, q, right})
		}
	}
	return list
}

// draw draws a value for a path. A rare field is drawn more often than it is in the vectors, and hardly one always.
func (g *generator) draw(path string) any {
	if total := g.objects[path]; total > 0 {
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(g.fields[path])) {
			chance := min(0.95, math.Sqrt(float64(g.fields[path][name])/float64(total)))
			if slices.Contains(kept, name) || g.Float64() < chance {
				object[name] = g.draw(path + "." + name)
			}
		}
		return object
	}
	if lengths := g.lengths[path]; lengths != nil {
		list := make([]any, lengths[g.IntN(len(lengths))])
		for i := range list {
			list[i] = g.draw(path + "[]")
			if object, ok := list[i].(map[string]any); ok && object["name"] != nil {
				object["name"] = fmt.Sprintf("%v-%d", object["name"], i) // names are unique
			}
		}
		return list
	}
	value := g.values[path][g.IntN(len(g.values[path]))]
	if n, ok := value.(json.Number); ok && g.IntN(2) == 0 {
		if whole, err := n.Int64(); err == nil {
			return json.Number(strconv.FormatInt([]int64{whole/2 + g.Int64N(5) - 2, g.Int64N(14)}[g.IntN(2)], 10))
		}
	}
	return value
}
