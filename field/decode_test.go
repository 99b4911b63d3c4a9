package field_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
)

type Inline struct {
	Kind string `json:"kind"`
}

type short struct {
	Name string `json:"name"`
}

func (s *short) UnmarshalText(text []byte) error { s.Name = string(text); return nil }

type all struct {
	Inline `json:",inline"`
	List   []*short         `json:"list,omitempty"`
	Map    map[string]int32 `json:"map"`
	Count  *int64           `json:"count"`
	Flag   bool             `json:"flag"`
	Time   time.Time        `json:"time"`
	Data   []byte           `json:"data"`
	Part   float64          `json:"part"`
	Any    any              `json:"any"`
	Hidden int              `json:"-"`
	hidden int
}

func TestDecode(t *testing.T) {
	var v all
	unknown, wrong := field.Decoder{}.Decode([]byte(` {"kind": "a", "list": [{"name": "b"}, "c", null], "map": {"x": 1e2, "y": null}, "count": 2.0,
		"flag": null, "time": "2026-01-01T00:00:00Z", "data": "YQ==", "part": 0.5, "any": {"z": [1]}} `), &v)
	require.NoError(t, unknown)
	require.NoError(t, wrong)
	require.Equal(t, all{Inline: Inline{"a"}, List: []*short{{"b"}, {"c"}, nil}, Map: map[string]int32{"x": 100, "y": 0}, Count: new(int64(2)),
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Data: []byte("a"), Part: 0.5, Any: map[string]any{"z": []any{1.0}}}, v)
}

// Every problem is reported, and what fits is read.
func TestDecodeProblems(t *testing.T) {
	v := all{Hidden: 1, hidden: 2}
	unknown, wrong := field.Decoder{}.Decode([]byte(`{"kind": 1, "list": [{"nam": 1}, 2, "c"], "map": {"x": "1", "y": 3e9, "z": 4}, "count": 1.5, "Flag": true, "Hidden": 3, "hidden": 3,
		"flag": "`+strings.Repeat("ä", 40)+`", "time": "noon", "data": 7, "part": {}}`), &v)
	require.EqualError(t, unknown, `Flag: found an unknown field; use flag
Hidden: found an unknown field; use a field of this object
hidden: found an unknown field; use a field of this object
list[0].nam: found an unknown field; use a field of this object`)
	require.EqualError(t, wrong, `count: found 1.5; use a whole number of 64 bits
data: found 7; use a string in base64
flag: found "`+strings.Repeat("ä", 31)+`…; use true or false
kind: found 1; use a string, in quotes
list[1]: found 2; use an object
map.x: found "1"; use a whole number of 32 bits
map.y: found 3e9; use a whole number of 32 bits
part: found an object; use a number
time: found "noon"; use a time such as 2026-01-01T00:00:00Z`)
	require.Len(t, field.All(wrong), 9)
	require.Equal(t, "c", v.List[2].Name)
	require.Equal(t, int32(4), v.Map["z"])
	require.Equal(t, 3, v.Hidden+v.hidden)

	_, wrong = field.Decoder{Root: "line"}.Decode([]byte("[]"), &v)
	require.EqualError(t, wrong, "line: found a list; use an object")
	unknown, _ = field.Decoder{Unknown: func(path string, names []string) string { return path + " of " + strings.Join(names, " ") }}.Decode([]byte(`{"list": [{"a": 1}]}`), &v)
	require.EqualError(t, unknown, "list[0].a: found an unknown field; use list[0].a of name")
	_, wrong = field.Decoder{}.Decode([]byte("{"), &v)
	require.ErrorContains(t, wrong, "unexpected end")
}

// Quantity stands for the type of Kubernetes.
type Quantity struct{}

func (*Quantity) UnmarshalJSON([]byte) error { return errors.ErrUnsupported }

// A fix is in the words of JSON, and a string is shown without its escapes.
func TestDecodeFixes(t *testing.T) {
	for _, tt := range []struct {
		data string
		into any
		want string
	}{
		{`"\u003cno value\u003e"`, new(int), `found "<no value>"; use a whole number of 64 bits`},
		{`"\u00e4\n"`, new(bool), `found "ä\n"; use true or false`},
		{`-1`, new(uint8), "found -1; use a whole number of 0 to 255"},
		{`0.5`, new(uint64), "found 0.5; use a whole number of 0 to 18446744073709551615"},
		{`2e2`, new(uint8), ""},
		{`"x"`, &Quantity{}, `found "x"; use a value of the form Quantity`},
		{`"x"`, &odd{}, `found "x"; use a value of the form odd`},
		{`"x"`, new([]byte), `found "x"; use a string in base64`},
	} {
		_, err := field.Decoder{}.Decode([]byte(tt.data), tt.into)
		if tt.want == "" {
			require.NoError(t, err, tt.data)
			continue
		}
		require.EqualError(t, err, "document: "+tt.want)
	}
}

type odd struct{ Quantity }

// A type that reads itself has the words of Form, and Form keeps a value from it.
func TestDecodeForm(t *testing.T) {
	form := func(t reflect.Type, data []byte) (string, bool) { return "one of " + t.Name(), string(data) != "2" }
	for _, data := range []string{"1", "2"} {
		_, err := field.Decoder{Form: form}.Decode([]byte(data), &Quantity{})
		require.EqualError(t, err, "document: found "+data+"; use one of Quantity")
	}
}

// A number in place of a string is read, and stays a problem; other values are no strings.
func TestDecodeQuotes(t *testing.T) {
	var v struct {
		A, B, C, D string
		E          short
	}
	_, err := field.Decoder{Quote: true}.Decode([]byte(`{"A": 1.50, "B": true, "C": [1], "D": "d", "E": 5}`), &v)
	require.EqualError(t, err, `A: found 1.50, which YAML reads as a number; use a string in quotes: "1.50"
B: found true, which YAML reads as a boolean; use a string in quotes: "true"
C: found a list; use a string, in quotes
E: found 5; use an object`)
	require.Equal(t, []string{"1.50", "true", "", "d", ""}, []string{v.A, v.B, v.C, v.D, v.E.Name})
}

// Every value that was read is visited after its parts.
func TestDecodeVisits(t *testing.T) {
	var v all
	var visits []string
	d := field.Decoder{Visit: func(path string, v reflect.Value, data []byte) {
		visits = append(visits, fmt.Sprintf("%s %s %s", path, v.Kind(), data))
	}}
	_, wrong := d.Decode([]byte(`{"list": [null, "c"], "count": 2, "flag": 1, "map": {"x.y": 3}}`), &v)
	require.Error(t, wrong)
	require.Equal(t, []string{"count int64 2", `list[1] struct "c"`, `list slice [null, "c"]`, "map.x.y int32 3", `map map {"x.y": 3}`,
		` struct {"list": [null, "c"], "count": 2, "flag": 1, "map": {"x.y": 3}}`}, visits)
}
