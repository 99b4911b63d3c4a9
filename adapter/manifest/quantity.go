package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/field"
)

// CheckQuantities returns a [*field.Error] for each quantity of resources in a decoded object
// whose exponent has more than three digits. Package resource writes out all digits of
// 1e2147483647, which takes hours and gigabytes. Read calls CheckQuantities. Call it before
// the Job template of another kind of object is decoded.
func CheckQuantities(object map[string]any) error {
	var problems field.Errors
	quantities("", object, &problems)
	return problems.Err()
}

var longExponent = regexp.MustCompile(`^[^eE]*[eE][+-]?[0-9]{4}`)

func quantities(path string, node any, problems *field.Errors) {
	switch node := node.(type) {
	case []any:
		for i, item := range node {
			quantities(fmt.Sprintf("%s[%d]", path, i), item, problems)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			at := key
			if path != "" {
				at = path + "." + key
			}
			switch key {
			case "limits", "requests", "overhead", "sizeLimit", "divisor":
				quantity(at, node[key], problems)
			}
			quantities(at, node[key], problems)
		}
	}
}

// quantity checks a quantity, or each of a map.
func quantity(path string, node any, problems *field.Errors) {
	switch node := node.(type) {
	case string:
		if longExponent.MatchString(node) {
			problems.Add(field.Error{Path: path, Found: strconv.Quote(node), Fix: "a quantity with an exponent of at most three digits"})
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			if text, ok := node[key].(string); ok {
				quantity(path+"."+key, text, problems)
			}
		}
	}
}
