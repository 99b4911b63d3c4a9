package lint

import (
	"encoding/base64"
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/podspec"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// A reader compares a tree with a Go type, and copies the parts that fit.
type reader struct {
	c    *collector
	d    *document
	kind string
}

// read returns the ScaledJob of a document. It reports unknown fields and values of the
// wrong type, and leaves them out.
func (c *collector) read(d *document) *manifest.ScaledJob {
	r := reader{c, d, manifest.GroupVersionKind.Kind}
	s := new(manifest.ScaledJob)
	// The parts that fit can be written and read again.
	if data, err := json.Marshal(r.value(d.root, reflect.TypeFor[manifest.ScaledJob](), nil)); err == nil {
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
	if t == reflect.TypeFor[resource.Quantity]() && manifest.CheckQuantities(map[string]any{"limits": v}) != nil {
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
	present := map[string]bool{}
	for key, value := range entries(n) {
		present[key.Value] = value.ShortTag() != "!!null"
		if len(at) == 0 && key.Value == encrypted {
			continue
		}
		if field, ok := fields[key.Value]; !ok {
			r.unknown(key, fields, at)
		} else if podspec.TooNew(t, key.Value) {
			r.tooNew(key, at)
		} else if v := r.value(value, field.Type, at.with(key.Value)); v != nil {
			object[key.Value] = v
			r.allowed(v, field, at.with(key.Value))
			r.field(t, key.Value, v, at.with(key.Value))
		}
	}
	if t.PkgPath() != reflect.TypeFor[manifest.Spec]().PkgPath() { // these have their own rules
		for _, name := range podspec.Required(t) {
			if !present[name] && !slices.Contains(ownRules, t.Name()+"."+name) {
				r.c.add(fieldMissing, r.d.at(at.with(name)...), "Add "+name, effect{text: refusal})
			}
		}
	}
	r.united(t, present, at)
	r.absent(t, present, at)
	if slices.Contains(selectors, t.Name()) {
		r.selector(object, at)
	}
	return object
}

// ownRules are required fields with rules of their own.
var ownRules = []string{"JobSpec.template", "Container.name"}

// allowed reports a value that the tags of its field do not allow.
func (r *reader) allowed(v any, field reflect.StructField, at path) {
	if list, ok := v.([]any); ok && field.Tag.Get("min") != "" && len(list) == 0 {
		r.c.add(fieldMissing, r.d.at(at...), "Add an item", effect{text: refusal})
	}
	values, ok := field.Tag.Lookup("enum")
	if text, isText := v.(string); ok && isText && !slices.Contains(strings.Split(values, ","), text) {
		e := effect{text: refusal}
		if slices.Contains(strings.Split(field.Tag.Get("removed"), ","), text) {
			e.when = from("2.15.0")
		}
		r.c.add(wrongType, r.d.at(at...), oneOf(text, strings.FieldsFunc(values, func(c rune) bool { return c == ',' })), e)
	}
}

// companions are the objects beside a ScaledJob that lint reads.
var companions = map[string]reflect.Type{
	"Secret": reflect.TypeFor[corev1.Secret](), "ConfigMap": reflect.TypeFor[corev1.ConfigMap](),
	"TriggerAuthentication": reflect.TypeFor[podspec.Authentication](), "ClusterTriggerAuthentication": reflect.TypeFor[podspec.Authentication](),
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
		if t.Kind() == reflect.Slice {
			return r.bytes(n, v, at)
		}
		if t.Kind() == reflect.String {
			r.enumerated(v, t, at)
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

// bytes reports a value of a Secret that is not base64.
func (r *reader) bytes(n *yaml.Node, text string, at path) any {
	if _, err := base64.StdEncoding.DecodeString(text); err != nil && !strings.ContainsAny(text, "$<{") && !substituted.MatchString(text) {
		return r.unfit(n, "it in base64, or move the key to stringData", at)
	}
	return text
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

// fieldsOf are the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
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
			fields[name] = f
		}
	}
	return fields
}

func (r *reader) unknown(key *yaml.Node, fields map[string]reflect.StructField, at path) {
	place := r.d.key(at.with(key.Value)...)
	place.found = "an unknown field"
	r.c.add(unknownField, place, r.meant(key.Value, fields, at),
		effect{text: "kubectl rejects it, or the API server drops it, and KEDA never reads it"})
}

// tooNew reports a field of Kubernetes that KEDA's CRD does not have.
func (r *reader) tooNew(key *yaml.Node, at path) {
	place := r.d.key(at.with(key.Value)...)
	place.found = "a field that KEDA's CRD does not have"
	r.c.add(unknownField, place, "Delete it: no release of KEDA passes it on to the Jobs", effect{text: "the API server drops it, and the Jobs do not have it"})
}

// ofScaledObject are the fields that only a ScaledObject has.
var ofScaledObject = []string{"advanced", "cooldownPeriod", "fallback", "idleReplicaCount", "initialCooldownPeriod", "scaleTargetRef"}

// homes lists the objects of a ScaledJob to which a misplaced field may belong.
var homes = []struct {
	path string
	of   reflect.Type
}{
	{"spec", reflect.TypeFor[manifest.Spec]()},
	{"spec.scalingStrategy", reflect.TypeFor[manifest.ScalingStrategy]()},
	{"spec.rollout", reflect.TypeFor[manifest.Rollout]()},
	{"spec.jobTargetRef", reflect.TypeFor[batchv1.JobSpec]()},
}

// meant returns the fix for an unknown field.
func (r *reader) meant(key string, fields map[string]reflect.StructField, at path) string {
	if name := nearest(key, slices.Sorted(maps.Keys(fields))); name != "" {
		return "Write " + at.with(name).String()
	}
	if r.kind != manifest.GroupVersionKind.Kind {
		return fmt.Sprintf("Delete it: a %s has no such field", r.kind)
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
