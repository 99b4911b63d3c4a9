package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/field"
)

// A Kind describes a kind of objects.
type Kind struct {
	schema.GroupVersionKind
	// Instead has the fix for a field that does not exist, by its path or its name.
	Instead map[string]string
	// Mend adds a problem for each value of another type that has an obvious fix, and
	// applies the fix to the tree. nil mends nothing.
	Mend func(tree map[string]any, problems *field.Errors)
}

// A Pointer is a pointer to a T that is an object.
type Pointer[T any] interface {
	*T
	runtime.Object
}

// Found is an object of a text.
type Found[P any] struct {
	Kind string // "" if it has none; "List" of a list without items
	// Object is nil if it is of another kind, or has a value of another type.
	Object P
	Err    error // every problem, joined; always nil of another kind
}

// ReadAs returns the objects of a kind in a text. An error has every problem; it is
// also an error if there is no such object.
func ReadAs[T any, P Pointer[T]](k Kind, data []byte) ([]P, error) {
	var objects []P
	var others []string
	var problems field.Errors
	for _, f := range ObjectsAs[T, P](k, data) {
		problems.Join("", f.Err)
		switch {
		case f.Object != nil:
			objects = append(objects, f.Object)
		case f.Kind == "":
			others = append(others, "an object without a kind")
		default:
			others = append(others, article(f.Kind))
		}
	}
	switch err := problems.Err(); {
	case err != nil:
		return nil, err
	case len(objects) > 0:
		return objects, nil
	case len(others) > 0:
		return nil, fmt.Errorf("no %s: found %s", k.Kind, strings.Join(others, ", "))
	}
	return nil, fmt.Errorf("no %s: the text is empty", k.Kind)
}

// ObjectsAs returns every object of a text, also the items of its lists.
func ObjectsAs[T any, P Pointer[T]](k Kind, data []byte) (all []Found[P]) {
	r := objectReader[T, P]{k, k.decoder(P(new(T)))}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			return append(all, Found[P]{Err: notYAML(err)})
		}
		all = append(all, r.document(document)...)
	}
}

type objectReader[T any, P Pointer[T]] struct {
	kind    Kind
	decoder runtime.Decoder
}

func (r *objectReader[T, P]) document(document []byte) []Found[P] {
	if directives.Match(document) {
		return nil
	}
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return []Found[P]{{Err: notYAML(err)}}
	}
	if string(data) == "null" {
		return nil
	}
	if again(document) {
		return []Found[P]{{Err: errors.New("not YAML: found an object after the first; use --- between objects")}}
	}
	var tree map[string]any
	_ = json.Unmarshal(data, &tree) // other values have no kind
	all := r.objects(tree)
	// The tree keeps only the last of equal keys.
	if _, err := yaml.YAMLToJSONStrict(document); err != nil && all[0].Kind == r.kind.Kind {
		all[0].Err = errors.Join(all[0].Err, plain(err))
	}
	return all
}

// again reports whether another object follows an object of JSON. The parser drops it.
// YAML comments may come before each.
func again(document []byte) bool {
	document = document[len(comments.Find(document)):]
	d := json.NewDecoder(bytes.NewReader(document))
	if d.Decode(&json.RawMessage{}) != nil {
		return false
	}
	rest := document[d.InputOffset():]
	rest = bytes.TrimSpace(rest[len(comments.Find(rest)):])
	return len(rest) > 0 && (rest[0] == '{' || rest[0] == '[')
}

// objects returns the object, or the items of a list, at least one.
func (r *objectReader[T, P]) objects(tree map[string]any) (all []Found[P]) {
	kind, _ := tree["kind"].(string)
	switch kind {
	case r.kind.Kind:
		return []Found[P]{r.object(tree)}
	case "List", r.kind.Kind + "List":
	default:
		return []Found[P]{{Kind: kind}}
	}
	items, _ := tree["items"].([]any)
	if len(items) == 0 {
		return []Found[P]{{Kind: "List"}}
	}
	for i, item := range items {
		tree, _ := item.(map[string]any)
		for _, found := range r.objects(tree) {
			var problems field.Errors
			problems.Join(fmt.Sprintf("items[%d]", i), found.Err)
			found.Err = problems.Err()
			all = append(all, found)
		}
	}
	return all
}

