package input

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/field"
)

// Decode reads a YAML document into a pointer, and checks the result. The error has each
// unknown field, each value of a wrong type and each problem that check finds, by line.
func Decode(s Source, into any, check func() error, help string) error {
	var document yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(s.Data))
	if err := documents.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return s.notYAML(0, fmt.Errorf("not YAML: %w", err))
	}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return fmt.Errorf("%s: empty; see scaledjob %s", s.Name, help)
	}
	root := document.Content[0]
	switch err := documents.Decode(&document); {
	case err == nil && document.Content[0].Tag != "!!null":
		return fmt.Errorf("%s:%d: found a second document; use one", s.Name, document.Line)
	case err != nil && !errors.Is(err, io.EOF):
		return s.notYAML(0, fmt.Errorf("not YAML: %w", err))
	}
	err := strictly(s.Data, into)
	d := decoder{decoded: err == nil}
	if err != nil {
		if _, err := k8syaml.YAMLToJSON(s.Data); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		spellNulls(root)
	}
	d.value(root, reflect.TypeOf(into), "")
	if err != nil {
		if len(d.problems) == 0 {
			return fmt.Errorf("%s: %w", s.Name, Plain(err))
		}
		data, err := jsonOf(root) // without the wrong values
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, Plain(err))
		}
	}
	d.check(root, check())
	slices.SortStableFunc(d.problems, func(a, b located) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for _, p := range d.problems {
		all = append(all, fmt.Errorf("%s:%d: %w", s.Name, p.line, p.err))
	}
	return errors.Join(all...)
}

// strictly decodes YAML without unknown and repeated fields, whatever their case. The error
// is the first.
func strictly(data []byte, into any) error {
	data, err := k8syaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// located is a problem at a line.
type located struct {
	path string
	line int
	err  error
}

// A decoder collects the problems of a document.
type decoder struct {
	decoded  bool // each value fits its type
	problems []located
}

func (d *decoder) add(path string, line int, err error) {
	d.problems = append(d.problems, located{path, line, err})
}

// value reports the parts of a node that a Go type cannot hold, and empties them. An empty
// part is a problem too: in a test, it would be an expectation that nothing checks.
func (d *decoder) value(n *yaml.Node, t reflect.Type, path string) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	v := reflect.New(t)
	opaque := reflects[json.Unmarshaler](v) || reflects[encoding.TextUnmarshaler](v)
	switch {
	case n.Tag == "!!null" && n.Column == 0: // emptied, and used again by an alias
	case n.Tag == "!!null":
		d.add(path, n.Line, fmt.Errorf("%s: found nothing; use a value, or leave the field out", path))
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode && !opaque:
		d.fields(n, t, path)
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode && !opaque:
		for i, c := range n.Content {
			d.value(c, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case d.decoded:
	default:
		if err := leaf(n, t); err != nil {
			d.add(path, n.Line, fmt.Errorf("%s: %w", cmp.Or(path, "the document"), err))
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Anchor: n.Anchor, Line: n.Line}
		}
	}
}

// fields is value for a map.
func (d *decoder) fields(n *yaml.Node, t reflect.Type, path string) {
	types := map[string]reflect.Type{}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			types[name] = f.Type
			names = append(names, name)
		}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		of, known := types[key.Value]
		switch {
		case key.Tag == "!!merge":
			d.merged(value, t, path)
		case !known:
			err := fmt.Errorf("unknown field %q", key.Value)
			if near := triggers.Nearest(key.Value, names); near != "" {
				err = fmt.Errorf("%w; use %s", err, near)
				at = strings.TrimPrefix(path+"."+near, ".") // which is therefore missing
			}
			d.add(at, key.Line, err)
		case seen[key.Value]:
			d.add(at, key.Line, fmt.Errorf("%s: found twice; use it once", at))
		default:
			d.value(value, of, at)
		}
		seen[key.Value] = true
	}
}

// merged is fields for the maps that << adds.
func (d *decoder) merged(n *yaml.Node, t reflect.Type, path string) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.merged(n.Alias, t, path)
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			d.merged(c, t, path)
		}
	case n.Kind == yaml.MappingNode:
		d.fields(n, t, path)
	}
}

// check adds the problems that a check found, other than those that follow from a wrong
// value: they are about the field, a field in it, or a field that it is in.
func (d *decoder) check(root *yaml.Node, err error) {
	wrong := d.problems
	for _, problem := range Problems(err) {
		found, ok := errors.AsType[*field.Error](problem)
		if !ok {
			d.add("", root.Line, problem)
			continue
		}
		follows := func(p located) bool { return within(found.Path, p.path) || within(p.path, found.Path) }
		if !slices.ContainsFunc(wrong, follows) {
			d.add(found.Path, lineOf(root, found.Path), problem)
		}
	}
}

// within reports whether a path is another or begins with it.
func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (other == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// leaf returns why a type cannot hold a value.
func leaf(n *yaml.Node, t reflect.Type) error {
	data, err := jsonOf(n)
	if err != nil {
		return err
	}
	into := reflect.New(t).Interface()
	err = json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
		return err
	}
	text, ok := into.(encoding.TextUnmarshaler)
	if ok && n.Kind == yaml.ScalarNode {
		if err := text.UnmarshalText([]byte(n.Value)); err != nil {
			return err
		}
	}
	found := map[yaml.Kind]string{yaml.MappingNode: "a map", yaml.SequenceNode: "a list", yaml.ScalarNode: n.Value}[n.Kind]
	if n.Tag == "!!str" {
		found = strconv.Quote(n.Value)
	}
	return fmt.Errorf("found %s; use %s", found, wanted(n, t))
}

// wanted names the values of a type.
func wanted(n *yaml.Node, t reflect.Type) string {
	switch v := reflect.New(t); {
	case reflects[encoding.TextUnmarshaler](v), t.Kind() == reflect.String:
		return "text, in quotes if it looks like a number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case v.Elem().CanUint():
		return "a whole number of 0 or more"
	case v.Elem().CanInt() && n.Tag == "!!int":
		return "a whole number closer to 0"
	case v.Elem().CanInt():
		return "a whole number"
	case v.Elem().CanFloat():
		return "a number"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a map"
}

// reflects reports whether a value is of an interface.
func reflects[T any](v reflect.Value) bool {
	_, ok := v.Interface().(T)
	return ok
}

// spellNulls writes out the values that are left empty, which the encoder takes for texts.
func spellNulls(n *yaml.Node) {
	if n.Tag == "!!null" {
		n.Value = "null"
	}
	for _, c := range n.Content {
		spellNulls(c)
	}
}

// jsonOf returns a node as JSON.
func jsonOf(n *yaml.Node) ([]byte, error) {
	data, err := yaml.Marshal(n)
	if err != nil {
		return nil, err
	}
	return k8syaml.YAMLToJSON(data)
}

// lineOf is the line of the field at a path such as queues[0].arrivals, or of as much
// of the path as there is.
func lineOf(n *yaml.Node, path string) int {
	line := n.Line
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(n, step)
		if next == nil {
			return line
		}
		n, line = next, next.Line
	}
	return line
}

func child(n *yaml.Node, step string) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i+1]
		}
	}
	return nil
}

// Plain replaces the types of a JSON decoder by the field and the value.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	found := report.Article(strings.Fields(wrong.Value + " value")[0])
	if wrong.Field == "" {
		return fmt.Errorf("found %s", found)
	}
	return fmt.Errorf("%s: found %s", strings.TrimPrefix(wrong.Field, "Scenario."), found) // which is embedded
}
