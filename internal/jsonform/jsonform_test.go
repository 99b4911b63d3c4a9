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
	require.EqualError(t, jsonform.Parse(colors, []byte("pink"), &c), `unknown Color "pink"; use red, green or blue`)
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
