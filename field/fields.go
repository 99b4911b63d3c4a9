package field

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

var indexes sync.Map // of types

// Names returns the index of each field of a struct by its name in JSON, as encoding/json selects
// it: of equal names the outermost, then the one with a tag, or else none. The caller must not
// modify the map.
func Names(t reflect.Type) map[string][]int {
	if cached, found := indexes.Load(t); found {
		return cached.(map[string][]int)
	}
	candidates := map[string][]place{}
	gather(t, nil, nil, candidates)
	byName := map[string][]int{}
	for name, places := range candidates {
		slices.SortStableFunc(places, place.compare)
		if len(places) == 1 || places[0].compare(places[1]) != 0 {
			byName[name] = places[0].index
		}
	}
	indexes.Store(t, byName)
	return byName
}

// A place is a field with a name.
type place struct {
	index  []int
	tagged bool
}

func (p place) compare(q place) int {
	if p.tagged != q.tagged && len(p.index) == len(q.index) {
		if p.tagged {
			return -1
		}
		return 1
	}
	return cmp.Compare(len(p.index), len(q.index))
}

// gather adds the fields of a struct, embedded in others at the index outer.
func gather(t reflect.Type, others []reflect.Type, outer []int, found map[string][]place) {
	if slices.Contains(others, t) {
		return
	}
	others = append(slices.Clip(others), t)
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clip(outer), i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer && f.IsExported() {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case name == "" && f.Anonymous && inner.Kind() == reflect.Struct:
			gather(inner, others, index, found)
		case f.IsExported():
			name := cmp.Or(name, f.Name)
			found[name] = append(found[name], place{index, tag != "" && tag[0] != ','})
		}
	}
}

// fieldOf returns a field of a struct, with new values for the nil pointers on the way.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			v = pointed(v)
		}
		v = v.Field(i)
	}
	return v
}
