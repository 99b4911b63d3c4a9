package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Known vulnerabilities are looked for each week, and before a release is built.
func TestVulnerabilities(t *testing.T) {
	for file, before := range map[string]string{"weekly": "\n  weekly:", "release": "- run: make archives"} {
		data, err := os.ReadFile("../.github/workflows/" + file + ".yaml")
		require.NoError(t, err)
		head, _, found := strings.Cut(string(data), before)
		require.True(t, found, file)
		require.Contains(t, head, "- run: make vulnerabilities", file)
	}
}

// Every workflow and image builds with the newest patch of the minor of go.mod: go 1.26.0 there is the
// oldest that works, and lacks the corrections since.
func TestNewestPatchOfGo(t *testing.T) {
	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	for pattern, want := range map[string]string{
		"../.github/workflows/*.y*ml": `go-version: "` + minor + `.x", check-latest: true`,
		"../Dockerfile":               "FROM golang:" + minor + " ",
		"../controllers/*/Dockerfile": "FROM golang:" + minor + " ",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			uses := strings.Count(string(data), "actions/setup-go@") + strings.Count(string(data), "golang:")
			require.NotZero(t, uses, file)
			require.Equal(t, uses, strings.Count(string(data), want), file)
			require.NotContains(t, string(data), "go-version-file", file)
			require.NotContains(t, string(data), "GOTOOLCHAIN", file)
		}
	}
}