func (r *objectReader[T, P]) object(tree map[string]any) Found[P] {
	var problems, mended field.Errors
	version := r.kind.GroupVersion().String()
	problems.Check(tree["apiVersion"] == version, "apiVersion", tree["apiVersion"], version)
	tree["apiVersion"] = version
	if r.kind.Mend != nil {
		r.kind.Mend(tree, &mended)
	}
	problems.Join("", mended.Err())
	if err := CheckQuantities(tree); err != nil { // which could not be decoded in reasonable time
		problems.Join("", err)
		return Found[P]{r.kind.Kind, nil, problems.Err()}
	}
	object := P(new(T))
	strict, err := r.kind.decode(tree, r.decoder, object)
	problems.Join("", strict)
	problems.Join("", err)
	if err != nil || mended.Err() != nil {
		object = nil
	}
	return Found[P]{r.kind.Kind, object, problems.Err()}
}

// decoder rejects fields that the object does not have.
func (k *Kind) decoder(object runtime.Object) runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(k.GroupVersionKind, object)
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{Strict: true})
}

// decode returns the problems of an object, whether it could be decoded or not.
func (k *Kind) decode(tree map[string]any, decoder runtime.Decoder, object runtime.Object) (strict, err error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	_, _, err = decoder.Decode(data, &k.GroupVersionKind, object)
	unknown, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil, ofType(err)
	}
	var problems field.Errors
	for _, e := range unknown.Errors() {
		problems.Join("", k.unknown(e))
	}
	return problems.Err(), nil
}

// directives match the lines before the first document, such as %YAML 1.1.
var directives = regexp.MustCompile(`^(?:\s*[%#].*\n?)+$`)

// comments match the comments at the start of a text, to the end of their lines.
var comments = regexp.MustCompile(`^(?:\s*#.*\n)*`)

// notYAML returns the error of a text that does not parse.
func notYAML(err error) error { return fmt.Errorf("not YAML: %w", plain(err)) }

// plain returns the error of a parser without the parser's name and types.
func plain(err error) error {
	text := strings.NewReplacer("yaml: ", "", "unmarshal errors:\n  ", "", "\n  ", "; ", "error converting YAML to JSON: ", "", "json: unsupported value: ", "no JSON has the number ",
		"did not find expected node content", "found a character that begins no value").Replace(err.Error())
	if before, _, ok := strings.Cut(text, "invalid map key: "); ok {
		text = before + "found a map or a list as a key; use a string"
	}
	return errors.New(strings.TrimSuffix(text, " in map"))
}

// wanted names a type of Go in the words of YAML.
func wanted(name string) string {
	switch {
	case name == "string":
		return "a string, in quotes"
	case name == "bool":
		return "true or false"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	}
	return "an object"
}

var (
	unknownPattern = regexp.MustCompile(`unknown field "(.*)"`)
	typePattern    = regexp.MustCompile(`cannot unmarshal (.+) into Go struct field \w+\.(.+) of type (.+)$`)
)

func (k *Kind) unknown(err error) error {
	m := unknownPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	fix := fmt.Sprintf("a field that a %s has", k.Kind)
	for _, name := range []string{m[1][strings.LastIndex(m[1], ".")+1:], m[1]} {
		if instead, ok := k.Instead[name]; ok {
			fix = instead
		}
	}
	return &field.Error{Path: m[1], Found: "an unknown field", Fix: fix}
}

func ofType(err error) error {
	if err == nil {
		return nil
	}
	m := typePattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	fix := wanted(strings.TrimLeft(m[3], "*"))
	return &field.Error{Path: m[2], Found: article(m[1]), Fix: fix}
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOUaeiou") {
		return "an " + noun
	}
	return "a " + noun
}
