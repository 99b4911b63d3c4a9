package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/internal/triggers"
)

// A reader compares a tree with a Go type, and copies the parts that fit.
type reader struct {
	c *collector
	d *document
}

// read returns the ScaledJob of a document. It reports unknown fields and values of the
// wrong type, and leaves them out.
func (c *collector) read(d *document) *scaledjob.ScaledJob {
	r := reader{c, d}
	s := new(scaledjob.ScaledJob)
	// The parts that fit can be written and read again.
	if data, err := json.Marshal(r.value(d.root, reflect.TypeFor[scaledjob.ScaledJob](), nil)); err == nil {
		_ = json.Unmarshal(data, s)
	}
	return s
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value returns the part of a node that fits the type, or nil.
func (r *reader) value(n *yaml.Node, t reflect.Type, at path) any {
	if n.ShortTag() == "!!null" {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		return r.value(n, t.Elem(), at)
	}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		return r.custom(n, t, at)
	case t.Kind() == reflect.Struct:
		return r.object(n, t, at)
	case t.Kind() == reflect.Map:
		return r.entries(n, t, at)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return r.list(n, t, at)
	}
	return r.scalar(n, t, at)
}

// custom leaves it to a type that reads itself.
func (r *reader) custom(n *yaml.Node, t reflect.Type, at path) any {
	v := plain(n)
	if t == reflect.TypeFor[resource.Quantity]() && scaledjob.CheckQuantities(map[string]any{"limits": v}) != nil {
		return r.unfit(n, "a quantity with an exponent of at most three digits", at)
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	if err != nil {
		return r.unfit(n, "a "+t.Name(), at)
	}
	return v
}

func (r *reader) object(n *yaml.Node, t reflect.Type, at path) any {
	if n.Kind != yaml.MappingNode {
		return r.unfit(n, "a map", at)
	}
	fields, object := fieldsOf(t), map[string]any{}
	for key, value := range entries(n) {
		if field, ok := fields[key.Value]; !ok {
			r.unknown(key, fields, at)
		} else if v := r.value(value, field, at.with(key.Value)); v != nil {
			object[key.Value] = v
		}
	}
	return object
}

func (r *reader) entries(n *yaml.Node, t reflect.Type, at path) any {
	if n.Kind != yaml.MappingNode {
		return r.unfit(n, "a map", at)
	}
	object := map[string]any{}
	for key, value := range entries(n) {
		v := r.value(value, t.Elem(), at.with(key.Value))
		if v != nil || value.ShortTag() == "!!null" { // null is a key with the zero value
			object[key.Value] = v
		}
	}
	return object
}

// list replaces an item that does not fit by an empty item, so that indexes stay.
func (r *reader) list(n *yaml.Node, t reflect.Type, at path) any {
	if n.Kind != yaml.SequenceNode {
		return r.unfit(n, "a list", at)
	}
	list := []any{}
	for i, item := range n.Content {
		list = append(list, r.value(item, t.Elem(), at.with(i)))
	}
	return list
}

func (r *reader) scalar(n *yaml.Node, t reflect.Type, at path) any {
	if n.Kind != yaml.ScalarNode {
		return r.unfit(n, nameOf(t), at)
	}
	switch v := scalar(n).(type) {
	case string:
		if t.Kind() == reflect.String || t.Kind() == reflect.Slice {
			return v
		}
	case bool:
		if t.Kind() == reflect.String {
			return r.quote(n, at)
		}
		if t.Kind() == reflect.Bool {
			return v
		}
	case float64:
		if t.Kind() == reflect.String {
			return r.quote(n, at)
		}
		if fits(v, t) {
			return int64(v)
		}
	}
	return r.unfit(n, nameOf(t), at)
}

// fits reports whether a number is whole and within the type's range.
func fits(x float64, t reflect.Type) bool {
	if k := t.Kind(); k < reflect.Int || k > reflect.Int64 || x != math.Trunc(x) || math.Abs(x) >= 1<<63 {
		return false
	}
	return !reflect.Zero(t).OverflowInt(int64(x))
}

func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a whole number without quotes, of " + strconv.Itoa(t.Bits()) + " bits"
}

func (r *reader) unfit(n *yaml.Node, want string, at path) any {
	r.c.add(wrongType, r.d.at(at...), "Write "+want, effect{text: refusal})
	return nil
}

// quote reports a value without quotes, and returns it as a string.
func (r *reader) quote(n *yaml.Node, at path) any {
	place := r.d.at(at...)
	place.found += ", which YAML reads as a " + map[bool]string{true: "boolean", false: "number"}[isBool(n)]
	r.c.add(notAString, place, "Write "+strconv.Quote(n.Value)+", with the quotes", effect{text: refusal})
	return n.Value
}

func isBool(n *yaml.Node) bool {
	_, ok := scalar(n).(bool)
	return ok
}

// fieldsOf are the types of a struct's fields by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			maps.Copy(fields, fieldsOf(inner))
		case name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}

func (r *reader) unknown(key *yaml.Node, fields map[string]reflect.Type, at path) {
	place := r.d.key(at.with(key.Value)...)
	place.found = "an unknown field"
	r.c.add(unknownField, place, meant(key.Value, fields, at),
		effect{text: "kubectl rejects it, or the API server drops it, and KEDA never reads it"})
}

// ofScaledObject are the fields that only a ScaledObject has.
var ofScaledObject = []string{"advanced", "cooldownPeriod", "fallback", "idleReplicaCount", "initialCooldownPeriod", "scaleTargetRef"}

// homes lists the objects of a ScaledJob to which a misplaced field may belong.
var homes = []struct {
	path string
	of   reflect.Type
}{
	{"spec", reflect.TypeFor[scaledjob.Spec]()},
	{"spec.scalingStrategy", reflect.TypeFor[scaledjob.ScalingStrategy]()},
	{"spec.rollout", reflect.TypeFor[scaledjob.Rollout]()},
	{"spec.jobTargetRef", reflect.TypeFor[batchv1.JobSpec]()},
}

// meant returns the fix for an unknown field.
func meant(key string, fields map[string]reflect.Type, at path) string {
	if name := nearest(key, slices.Sorted(maps.Keys(fields))); name != "" {
		return "Write " + at.with(name).String()
	}
	if len(at) > 0 && at[0] == "spec" && len(at) <= 2 {
		for _, h := range homes {
			if _, ok := fieldsOf(h.of)[key]; ok {
				return "Move it to " + h.path
			}
		}
	}
	if slices.Contains(ofScaledObject, key) {
		return fmt.Sprintf("Delete it: %s is a field of ScaledObjects", key)
	}
	return "Delete it: a ScaledJob has no such field"
}

// nearest returns the name that got misspells, or "".
func nearest(got string, names []string) string { return triggers.Nearest(got, names) }
