package tree

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/field"
)

// Scalar returns the values of kubectl's parser.
func TestScalar(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.SampledFrom([]string{"y", "Yes", "NO", "on", "Off", "true", "False", "nULL", "null", "~", "nan", "inf", ".inf", "-.INF", "0x1F", "0b1", "0o7", "017", "1_000", "1e3", "+1", "-0", "1:30", "2020-01-02", "<<", "="}),
			rapid.StringMatching(`[a-zA-Z/][a-zA-Z0-9./_-]{0,8}`), rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]+)?([eE][0-9])?`),
		).Draw(t, "text")
		var document yaml.Node
		require.NoError(t, yaml.Unmarshal([]byte("a: "+text), &document))
		_, n := new(Keys).Child(document.Content[0], "a")
		var want struct{ A any }
		got := Scalar(n)
		if err := k8syaml.Unmarshal([]byte("a: "+text), &want); err != nil {
			require.ErrorContains(t, err, "unsupported value", text) // JSON has no infinity
			require.Contains(t, []string{".inf", "-.INF"}, text)
			return
		}
		switch whole := got.(type) {
		case int64:
			require.Equal(t, text, fmt.Sprint(whole), "exactly")
			got = float64(whole)
		case uint64:
			require.Equal(t, text, fmt.Sprint(whole), "exactly")
			got = float64(whole)
		}
		if isText(n) {
			read++
		}
		require.Equal(t, want.A, got, text)
	})
	if !testing.Short() { // which draws few
		require.Greater(t, read, 10, "texts that need no parser")
	}
}

// Numbers keep all digits on the way to a Go value.
func TestDecodeDigits(t *testing.T) {
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte("{a: 9007199254740993, b: [18446744073709551615]}"), &document))
	var into struct {
		A int64    `json:"a"`
		B []uint64 `json:"b"`
	}
	unknown, wrong := Decode(document.Content[0], &into, field.Decoder{})
	require.Empty(t, append(unknown, wrong...))
	require.Equal(t, int64(9007199254740993), into.A)
	require.Equal(t, []uint64{18446744073709551615}, into.B)
}
