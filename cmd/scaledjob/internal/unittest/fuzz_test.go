package unittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// A test file that can be read has tests with a name, and each problem has the file's name.
func FuzzTestFile(f *testing.F) {
	files, err := filepath.Glob("../../testdata/tests/*.test.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("tests: [{name: a, queue: {redis: 12}, releases: ['2.20'], simulate: {arrivals: {redis: constant:1/s}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(input.Source{Name: "a.test.yaml", Data: data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a.test.yaml:"), "%v", err)
			return
		}
		require.NotEmpty(t, file.Releases)
	})
}
