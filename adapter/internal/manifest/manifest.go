// Package manifest reads the objects of one kind from YAML or JSON, strictly, and
// tells all problems at once.
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
)

// A Kind is what there is to know about the objects of one kind.
type Kind struct {
	schema.GroupVersionKind
	// Problem is the error of a field.
	Problem func(field, found, want string) error
	// Instead is what people mean by a field that does not exist, by its path or by
	// its name.
	Instead map[string]string
	// Mend turns values of another type into what they mean, and tells each; nil
	// mends nothing.
	Mend func(tree map[string]any) []error
}

// An Object is a pointer to a T.
type Object[T any] interface {
	*T
	runtime.Object
}

// Read reads the objects of the kind among the documents of a text; others are
// passed over. It is an error if there is none, and if one has a field that does not
// exist, a value of another type, or the same key twice.
func Read[T any, P Object[T]](k Kind, data []byte) ([]P, error) {
	var (
		found    []P
		others   []string
		problems []error
	)
	decoder := k.decoder(P(new(T)))
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		object := P(new(T))
		switch other, err := k.read(document, decoder, object); {
		case err != nil:
			problems = append(problems, err)
		case other == "":
			found = append(found, object)
		case other != nothing:
			others = append(others, other)
		}
	}
	switch {
	case len(problems) > 0:
		return nil, errors.Join(problems...)
	case len(found) == 0 && len(others) == 0:
		return nil, fmt.Errorf("no %s: the text is empty", k.Kind)
	case len(found) == 0:
		return nil, fmt.Errorf("no %s: found %s", k.Kind, strings.Join(others, ", "))
	}
	return found, nil
}

const nothing = "nothing"

// read reads the object, or returns what else the document is.
func (k *Kind) read(document []byte, decoder runtime.Decoder, object runtime.Object) (other string, err error) {
	var tree map[string]any
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return "", fmt.Errorf("not a YAML object: %w", err)
	}
	switch kind := tree["kind"]; {
	case len(tree) == 0:
		return nothing, nil
	case kind == nil || kind == "":
		return "an object without a kind", nil
	case kind != k.Kind:
		return fmt.Sprintf("a %v", kind), nil
	}
	if found, want := fmt.Sprint(tree["apiVersion"]), k.GroupVersion().String(); found != want {
		return "", k.Problem("apiVersion", found, want)
	}
	var problems []error
	if k.Mend != nil {
		problems = k.Mend(tree)
	}
	// Twice the same key is lost in the tree.
	if _, err := yaml.YAMLToJSONStrict(document); err != nil {
		problems = append(problems, err)
	}
	return "", errors.Join(append(problems, k.decode(tree, decoder, object))...)
}

// decoder refuses fields that the object does not have.
func (k *Kind) decoder(object runtime.Object) runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(k.GroupVersionKind, object)
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{Strict: true})
}

func (k *Kind) decode(tree map[string]any, decoder runtime.Decoder, object runtime.Object) error {
	data, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	_, _, err = decoder.Decode(data, &k.GroupVersionKind, object)
	unknown, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return k.ofType(err)
	}
	var problems []error
	for _, e := range unknown.Errors() {
		problems = append(problems, k.unknown(e))
	}
	return errors.Join(problems...)
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
	want := fmt.Sprintf("no such field: a %s does not have it", k.Kind)
	for _, name := range []string{m[1][strings.LastIndex(m[1], ".")+1:], m[1]} {
		if meant, ok := k.Instead[name]; ok {
			want = meant
		}
	}
	return k.Problem(m[1], "an unknown field", want)
}

func (k *Kind) ofType(err error) error {
	if err == nil {
		return nil
	}
	m := typePattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	want := "a value of type " + m[3]
	if m[3] == "string" {
		want = "a string, in quotes"
	}
	return k.Problem(m[2], "a "+m[1], want)
}
