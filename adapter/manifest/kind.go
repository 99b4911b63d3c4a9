package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Found is an object of a text.
type Found[T any] struct {
	Kind string // "" if it has none; "List" of a list without items
	// Object is nil if it is of another kind, or has a value of another type.
	Object *T
	Tree   map[string]any // of Object, as it was read, with numbers as json.Number; nil of another kind
	Err    error          // every problem, joined; always nil of another kind
}

// ReadAs returns the objects of a kind in a text. An error has every problem; it is
// also an error if there is no such object.
func ReadAs[T any](k Kind, data []byte) ([]*T, error) {
	var objects []*T
	var others []string
	var problems field.Errors
	for _, f := range ObjectsAs[T](k, data) {
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
func ObjectsAs[T any](k Kind, data []byte) (found []Found[T]) {
	r := objectReader[T]{k}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return append(found, Found[T]{Err: notYAML(err)})
		}
		found = append(found, r.document(document)...)
	}
}

type objectReader[T any] struct{ kind Kind }

func (r *objectReader[T]) document(document []byte) []Found[T] {
	if directives.Match(document) {
		return nil
	}
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return []Found[T]{{Err: notYAML(err)}}
	}
	if string(data) == "null" {
		return nil
	}
	if hasMore(document) {
		return []Found[T]{{Err: errors.New("not YAML: found an object after the first; use --- between objects")}}
	}
	var tree map[string]any
	digits := json.NewDecoder(bytes.NewReader(data))
	digits.UseNumber()       // a float64 rounds numbers above 2^53
	_ = digits.Decode(&tree) // other values have no kind
	found := r.objects(tree)
	// The tree keeps only the last of equal keys.
	if _, err := yaml.YAMLToJSONStrict(document); err != nil && found[0].Kind == r.kind.Kind {
		found[0].Err = errors.Join(found[0].Err, plain(err))
	}
	return found
}

// hasMore reports whether another object follows an object of JSON. The parser drops it.
// YAML comments may come before each.
func hasMore(document []byte) bool {
	document = document[len(comments.Find(document)):]
	d := json.NewDecoder(bytes.NewReader(document))
	if d.Decode(&json.RawMessage{}) != nil {
		return false
	}
	remainder := document[d.InputOffset():]
	remainder = bytes.TrimSpace(remainder[len(comments.Find(remainder)):])
	return len(remainder) > 0 && (remainder[0] == '{' || remainder[0] == '[')
}

// objects returns the object, or the items of a list, at least one.
func (r *objectReader[T]) objects(tree map[string]any) (objects []Found[T]) {
	kind, _ := tree["kind"].(string)
	switch kind {
	case r.kind.Kind:
		return []Found[T]{r.object(tree)}
	case "List", r.kind.Kind + "List":
	default:
		return []Found[T]{{Kind: kind}}
	}
	items, _ := tree["items"].([]any)
	if len(items) == 0 {
		return []Found[T]{{Kind: "List"}}
	}
	for i, item := range items {
		tree, _ := item.(map[string]any)
		for _, found := range r.objects(tree) {
			var problems field.Errors
			problems.Join(fmt.Sprintf("items[%d]", i), found.Err)
			found.Err = problems.Err()
			objects = append(objects, found)
		}
	}
	return objects
}

func (r *objectReader[T]) object(tree map[string]any) Found[T] {
	var problems, mended field.Errors
	version := r.kind.GroupVersion().String()
	problems.Check(tree["apiVersion"] == version, "apiVersion", tree["apiVersion"], version)
	tree["apiVersion"] = version
	if r.kind.Mend != nil {
		r.kind.Mend(tree, &mended)
	}
	problems.Join("", mended.Err())
	object := new(T)
	data, err := json.Marshal(tree)
	if err == nil {
		var unknown error
		unknown, err = field.Decoder{Unknown: r.kind.instead, Form: Form, Quote: true}.Decode(data, object)
		problems.Join("", unknown)
	}
	problems.Join("", err)
	if err != nil || mended.Err() != nil {
		object = nil
	}
	return Found[T]{r.kind.Kind, object, tree, problems.Err()}
}

// instead returns the fix for a field that does not exist.
func (k *Kind) instead(path string, _ []string) string {
	return cmp.Or(k.Instead[path], k.Instead[path[strings.LastIndex(path, ".")+1:]], "a field that a "+k.Kind+" has")
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
	for _, words := range []string{"invalid map key: ", "unsupported map key of type: "} {
		if before, _, ok := strings.Cut(text, words); ok {
			text = before + "found a key that is not a string; use a string"
		}
	}
	return errors.New(strings.TrimSuffix(text, " in map"))
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOUaeiou") {
		return "an " + noun
	}
	return "a " + noun
}
