package source

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// look is what stands at location, a gjson path, of a document.
func look(document []byte, format, location string) (gjson.Result, error) {
	if format == "yaml" {
		var err error
		if document, err = yaml.YAMLToJSON(document); err != nil {
			return gjson.Result{}, errors.New("not YAML")
		}
	}
	if !gjson.ValidBytes(document) {
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
		q, err := resource.ParseQuantity(text)
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
