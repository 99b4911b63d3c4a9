package lint

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/crd"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A reader compares a document with a Go type, and with KEDA's CRDs.
type reader struct {
	*document
	c      *collector
	kind   string
	schema reflect.Type

	parents []parent // of the document, found at the first field that is in the wrong place
}

// unknownAt returns the path of an unknown field, which is never the root.
func (r *reader) unknownAt(path string) tree.Path {
	if path == "" {
		return tree.Path{""}
	}
	return r.path(path)
}

// companions are the objects beside a ScaledJob that lint reads.
var companions = map[string]func() any{
	"Secret": func() any { return new(corev1.Secret) }, "ConfigMap": func() any { return new(corev1.ConfigMap) },
	"TriggerAuthentication":        func() any { return reflect.New(crd.Kind("TriggerAuthentication").Type()).Interface() },
	"ClusterTriggerAuthentication": func() any { return reflect.New(crd.Kind("ClusterTriggerAuthentication").Type()).Interface() },
}

// crd returns the field of the CRD at a path, or nil.
func (r *reader) crd(path tree.Path) *crd.Field {
	f := crd.Kind(r.kind)
	for _, step := range path {
		if name, ok := step.(string); ok {
			f = f.Field(name)
		}
	}
	return f
}

// visit checks a value that its type can hold.
func (r *reader) visit(path string, v reflect.Value, data []byte) {
	switch {
	case v.Kind() == reflect.String && data[0] != '"': // found as not a string
	case enums[v.Type()] != nil:
		r.enumerated(v.String(), v.Type(), r.path(path))
	case v.Type() == reflect.TypeFor[resource.Quantity]():
		r.quantity(r.path(path), string(data))
	case v.Kind() == reflect.Struct:
		r.object(v.Type(), r.path(path))
	case v.Kind() == reflect.Map:
		r.entries(r.path(path))
	}
}

// quantity reports a fraction without quotes: the CRD allows a whole number or a string.
func (r *reader) quantity(path tree.Path, number string) {
	n := r.node(path...)
	if n == nil || number[0] == '"' || !strings.ContainsAny(number, ".e") {
		return
	}
	if _, err := resource.ParseQuantity(n.Value); err == nil {
		number = n.Value
	}
	if path[len(path)-1] != "cpu" { // a fraction of a byte is not meant
		r.c.add(wrongType, r.place(path...), "Write a unit, such as "+number+"Gi", effect{text: refusal})
		return
	}
	r.unquoted(path, number)
}

// unquoted reports a number or boolean that needs quotes.
func (r *reader) unquoted(path tree.Path, text string) {
	position, n := r.place(path...), r.node(path...)
	_, isBool := tree.Scalar(n).(bool)
	position.found += ", which YAML reads as a " + map[bool]string{true: "boolean", false: "number"}[isBool]
	want := fmt.Sprintf("Write %q, with the quotes", text)
	if position.hidden {
		want = "Write it in quotes"
	}
	r.c.edit(n, n.Value, strconv.Quote(text))
	r.c.add(notAString, position, want, effect{text: refusal})
}

// entries notes null in a map of free keys.
func (r *reader) entries(path tree.Path) {
	for key, value := range tree.Entries(r.node(path...)) {
		if f := r.crd(path); f != nil && value.ShortTag() == "!!null" {
			r.null(f, path.Step(key.Value))
		}
	}
}

// defaulted are fields of pods to which the API server gives a default in place of null, and one whose required fields are missing.
var defaulted = []string{"name", "protocol", "service", "spec"}

// null notes a field without a value, which not every client leaves out. In a patch, null deletes the field.
func (r *reader) null(f *crd.Field, path tree.Path) {
	if path[0] != "spec" || slices.Contains(defaulted, fmt.Sprint(path[len(path)-1])) {
		return
	}
	position := r.place(path...)
	if r.isPatch() || r.c.moved[position.path] {
		return
	}
	position.found = "null"
	r.c.add(nullValue, position, "Delete the field, or give it a value", effect{affected: func(p keda.Profile) bool { return f.In(p.Release()) }, text: "the API server rejects null in a server-side apply, which Flux and Helm 4 use; kubectl apply leaves the field out"})
}

