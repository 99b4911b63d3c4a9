package lint

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/field"
)

// typeAt returns the type of a path's value, or nil.
func typeAt(t reflect.Type, path tree.Path) reflect.Type {
	for _, step := range path {
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			index, found := field.Names(t)[fmt.Sprint(step)]
			if !found {
				return nil
			}
			t = t.FieldByIndex(index).Type
		default:
			return nil
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// rewritten returns what the author of a value of the wrong type meant, in the form of the field's type, or "".
func rewritten(t reflect.Type, path tree.Path, n *yaml.Node) string {
	if t == nil || n == nil || (n.Value == "" && n.Kind == yaml.ScalarNode) {
		return ""
	}
	key := fmt.Sprint(path[len(path)-1])
	scalar := n.Kind == yaml.ScalarNode
	switch {
	case t == reflect.TypeFor[resource.Quantity]() && scalar:
		comma := "."
		if thousands.MatchString(n.Value) {
			comma = ""
		}
		plain := strings.Replace(n.Value, ",", comma, 1)
		if plain != n.Value && !ambiguous.MatchString(n.Value) && fits(t, &yaml.Node{Kind: yaml.ScalarNode, Value: plain}) {
			return plain
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.MappingNode && fits(t.Elem(), n):
		return "a list, with - before the first key"
	case t.Kind() == reflect.Slice && n.Kind == yaml.MappingNode && key == "env":
		return "a list of items with name and value"
	case t.Kind() == reflect.Slice && scalar && t.Elem().Kind() == reflect.String:
		return listOfWords(key, n.Value)
	case t.Kind() == reflect.Slice && scalar:
		return wrapped("a list, such as [{%s: %s}]", t.Elem(), n)
	case t.Kind() == reflect.Struct && scalar:
		return wrapped("{%s: %s}", t, n)
	case (t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64) && scalar && (key == "pollingInterval" || strings.Contains(key, "Seconds")):
		if d, err := time.ParseDuration(n.Value); err == nil && d > 0 && d%time.Second == 0 {
			return fmt.Sprintf("%d (seconds), without a unit", int(d.Seconds()))
		}
	}
	return ""
}

// In thousands, of units that nobody divides, a comma separates thousands. In the ambiguous ones it may be a decimal comma.
var (
	thousands = regexp.MustCompile(`^[1-9][0-9]*,[0-9]{3}(?:m|k|Ki|M|Mi)$`)
	ambiguous = regexp.MustCompile(`^[1-9][0-9]*,[0-9]{3}(?:[^mkKM0-9].*)?$`)
)

// listOfWords splits a text at its spaces, unless it may need a shell.
func listOfWords(key, text string) string {
	switch {
	case !strings.ContainsAny(text, "\"'`\\\n$|&;<>(){}*?#~"):
		return `a list, such as ["` + strings.Join(strings.Fields(text), `", "`) + `"]`
	case key == "command":
		return `a list, such as ["sh", "-c", "…"]`
	}
	return "a list, with - before each item"
}

// onlyField is the field that says all, by the name of the type.
var onlyField = map[string]string{
	"AuthenticationRef": "name", "ConfigMapEnvSource": "name", "ConfigMapVolumeSource": "name", "LocalObjectReference": "name", "SecretEnvSource": "name",
	"Rollout": "strategy", "ScalingStrategy": "strategy",
}

// wrapped puts a value below the field of an object that it is meant for, or returns "".
func wrapped(format string, t reflect.Type, n *yaml.Node) string {
	name := onlyField[t.Name()]
	if name == "" || !fits(t.FieldByIndex(field.Names(t)[name]).Type, n) {
		return ""
	}
	return fmt.Sprintf(format, name, n.Value)
}
