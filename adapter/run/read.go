package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
)

// ReadScheduledJobs reads the ScheduledJobs among the documents of a YAML or JSON
// text; documents of other kinds are passed over. It is an error if there is none,
// and if one has a field that a ScheduledJob does not have, a value of another
// type, or the same key twice. All that can be found in one pass is returned at
// once, joined, as [*adapter.FieldError] where it is a field's. What a ScheduledJob
// says is checked by [ScheduledJob.Config].
func ReadScheduledJobs(data []byte) ([]*ScheduledJob, error) {
	var (
		found    []*ScheduledJob
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
		return nil, errors.New("no ScheduledJob: the text is empty")
	case len(found) == 0:
		return nil, fmt.Errorf("no ScheduledJob: found %s", strings.Join(others, ", "))
	}
	return found, nil
}

// readDocument returns a ScheduledJob, or what else the document is.
func readDocument(document []byte) (s *ScheduledJob, other string, err error) {
	var head struct{ APIVersion, Kind any }
	if err := yaml.Unmarshal(document, &head); err != nil {
		return nil, "", fmt.Errorf("not a YAML object: %w", err)
	}
	switch {
	case head.Kind == GroupVersionKind.Kind:
	case head.Kind != nil:
		return nil, fmt.Sprintf("a %v", head.Kind), nil
	case isEmpty(document):
		return nil, "", nil
	default:
		return nil, "an object without a kind", nil
	}
	if v, want := fmt.Sprint(head.APIVersion), GroupVersionKind.GroupVersion().String(); v != want {
		return nil, "", &adapter.FieldError{Path: "apiVersion", Found: v, Want: want}
	}
	s = new(ScheduledJob)
	if _, _, err = strict.Decode(document, &GroupVersionKind, s); err == nil {
		return s, "", nil
	}
	return nil, "", decodingError(err)
}

func isEmpty(document []byte) bool {
	var tree map[string]any
	return yaml.Unmarshal(document, &tree) == nil && len(tree) == 0
}

var strict = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(GroupVersionKind, &ScheduledJob{})
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme,
		serializer.SerializerOptions{Yaml: true, Strict: true})
}()

func decodingError(err error) error {
	unknown, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return fieldOfType(err)
	}
	var problems []error
	for _, e := range unknown.Errors() {
		problems = append(problems, unknownField(e))
	}
	return errors.Join(problems...)
}

var (
	unknownPattern = regexp.MustCompile(`unknown field "(.*)"`)
	typePattern    = regexp.MustCompile(`cannot unmarshal (.+) into Go struct field \w+\.(.+) of type (.+)$`)
)

// instead is what people meant by a field that does not exist.
var instead = map[string]string{
	"spec.jobTemplate":       "spec.template, of the pods (jobTemplate is a CronJob's)",
	"spec.concurrencyPolicy": "spec.allowConcurrentRun (concurrencyPolicy is a CronJob's)",
	"spec.timeZone":          "spec.schedule.timeZone",
	"spec.timeSpec":          "spec.schedule.timeSpec",
	"spec.backoffLimit":      "spec.maxRestart",
	"spec.parallelism":       "spec.podCount",
	"spec.completions":       "spec.podCount",
}

func unknownField(err error) error {
	m := unknownPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	want := "no such field: a ScheduledJob does not have it"
	if meant, ok := instead[m[1]]; ok {
		want = meant
	}
	return &adapter.FieldError{Path: m[1], Found: "an unknown field", Want: want}
}

func fieldOfType(err error) error {
	m := typePattern.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	want := "a value of type " + m[3]
	if m[3] == "string" {
		want = "a string, in quotes"
	}
	return &adapter.FieldError{Path: m[2], Found: "a " + m[1], Want: want}
}