// ours reports whether a type is one of KEDA's, whose required fields have rules of their own.
func ours(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[manifest.Spec]().PkgPath() }

func (r *reader) object(t reflect.Type, path tree.Path) {
	n := r.node(path...)
	if n == nil || n.Kind != yaml.MappingNode {
		return // a value that reads itself
	}
	present, names, object := map[string]bool{}, field.Names(t), r.crd(path)
	for key, value := range tree.Entries(n) {
		name := key.Value
		f := object.Field(name)
		if value.ShortTag() == "!!null" {
			if f != nil && !f.Required(keda.Newest().Release()) {
				r.null(f, path.Step(name))
			}
			continue
		}
		present[name] = true
		if f != nil && f.Closed() && ours(t) && value.Value == "" && isString(value) {
			r.c.add(wrongType, r.place(path.Step(name)...), "Delete the field, or write one of "+strings.Join(f.Enum(keda.Newest().Release()), ", "),
				effect{affected: func(p keda.Profile) bool { return !f.Allows("", p.Release()) }, text: refusal})
		}
		if _, declared := names[name]; declared && object != nil {
			r.released(object, t, name, path.Step(name))
		}
		r.field(t, name, value, path.Step(name))
		r.repeated(listKeys[t.Name()+"."+name], path.Step(name))
	}
	if object != nil && !ours(t) {
		r.required(t, object, n, present, path)
	}
	r.united(t, present, path)
	r.absent(t, present, path)
	if slices.Contains(selectors, t.Name()) {
		r.selector(path)
	}
}

// released reports a field that the CRD of no release has, or not of the releases that the caller names.
func (r *reader) released(object *crd.Field, t reflect.Type, name string, path tree.Path) {
	f := object.Field(name)
	switch {
	case f == nil && (ours(t) || len(object.Names()) == 0):
	case f == nil:
		place := r.key(path...)
		place.found = "a field that KEDA's CRD does not have"
		r.c.add(unknownField, place, "Delete it; no release of KEDA passes it on to the Jobs", effect{text: dropped})
	case r.c.scope.named && slices.ContainsFunc(r.c.scope.profiles, r.lacks(object, f)) && !isFeature(path):
		r.c.add(unsupported, r.place(path...), "Use KEDA "+f.Releases(), effect{affected: r.lacks(object, f), text: "KEDA's CRD does not have this field: " + dropped})
	}
}

// lacks is met by the releases that have an object and not one of its fields.
func (r *reader) lacks(object, f *crd.Field) condition {
	return func(p keda.Profile) bool {
		return object.In(p.Release()) && !object.Open(p.Release()) && !f.In(p.Release())
	}
}

// ownRules are required fields with rules of their own.
var ownRules = []string{"JobSpec.template", "Container.name"}

// required reports required fields of a node without a value, and values and lists that the CRD does
// not allow.
func (r *reader) required(t reflect.Type, object *crd.Field, node *yaml.Node, present map[string]bool, path tree.Path) {
	for _, name := range object.Names() {
		f := object.Field(name)
		add := func(rule Rule, fix string, applies func(release string) bool) {
			if !slices.ContainsFunc(r.c.scope.profiles, func(p keda.Profile) bool { return applies(p.Release()) }) {
				return
			}
			if !applies(keda.Newest().Release()) {
				rule = unsupported // only of releases that the caller names
			}
			if rule != unsupported || r.c.scope.named {
				r.c.add(rule, r.place(path.Step(name)...), fix, effect{affected: func(p keda.Profile) bool { return applies(p.Release()) }, text: refusal, fatal: true})
			}
		}
		if !present[name] {
			if !slices.Contains(ownRules, t.Name()+"."+name) {
				add(fieldMissing, "Add "+name, f.Required)
			}
			continue
		}
		switch _, n := r.keys.Child(node, name); {
		case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
			add(fieldMissing, "Add an item", f.NeedsItem)
		case n.Kind == yaml.ScalarNode && f.Closed() && isString(n):
			add(wrongType, oneOf(n.Value, f.Enum(keda.Newest().Release())), func(release string) bool { return !f.Allows(n.Value, release) })
		}
	}
}

