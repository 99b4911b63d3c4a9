package adapter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// A FieldError is one problem of a manifest.
type FieldError struct {
	Path  string // such as spec.triggers[0].metadata.queueLength
	Found string // what stands there
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: found %s: want %s", e.Path, e.Found, e.Want)
}

// ReadScaledJobs reads the ScaledJobs among the documents of a YAML or JSON
// text; documents of other kinds are passed over. It is an error if there is
// none, and if one has a field that a ScaledJob does not have, a value of another
// type, or the same key twice. All that can be found in one pass is returned at
// once, joined, as [*FieldError] where it is a field's. What a ScaledJob says is
// checked by [ScaledJob.Config].
func ReadScaledJobs(data []byte) ([]*ScaledJob, error) {
	var (
		found    []*ScaledJob
		others   []string
		problems []error
	)
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		s, other, err := readDocument(document)
		switch {
		case err != nil:
			problems = append(problems, err)
		case s != nil:
			found = append(found, s)
		case other != "":
			others = append(others, other)
		}
	}
	switch {
	case len(problems) > 0:
		return nil, errors.Join(problems...)
	case len(found) == 0 && len(others) == 0:
		return nil, errors.New("no ScaledJob: the text is empty")
	case len(found) == 0:
		return nil, fmt.Errorf("no ScaledJob: found %s", strings.Join(others, ", "))
	}
	return found, nil
}

// readDocument returns a ScaledJob, or what else the document is.
func readDocument(document []byte) (s *ScaledJob, other string, err error) {
	var tree map[string]any
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, "", fmt.Errorf("not a YAML object: %w", err)
	}
	if len(tree) == 0 {
		return nil, "", nil
	}
	kind, _ := tree["kind"].(string)
	if kind != GroupVersionKind.Kind {
		if kind == "" {
			return nil, "an object without a kind", nil
		}
		return nil, "a " + kind, nil
	}
	if v, want := fmt.Sprint(tree["apiVersion"]), GroupVersionKind.GroupVersion().String(); v != want {
		return nil, "", &FieldError{"apiVersion", v, want}
	}
	problems := quote(tree)
	// Twice the same key is lost in the tree.
	if _, err := yaml.YAMLToJSONStrict(document); err != nil {
		problems = append(problems, err)
	}
	s, err = decode(tree)
	return s, "", errors.Join(append(problems, err)...)
}

// quote turns values that must be strings into strings, and tells each one that
// was not.
func quote(tree map[string]any) []error {
	var problems []error
	check := func(path string, m any) {
		values, _ := m.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			switch v := values[key].(type) {
			case string, nil, []any, map[string]any:
			default:
				problems = append(problems, &FieldError{path + "." + key, fmt.Sprintf("%v, which YAML reads as a %s", v, typeOf(v)),
					fmt.Sprintf("a string in quotes: %s: %q", key, fmt.Sprint(v))})
				values[key] = fmt.Sprint(v)
			}
		}
	}
	metadata, _ := tree["metadata"].(map[string]any)
	check("metadata.labels", metadata["labels"])
	check("metadata.annotations", metadata["annotations"])
	spec, _ := tree["spec"].(map[string]any)
	triggers, _ := spec["triggers"].([]any)
	for i, t := range triggers {
		trigger, _ := t.(map[string]any)
		check(fmt.Sprintf("spec.triggers[%d].metadata", i), trigger["metadata"])
	}
	if scaling, ok := spec["scalingStrategy"].(map[string]any); ok {
		const key = "customScalingRunningJobPercentage"
		if v, ok := scaling[key]; ok {
			only := map[string]any{key: v}
			check("spec.scalingStrategy", only)
			scaling[key] = only[key]
		}
	}
	return problems
}

func typeOf(v any) string {
	if _, ok := v.(bool); ok {
		return "boolean"
	}
	return "number"
}

var strict = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(GroupVersionKind, &ScaledJob{})
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{Strict: true})
}()

// decode reads the tree, with every unknown field as an error.
func decode(tree map[string]any) (*ScaledJob, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	s := new(ScaledJob)
	_, _, err = strict.Decode(data, &GroupVersionKind, s)
	if err == nil {
		return s, nil
	}
	if unknown, ok := runtime.AsStrictDecodingError(err); ok {
		var problems []error
		for _, e := range unknown.Errors() {
			problems = append(problems, unknownField(e))
		}
		return nil, errors.Join(problems...)
	}
	return nil, fieldOfType(err)
}

var (
	unknownPattern = regexp.MustCompile(`unknown field "(.*)"`)
	typePattern    = regexp.MustCompile(`cannot unmarshal (.+) into Go struct field \w+\.(.+) of type (.+)$`)
)

// instead is what people meant by a field that does not exist.
var instead = map[string]string{
	"customPendingPodConditions": "spec.scalingStrategy.pendingPodConditions",
	"scalingStategy":             "spec.scalingStrategy",
	"scaleTargetRef":             "spec.jobTargetRef (scaleTargetRef is a ScaledObject's)",
	"cooldownPeriod":             "nothing (cooldownPeriod is a ScaledObject's)",
	"fallback":                   "nothing (fallback is a ScaledObject's)",
	"advanced":                   "nothing (advanced is a ScaledObject's)",
}

func unknownField(err error) error {
	m := unknownPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	want := "no such field: a ScaledJob does not have it"
	if meant, ok := instead[m[1][strings.LastIndex(m[1], ".")+1:]]; ok {
		want = meant
	}
	return &FieldError{m[1], "an unknown field", want}
}

func fieldOfType(err error) error {
	if m := typePattern.FindStringSubmatch(err.Error()); m != nil {
		return &FieldError{m[2], "a " + m[1], "a value of type " + m[3]}
	}
	return err
}
