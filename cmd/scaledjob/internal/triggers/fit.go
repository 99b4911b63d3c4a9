package triggers

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goTypes are the types of parameters that KEDA reads as JSON.
var goTypes = map[string]reflect.Type{
	"int": reflect.TypeFor[int](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](), "float64": reflect.TypeFor[float64](), "float32": reflect.TypeFor[float32](),
}

// unfit returns "" if KEDA's parser accepts the text as the parameter's type, and else
// the form that it accepts.
func unfit(p Parameter, text string) string {
	name, list := strings.CutPrefix(p.Type, "[]")
	switch {
	case list && name != "string":
		return unfitList(p, name, text)
	case p.Type == "map":
		if slices.ContainsFunc(strings.Split(text, p.separator()), func(item string) bool { return strings.Count(item, "=") != 1 }) {
			return "pairs such as a=1" + p.separator() + "b=2"
		}
	case p.Type == "url.Values":
		if _, err := url.ParseQuery(text); err != nil {
			return "a URL query, such as a=b&c=d"
		}
	case p.Declared == "hand": // read by code that accepts more
		if _, err := strconv.ParseFloat(text, 64); goTypes[name] != nil && err != nil {
			return aNumber("float64")
		}
	default:
		return unfitOne(name, text)
	}
	return ""
}

func unfitList(p Parameter, name, text string) string {
	for item := range strings.SplitSeq(text, p.separator()) {
		if p.Range != "" && strings.Contains(item, p.Range) {
			first, last, _ := strings.Cut(strings.TrimSpace(item), p.Range)
			if unfitOne(name, first) != "" || unfitOne(name, last) != "" {
				return "numbers and ranges, such as 1,3,5" + p.Range + "9"
			}
		} else if want := unfitOne(name, strings.TrimSpace(item)); want != "" {
			return "a list of values with \"" + p.separator() + "\" between them, each " + want
		}
	}
	return ""
}

func unfitOne(name, text string) string {
	switch name {
	case "bool":
		if _, err := strconv.ParseBool(text); err != nil {
			return `"true" or "false"`
		}
	case "time.Duration", "Duration":
		d, err := time.ParseDuration(text)
		if n, other := strconv.ParseInt(text, 10, 64); err != nil && other == nil {
			d, err = time.Duration(n), nil
		}
		if err != nil || d < 0 {
			return "a duration such as 30s, or a number of milliseconds"
		}
	default:
		if t := goTypes[name]; t != nil && json.Unmarshal([]byte(text), reflect.New(t).Interface()) != nil {
			return aNumber(name)
		}
	}
	return ""
}

func aNumber(name string) string {
	kind := "a whole number"
	if strings.HasPrefix(name, "float") {
		kind = "a number"
	}
	return kind + `, such as "5"`
}