// isString reports whether kubectl reads a scalar as a string.
func isString(n *yaml.Node) bool {
	_, ok := tree.Scalar(n).(string)
	return ok
}

// isWhole reports whether a scalar is a whole number of any length.
func isWhole(n *yaml.Node) bool {
	_, isText := tree.Scalar(n).(string)
	return n.Kind == yaml.ScalarNode && !isText && strings.Trim(n.Value, "-0123456789") == ""
}

// byteUnit matches a quantity with a unit that Kubernetes does not have.
var byteUnit = regexp.MustCompile(`^([0-9.]+)\s*([KMGTP])(i?)[Bb]?$`)

const dropped = "kubectl rejects it, or the API server drops it"

// unfit reports a value that its field cannot hold.
func (r *reader) unfit(path tree.Path, fix string) {
	bits := strings.Contains(fix, " of 32 bits")
	fix = strings.NewReplacer(" of 32 bits", "", " of 64 bits", "").Replace(fix)
	position, n := r.place(path...), r.node(path...)
	fix = cmp.Or(rewritten(typeAt(r.schema, path), path, n), fix)
	switch {
	case bits && n != nil && isWhole(n):
		fix = "a number from -2147483648 to 2147483647"
	case fix == "an object" && n != nil && strings.Contains(n.Value, "\uff1a"):
		fix = ": and a space in place of the full-width colon"
	case fix == "an object":
		fix = "keys and values, as key: value"
	case n == nil:
	case n.Kind == yaml.MappingNode && len(path) == 5 && path[3] == "metadata" && r.belongs(path[:4], fmt.Sprint(path[4])) != "":
		r.c.add(wrongType, position, r.belongs(path[:4], fmt.Sprint(path[4])), effect{text: refusal})
		return
	case strings.HasPrefix(fix, field.InQuotes):
		r.unquoted(path, n.Value)
		return
	case strings.HasSuffix(fix, " in base64") && n.Kind == yaml.ScalarNode:
		if text := braces.Replace(n.Value); strings.ContainsAny(text, "$<{") || substituted.MatchString(text) {
			return
		}
		fix = "it in base64, or move the key to stringData"
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && (fix == "true or false" || strings.HasPrefix(fix, "a whole number") || fix == "a number"):
		fix += ", without quotes"
		if _, isText := tree.Scalar(&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).(string); !isText {
			r.c.edit(n, "", n.Value)
		}
	case strings.ContainsAny(n.Value, "\u201c\u201d\u2018\u2019"):
		fix = "plain quotes instead of typographic ones"
	case strings.HasPrefix(fix, "a quantity") && byteUnit.MatchString(n.Value):
		m := byteUnit.FindStringSubmatch(n.Value)
		fix = fmt.Sprintf("%s%si, or %s%s for powers of 1000", m[1], m[2], m[1], m[2])
	}
	r.c.add(wrongType, position, "Write "+fix, effect{text: refusal})
}

// unknown reports a field that its type does not have.
func (r *reader) unknown(path tree.Path, fix string) {
	place := r.key(path...)
	place.found = "an unknown field"
	e := effect{text: dropped + ", and KEDA never reads it"}
	if f := r.crd(path); f != nil { // of an older release
		e.affected = func(p keda.Profile) bool { return !f.In(p.Release()) }
	}
	r.c.add(unknownField, place, fix, e)
}

// ofScaledObject are the fields that only a ScaledObject has.
var ofScaledObject = []string{"advanced", "cooldownPeriod", "fallback", "idleReplicaCount", "initialCooldownPeriod", "scaleTargetRef"}

// otherNames are the names of fields in other autoscalers, and one of KEDA's older documentation.
var otherNames = map[string]string{
	"MultipleScalersOption": "multipleScalersCalculation",
	"maxScale":              "maxReplicaCount", "maxJobs": "maxReplicaCount", "maxPods": "maxReplicaCount", "maxInstances": "maxReplicaCount", "max": "maxReplicaCount",
	"minScale": "minReplicaCount", "minJobs": "minReplicaCount", "minPods": "minReplicaCount", "minInstances": "minReplicaCount", "min": "minReplicaCount",
}

