package field_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
)

type (
	Deep  struct{ A, B, C int }
	Left  struct{ A, X, Y int }
	Right struct {
		A, X int
		Why  int `json:"Y"`
		Deep
	}
	Ring struct {
		*Ring
		N int
	}
	hidden struct{ H int }
	outer  struct {
		A int
		Left
		*Right
		hidden
		Ring
		Dash int `json:"-,"` //lint:ignore SA5008 the name is a dash
	}
)

// What Decode reads, encoding/json reads to the same value.
func TestDecodeAgrees(t *testing.T) {
	for _, tt := range []struct {
		data  string
		value func() any
	}{
		{`{"A": 1, "B": 2, "C": 3, "Y": 4, "H": 5, "N": 6, "-": 7}`, func() any { return &outer{} }},
		{`{"B": null}`, func() any { return &outer{} }},
		{`{"A": 2}`, func() any { return &outer{A: 1, Right: &Right{Why: 1}} }},
		{`{"B": 2}`, func() any { return &outer{A: 1, Right: &Right{Why: 1}} }},
		{`{"a": 2}`, func() any { return &map[string]int{"a": 1, "b": 1} }},
		{`{"1": 2}`, func() any { return &map[int]int{1: 1, 2: 1} }},
		{`{"P": {"A": 1}}`, func() any { return &struct{ P *Deep }{&Deep{B: 2}} }},
		{`[{"A": 1}]`, func() any { return &[2]Deep{{B: 1}, {B: 1}} }},
		{`[{"A": 1}]`, func() any { return &[]Deep{} }},
		{`[1, 2]`, func() any { return &[2]byte{} }},
		{`"YQ=="`, func() any { return &[]byte{} }},
		{`255`, func() any { return new(uint8) }},
	} {
		want, got := tt.value(), tt.value()
		require.NoError(t, json.Unmarshal([]byte(tt.data), want), tt.data)
		unknown, wrong := field.Decoder{}.Decode([]byte(tt.data), got)
		require.NoError(t, unknown, tt.data)
		require.NoError(t, wrong, tt.data)
		require.Equal(t, want, got, tt.data)
	}
}

// Decode refuses what encoding/json passes over.
func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		data          string
		into          any
		unknown, want string
	}{
		{`{"X": 1}`, &outer{}, "X: found an unknown field; use a field of this object", ""}, // Left and Right have it
		{`[{"Z": 1}]`, &[2]Deep{}, "[0].Z: found an unknown field; use a field of this object", ""},
		{`[1, 2, 3]`, &[2]int{}, "", "document: found a list; use a list of at most 2 values"},
		{`{"A": 1, "A": 2}`, &Deep{}, "", "A: found the name twice in an object; use it once"},
		{`{"m": {"k": 1, "k": 2}}`, &map[string]map[string]int{}, "", "m.k: found the name twice in an object; use it once"},
		{`{}`, Deep{}, "", "json: Unmarshal(non-pointer field_test.Deep)"},
		{`{}`, nil, "", "json: Unmarshal(nil)"},
	} {
		unknown, wrong := field.Decoder{}.Decode([]byte(tt.data), tt.into)
		for text, err := range map[*string]error{&tt.unknown: unknown, &tt.want: wrong} {
			if *text == "" {
				require.NoError(t, err, tt.data)
				continue
			}
			require.EqualError(t, err, *text, "%s %v", tt.data, reflect.TypeOf(tt.into))
		}
	}
}
