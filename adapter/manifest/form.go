package manifest

import (
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var forms = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():        "a time such as 2026-01-01T00:00:00Z",
	reflect.TypeFor[metav1.MicroTime]():   "a time such as 2026-01-01T00:00:00.000000Z",
	reflect.TypeFor[metav1.Duration]():    "a duration such as 1m30s",
	reflect.TypeFor[intstr.IntOrString](): "a whole number or a string",
	reflect.TypeFor[resource.Quantity]():  "a quantity such as 500m or 512Mi",
}

var longExponent = regexp.MustCompile(`^[^eE]*[eE][+-]?[0-9]{4}`)

// Form describes the values of Kubernetes' types for a [field.Decoder]. It rejects a quantity whose
// exponent has more than three digits: package resource writes out all digits of 1e2147483647,
// which takes hours and gigabytes.
func Form(t reflect.Type, data []byte) (form string, ok bool) {
	if t == reflect.TypeFor[resource.Quantity]() && longExponent.Match(data) {
		return "a quantity with an exponent of at most three digits", false
	}
	return forms[t], true
}