// meant returns the fix for an unknown field: the place where it belongs, or the name that it misspells.
func (r *reader) meant(at string, names []string) string {
	path := r.unknownAt(at)
	key, _ := path[len(path)-1].(string) // an index if a key with dots is the path of a list
	path = path[:len(path)-1]
	name := r.longer(path, key, names)
	if name != "" {
		return "Write " + path.Step(name).String()
	}
	if r.wraps(path, key, names) {
		return "Move what is below it to " + path.String()
	}
	if fix := r.belongs(path, key); fix != "" {
		return fix
	}
	if name = nearest(key, names); name == "" {
		name = cmp.Or(r.shorter(path, key, names), r.sameContent(path, key, names))
	}
	if name != "" {
		return "Write " + path.Step(name).String()
	}
	if other := otherNames[key]; other != "" && slices.Contains(names, other) {
		return "Write " + path.Step(other).String()
	}
	switch {
	case r.kind != manifest.GroupVersionKind.Kind:
		return fmt.Sprintf("Delete it; a %s has no such field", r.kind)
	case slices.Contains(ofScaledObject, key):
		return fmt.Sprintf("Delete it; only ScaledObjects have %s", key)
	}
	return "Delete it; a ScaledJob has no such field"
}

// shorter returns the field of which a key is a longer name: triggers for scalingTriggers.
func (r *reader) shorter(parent tree.Path, key string, names []string) string {
	const shortest = 6
	for _, name := range names {
		if len(name) >= shortest && endsWith(key, name) && r.free(parent, key, name) {
			return name
		}
	}
	return ""
}

// sameContent returns the only missing field that can hold the object below a key: jobTargetRef for jobTemplate.
func (r *reader) sameContent(parent tree.Path, key string, names []string) string {
	value := r.node(parent.Step(key)...)
	if value == nil || value.Kind != yaml.MappingNode || len(value.Content) == 0 || fits(reflect.TypeFor[map[string]string](), value) {
		return ""
	}
	fitting := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(r.homes(name, value), func(h home) bool { return !h.taken && slices.Equal(h.path, parent.Step(name)) })
	})
	if len(fitting) != 1 {
		return ""
	}
	r.c.moved[parent.Step(fitting[0]).String()] = true
	return fitting[0]
}

// longer returns the field of a small object of which a key is a shorter name: claimName for name.
func (r *reader) longer(parent tree.Path, key string, names []string) string {
	const small = 6
	fitting := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !endsWith(name, key) })
	if len(names) > small || len(fitting) != 1 || !r.free(parent, key, fitting[0]) {
		return ""
	}
	return fitting[0]
}

// wraps reports whether all that is below a key are fields of the key's object, which lacks them: spec within jobTargetRef.
func (r *reader) wraps(parent tree.Path, key string, names []string) bool {
	value := r.node(parent.Step(key)...)
	if value == nil || value.Kind != yaml.MappingNode || len(value.Content) == 0 {
		return false
	}
	for name := range tree.Entries(value) {
		if _, own := r.keys.Child(r.node(parent...), name.Value); own != nil || !slices.Contains(names, name.Value) {
			return false
		}
	}
	r.moves(parent.String(), value)
	return true
}

func endsWith(longer, shorter string) bool {
	return shorter != "" && strings.HasSuffix(strings.ToLower(longer), strings.ToLower(shorter))
}

// free reports whether an object lacks a field that can have the value of a key. It is no second finding then.
func (r *reader) free(parent tree.Path, key, name string) bool {
	for _, h := range r.homes(name, r.node(parent.Step(key)...)) {
		if !h.taken && slices.Equal(h.path, parent.Step(name)) {
			r.c.moved[h.path.String()] = true
			return true
		}
	}
	return false
}

// nearest returns the name that got misspells, or "".
func nearest(got string, names []string) string { return triggers.Nearest(got, names) }
