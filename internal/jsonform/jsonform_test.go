package jsonform_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

type Color uint8

var colors = []string{"red", "green", "blue"}

func TestName(t *testing.T) {
	require.Equal(t, "red", jsonform.Name(colors, Color(0)))
	require.Equal(t, "blue", jsonform.Name(colors, Color(2)))
	require.Equal(t, "Color(3)", jsonform.Name(colors, Color(3)))
	require.Equal(t, "Color(255)", jsonform.Name(colors, Color(255)))
}

func TestParse(t *testing.T) {
	c := Color(9)
	for i, name := range colors {
		require.NoError(t, jsonform.Parse(colors, []byte(name), &c))
		require.Equal(t, Color(i), c)
	}
	for _, name := range []string{"", "Red", "red ", "Color(1)", "1"} {
		require.ErrorContains(t, jsonform.Parse(colors, []byte(name), &c), "; use red, green or blue")
		require.Equal(t, Color(2), c, "kept")
	}
	require.EqualError(t, jsonform.Parse(colors, []byte("pink"), &c), `found "pink"; use red, green or blue`)
}

func TestFloat(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", -1.5: "-1.5", 0.1: "0.1", math.MaxFloat64: "1.7976931348623157e+308",
		math.Inf(1): `"+Inf"`, math.Inf(-1): `"-Inf"`,
	} {
		data, err := json.Marshal(jsonform.Float(x))
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		var back jsonform.Float
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, jsonform.Float(x), back)
	}
	data, err := json.Marshal([]jsonform.Float{jsonform.Float(math.NaN())})
	require.NoError(t, err)
	require.Equal(t, `["NaN"]`, string(data))
	var back []jsonform.Float
	require.NoError(t, json.Unmarshal(data, &back))
	require.True(t, math.IsNaN(float64(back[0])))
	for _, data := range []string{`"Inf"`, `"12"`, `"nan"`, `true`, `{}`} {
		require.Error(t, json.Unmarshal([]byte(data), new(jsonform.Float)), data)
	}
}

func TestLimit(t *testing.T) {
	for n, want := range map[int64]string{0: "0", -3: "-3", math.MaxInt64 - 1: "9223372036854775806", math.MaxInt64: `"unlimited"`} {
		data, err := json.Marshal(jsonform.Limit(n))
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		var back jsonform.Limit
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, jsonform.Limit(n), back)
	}
	for _, data := range []string{`"none"`, `"12"`, `1.5`, `true`} {
		require.Error(t, json.Unmarshal([]byte(data), new(jsonform.Limit)), data)
	}
}

// A form is a struct with a field of each kind that has a form of its own, and of others.
type form struct {
	Name  string   `json:"name"`
	Part  float64  `json:"part"`
	Of    *float64 `json:"of,omitempty"`
	Most  int64    `json:"most" form:"limit"`
	Count int64    `json:"count"`
	List  []int    `json:"list"`
}

func TestMarshal(t *testing.T) {
	for want, v := range map[string]form{
		`{"name":"","part":0,"most":0,"count":0,"list":null}`: {},
		`{"name":"a","part":"+Inf","of":"-Inf","most":"unlimited","count":9223372036854775807,"list":[1]}`: {
			"a", math.Inf(1), new(math.Inf(-1)), math.MaxInt64, math.MaxInt64, []int{1}},
		`{"name":"b","part":0.5,"of":2,"most":7,"count":-1,"list":[]}`: {"b", 0.5, new(2.0), 7, -1, []int{}},
	} {
		data, err := jsonform.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		var back form
		require.NoError(t, jsonform.Unmarshal(data, &back))
		require.Equal(t, v, back)
	}
	data, err := jsonform.Marshal(form{Part: math.NaN()})
	require.NoError(t, err)
	require.Contains(t, string(data), `"part":"NaN"`)
}

func TestUnmarshal(t *testing.T) {
	v := form{Name: "a", Part: 0.5, Most: 3}
	require.NoError(t, jsonform.Unmarshal([]byte(`{"count":2,"part":"-Inf"}`), &v))
	require.Equal(t, form{Name: "a", Part: math.Inf(-1), Most: 3, Count: 2}, v, "fields that the JSON lacks are kept")
	for _, data := range []string{`{"part":"Inf"}`, `{"most":"+Inf"}`, `{"count":"unlimited"}`, `[]`, `{`} {
		require.Error(t, jsonform.Unmarshal([]byte(data), &v), data)
	}
}
