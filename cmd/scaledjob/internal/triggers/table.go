// Package triggers holds the parameters of KEDA's scalers, as each release of KEDA since
// 2.8 declares them, and finds the problems of a trigger's metadata.
//
// The table is generated from KEDA's source code by test/conformance/triggers. Since 2.18,
// KEDA's scalers declare their parameters in struct tags: name, place, type, default,
// allowed values. For earlier releases the table holds the names and places that the code
// reads, and only unknown keys are reported.
//
// KEDA's scalers-schema.json is not the source. It is of one release, lacks 79 of the 1,171
// parameters of 2.21, and loses two facts of the struct tags: in which order a scaler reads
// the places (298 parameters have several) and which names are alternatives (57 parameters).
//
// The rules are in a list for each family of types and not for each of the 80 types: types of a
// family share their parameters and rules, and most types have fewer than ten lines of their own.
// The lists are in broker.go, cloud.go, cron.go and service.go.
//
// KEDA checks further rules in code. [Rules] lists the known rules, with KEDA's messages.
package triggers

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Parameter is a parameter of a trigger.
type Parameter struct {
	Releases string   `json:"releases"` // first and last minor release: "2.8 2.21"
	Names    []string `json:"names"`    // the first name that has a value counts
	// From holds the places in KEDA's order: m is the metadata, e the environment variable
	// named by the key with the suffix FromEnv, a the TriggerAuthentication.
	From string `json:"from"`
	// Declared is "tag" if a struct tag of KEDA's declares the parameter, and "hand" if a
	// person read its declaration in the source code. If it is "", only Names and From are
	// known.
	Declared   string   `json:"declared,omitempty"`
	Type       string   `json:"type,omitempty"` // Go's name
	Required   bool     `json:"required,omitempty"`
	Default    string   `json:"default,omitempty"`
	Enum       []string `json:"enum,omitempty"`
	Exclusive  []string `json:"exclusive,omitempty"`  // at most one may be given
	Separator  string   `json:"separator,omitempty"`  // of lists; "" is a comma
	Range      string   `json:"range,omitempty"`      // between the ends of a range in a list; "" is no ranges
	Deprecated string   `json:"deprecated,omitempty"` // KEDA refuses the key
	Announced  string   `json:"announced,omitempty"`  // KEDA accepts the key, and announces its removal
}

func (p *Parameter) separator() string { return cmp.Or(p.Separator, ",") }

// A Type is a type of trigger.
type Type struct {
	Releases   string      `json:"releases"` // first and last minor release
	Open       bool        `json:"open"`     // keys that no list has may count: the scaler ranges over the metadata
	Parameters []Parameter `json:"parameters"`
}

//go:embed table.json
var tableJSON []byte

var table = sync.OnceValue(func() map[string]Type {
	var t map[string]Type
	if err := json.Unmarshal(tableJSON, &t); err != nil {
		panic(err) // the table is generated
	}
	return t
})

// Within reports whether a release such as "2.18.1" is within releases such as
// "2.8 2.21", or "2.8" for all later ones.
func Within(release, releases string) bool {
	first, last, ends := strings.Cut(releases, " ")
	return Minor(first) <= Minor(release) && (!ends || Minor(release) <= Minor(last))
}

// Minor returns the minor of a release: 18 of "2.18.1".
func Minor(release string) int {
	parts := strings.Split(release, ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

// Covers reports whether the table has the release: 2.8 or later.
func Covers(release string) bool { return Within(release, table()["rabbitmq"].Releases) }

var types = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(table())) })

// Types returns the types of triggers that any release has, sorted. The caller must not
// modify the list.
func Types() []string { return types() }

// A Declaration holds the parameters of a type in a release.
type Declaration struct {
	Parameters []Parameter
	// Open is true if the scaler ranges over the metadata, so that any key may count.
	Open bool
	// Full is true if the parameters are declared. Else only their names are known.
	Full bool
	keys []string
}

// declared holds the declarations of all types by their minor release.
var declared = sync.OnceValue(func() map[string]map[int]Declaration {
	declarations := map[string]map[int]Declaration{}
	for name, k := range table() {
		declarations[name] = map[int]Declaration{}
		first, last, _ := strings.Cut(k.Releases, " ")
		for n := Minor(first); n <= Minor(last); n++ {
			d := Declaration{Open: k.Open, Full: n >= 18}
			for _, p := range k.Parameters {
				if Within("2."+strconv.Itoa(n), p.Releases) {
					d.Parameters = append(d.Parameters, p)
				}
			}
			d.keys = keysOf(d.Parameters)
			declarations[name][n] = d
		}
	}
	return declarations
})

// Lookup returns the declaration of a type in a release, such as "2.21.0". It reports
// whether the release has the type. The caller must not modify the declaration.
func Lookup(name, release string) (Declaration, bool) {
	d, ok := declared()[name][Minor(release)]
	return d, ok
}

// Keys returns the keys of the metadata that the scaler reads, sorted.
func (d Declaration) Keys() []string { return d.keys }

func keysOf(parameters []Parameter) []string {
	keys := map[string]bool{}
	for _, p := range parameters {
		for _, name := range p.Names {
			if strings.Contains(p.From, "m") {
				keys[name] = true
			}
			if strings.Contains(p.From, "e") {
				keys[name+"FromEnv"] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// HasKey reports whether any release reads a key of the metadata.
func HasKey(name, key string) bool {
	for _, d := range declared()[name] {
		if slices.Contains(d.keys, key) {
			return true
		}
	}
	return false
}

// AuthenticationParameters returns the parameters that a scaler takes from a
// TriggerAuthentication in any release. It reports whether the scaler takes all, or whether
// the type is unknown.
func AuthenticationParameters(name string) (names []string, open bool) {
	k, ok := table()[name]
	for _, p := range k.Parameters {
		if strings.Contains(p.From, "a") {
			names = append(names, p.Names...)
		}
	}
	return names, k.Open || !ok
}

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
