//go:build !older

package conformance

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/test/premise"
)

var mirrorTypes = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int](), "int64": reflect.TypeFor[int64](),
	"uint32": reflect.TypeFor[uint32](), "float64": reflect.TypeFor[float64](), "[]string": reflect.TypeFor[[]string](), "[]int": reflect.TypeFor[[]int](),
	"time.Duration": reflect.TypeFor[time.Duration](), "url.Values": reflect.TypeFor[url.Values](), "map": reflect.TypeFor[map[string]string](),
	"azquery.AggregationType": reflect.TypeFor[string](),
}

var places = map[rune]string{'m': "triggerMetadata", 'e': "resolvedEnv", 'a': "authParams"}

// mirror makes a struct with the tags of a declaration, such as a scaler of KEDA has.
func mirror(t interface{ Fatalf(string, ...any) }, d triggers.Declaration) any {
	fields := []reflect.StructField{{Name: "TriggerIndex", Type: reflect.TypeFor[int]()}}
	for i, p := range d.Parameters {
		if p.Declared == "" {
			continue
		}
		kind := mirrorTypes[p.Type]
		if kind == nil {
			t.Fatalf("%v has type %q", p.Names, p.Type)
		}
		var order []string
		for _, place := range p.From {
			order = append(order, places[place])
		}
		tag := "name=" + strings.Join(p.Names, ";") + ",order=" + strings.Join(order, ";")
		for key, value := range map[string]string{"default": p.Default, "enum": strings.Join(p.Enum, ";"), "exclusiveSet": strings.Join(p.Exclusive, ";"),
			"separator": p.Separator, "range": p.Range, "deprecated": p.Deprecated} {
			if value != "" {
				tag += "," + key + "=" + value
			}
		}
		if !p.Required {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kind, Tag: reflect.StructTag(`keda:"` + strings.ReplaceAll(tag, `"`, `\"`) + `"`)})
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// texts are values, right for some types and wrong for others.
var texts = []string{"x", "5", " 7 ", "-1", "1.5", "true", "no", "", "  ", "1,2", "1-3", "a=b", "30s", "-5s", "1e3", "+5", "05", "http://a", "a;b", "%zz", "99999999999999999999"}

// drawInput draws a value of some parameters at each of their places.
func drawInput(t *rapid.T, d triggers.Declaration) *scalersconfig.ScalerConfig {
	c := &scalersconfig.ScalerConfig{TriggerMetadata: map[string]string{}, AuthParams: map[string]string{}, ResolvedEnv: map[string]string{}}
	for _, p := range d.Parameters {
		if p.Declared == "" || rapid.IntRange(0, 3).Draw(t, "given") == 0 && !p.Required {
			continue
		}
		right := []string{map[string]string{"bool": "true", "string": "a", "map": "a=b", "time.Duration": "30s", "url.Values": "a=b"}[p.Type], "5"}
		if len(p.Enum) > 0 {
			right = p.Enum
		}
		value := right[0]
		if rapid.IntRange(0, 14).Draw(t, "wrong") == 0 {
			value = rapid.SampledFrom(append(slices.Clone(texts), right...)).Draw(t, "value")
		} else if value == "" {
			value = "5"
		}
		name := rapid.SampledFrom(p.Names).Draw(t, "name")
		switch place := rapid.SampledFrom([]rune(p.From)).Draw(t, "place"); place {
		case 'm':
			c.TriggerMetadata[name] = value
		case 'e':
			c.TriggerMetadata[name+"FromEnv"] = strings.ToUpper(name)
			c.ResolvedEnv[strings.ToUpper(name)] = value
		case 'a':
			c.AuthParams[name] = value
		}
	}
	return c
}

// The problems of a trigger's metadata are those for which KEDA's parser rejects it: of each
// type, by its declarations.
func TestTypedConfig(t *testing.T) {
	var names []string
	for _, name := range triggers.Types() {
		if d, ok := triggers.Lookup(name, "2.21"); ok && !d.Open && len(d.Parameters) > 0 {
			names = append(names, name)
		}
	}
	premise.Check(t, func(t *rapid.T, counts *premise.Counts) {
		name := rapid.SampledFrom(names).Draw(t, "type")
		d, _ := triggers.Lookup(name, "2.21")
		c := drawInput(t, d)
		problems := triggers.Check(name, "2.21", inputOf(c))
		rejected := slices.ContainsFunc(problems, func(p triggers.Problem) bool { return !p.Warning && p.Kind != triggers.Broken })
		err := c.TypedConfig(mirror(t, d))
		counts.Note("rejected", err != nil)
		counts.Note("accepted", err == nil)
		if (err != nil) != rejected {
			t.Fatalf("%s: KEDA says %v, and not %+v\n%+v", name, err, problems, c)
		}
	}, premise.Least{"rejected": 0.1, "accepted": 0.1})
}

// inputOf is what a scaler of KEDA gets.
func inputOf(c *scalersconfig.ScalerConfig) triggers.Input {
	value := func(of map[string]string) func(string) triggers.Value {
		return func(name string) triggers.Value {
			if strings.TrimSpace(of[name]) == "" {
				return triggers.Value{}
			}
			return triggers.Value{State: triggers.Visible, Text: strings.TrimSpace(of[name])}
		}
	}
	return triggers.Input{Metadata: c.TriggerMetadata, Environment: value(c.ResolvedEnv), Authentication: value(c.AuthParams)}
}

func TestMirrorTypes(t *testing.T) {
	for _, name := range triggers.Types() {
		if d, ok := triggers.Lookup(name, "2.21"); ok {
			require.NotPanics(t, func() { mirror(t, d) }, name)
		}
	}
}
