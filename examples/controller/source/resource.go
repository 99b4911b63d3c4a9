package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

type resourceQueue struct {
	client                       kubernetes.Interface
	namespace, kind, name, key   string
	format, location, numberKind string
}

func openResource(f *fields, client kubernetes.Interface) Queue {
	q := &resourceQueue{
		client:     client,
		namespace:  f.Namespace,
		kind:       f.required("resourceKind", "ConfigMap or Secret"),
		name:       f.required("resourceName", "the name of a ConfigMap or Secret in the ScaledJob's namespace"),
		key:        f.required("key", "a key of the object's data"),
		format:     f.choice(f.given("format"), "number", "json", "yaml"),
		numberKind: f.choice(f.given("valueType"), "float64", "int64", "quantity"),
	}
	if q.kind != "" {
		f.choice(f.given("resourceKind"), "ConfigMap", "Secret")
	}
	location := f.given("valueLocation")
	q.location = location.text
	switch {
	case q.format == "number" && location.text != "":
		f.wrong(location, "nothing, or the format json or yaml")
	case q.format != "number" && location.text == "":
		f.wrong(location, "where the value is, such as queue.length")
	}
	return q
}

// Length reads the object and the number at its key. An object or key that is not
// there is an error.
func (q *resourceQueue) Length(ctx context.Context) (Reading, error) {
	if err := ctx.Err(); err != nil {
		return Reading{}, fmt.Errorf("%s %s/%s: %w", q.kind, q.namespace, q.name, err)
	}
	data, err := objects{q.client, q.namespace}.data(ctx, q.kind, q.name)
	if err != nil {
		return Reading{}, ended(ctx, err)
	}
	r, err := q.read(data)
	if err != nil {
		return Reading{}, fmt.Errorf("%s %s/%s: key %q: %w", q.kind, q.namespace, q.name, q.key, err)
	}
	return r, nil
}

func (q *resourceQueue) read(data map[string]string) (Reading, error) {
	text, ok := data[q.key]
	if !ok {
		return Reading{}, errors.New("not found")
	}
	n, err := q.number(text)
	if err != nil {
		return Reading{}, err
	}
	return count(n)
}

func (q *resourceQueue) number(text string) (float64, error) {
	if q.format == "number" {
		return parse(strings.TrimSpace(text), q.numberKind)
	}
	at, err := look([]byte(text), q.format, q.location)
	if err != nil {
		return 0, fmt.Errorf("valueLocation %q: %w", q.location, err)
	}
	return measure(at, q.numberKind)
}

// objects are the ConfigMaps and Secrets of a namespace.
type objects struct {
	client    kubernetes.Interface
	namespace string
}

// data reads the object's values by their keys.
func (o objects) data(ctx context.Context, kind, name string) (data map[string]string, err error) {
	switch {
	case o.client == nil:
		err = errors.New("there is no client to read it")
	case kind == "ConfigMap":
		data, err = o.configMap(ctx, name)
	default:
		data, err = o.secret(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", kind, o.namespace, name, err)
	}
	return data, nil
}

func (o objects) configMap(ctx context.Context, name string) (map[string]string, error) {
	m, err := o.client.CoreV1().ConfigMaps(o.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

func (o objects) secret(ctx context.Context, name string) (map[string]string, error) {
	s, err := o.client.CoreV1().Secrets(o.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := make(map[string]string, len(s.Data))
	for k, v := range s.Data {
		data[k] = string(v)
	}
	return data, nil
}

// value reads a key of an object.
func (o objects) value(ctx context.Context, kind, name, key string) (string, error) {
	data, err := o.data(ctx, kind, name)
	if err != nil {
		return "", err
	}
	v, ok := data[key]
	if !ok {
		return "", &missingKey{kind + " " + o.namespace + "/" + name, key}
	}
	return v, nil
}

type missingKey struct{ object, key string }

func (e *missingKey) Error() string {
	return fmt.Sprintf("%s: key %q: not found", e.object, e.key)
}

// mostYAML is the size of the longest YAML document that is read. Parsing YAML
// takes a hundred times as long as parsing JSON, and memory of sixty times its size.
const mostYAML = 1 << 20

// look returns the value at location, a gjson path, of a document.
func look(document []byte, format, location string) (gjson.Result, error) {
	if format == "yaml" {
		if len(document) > mostYAML {
			return gjson.Result{}, fmt.Errorf("found more than %d bytes of YAML: want less, or JSON", mostYAML)
		}
		var err error
		if document, err = yaml.YAMLToJSON(document); err != nil {
			return gjson.Result{}, errors.New("not YAML")
		}
	}
	if !json.Valid(document) { // gjson has no limit on nesting, so that the stack would overflow
		return gjson.Result{}, errors.New("not JSON")
	}
	at := gjson.GetBytes(document, location)
	if !at.Exists() {
		return gjson.Result{}, errors.New("nothing is there")
	}
	return at, nil
}

// measure is a number of JSON, or a string that is a quantity.
func measure(at gjson.Result, kind string) (float64, error) {
	switch {
	case at.Type == gjson.Number:
		return parse(at.Raw, kind)
	case at.Type == gjson.String && kind != "int64":
		return parse(at.Str, "quantity")
	case kind == "int64":
		return 0, fmt.Errorf("found %s: want a whole number", strings.ToLower(at.Type.String()))
	}
	return 0, fmt.Errorf("found %s: want a number, or a string with a quantity such as 10k", strings.ToLower(at.Type.String()))
}

// shortExponent matches a text that package resource reads in little time: it writes out all
// digits of 1e1000000000.
var shortExponent = regexp.MustCompile(`^[^eE]{1,100}([eE][+-]?[0-9]{1,3}|E|Ei)?$`)

// parse reads text, all of it, as a float64, int64 or quantity. Its errors do not
// have the text, which may be a Secret's.
func parse(text, kind string) (float64, error) {
	switch kind {
	case "int64":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, errors.New("found no whole number")
		}
		return float64(n), nil
	case "quantity":
		q, err := resource.ParseQuantity(shortExponent.FindString(text))
		if err != nil {
			return 0, errors.New("found no quantity such as 20, 10k or 1.5Gi")
		}
		return q.AsApproximateFloat64(), nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return 0, errors.New("found no number")
	}
	return n, nil
}
