package test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/testdata"
)

// Every rule of the specification has a vector that cites it. Rules 1 to 5 are the formulas of strategies.json.
func TestRulesHaveVectors(t *testing.T) {
	page, err := testdata.Files.ReadFile("SPECIFICATION.md")
	require.NoError(t, err)
	cited := map[int]bool{}
	for _, name := range []string{"decisions.json", "history.json", "rollout.json"} {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		var file struct {
			Cases []struct {
				Name  string
				Cites int
			}
		}
		require.NoError(t, json.Unmarshal(data, &file))
		for _, c := range file.Cases {
			require.NotZero(t, c.Cites, c.Name)
			cited[c.Cites] = true
		}
	}
	rules := regexp.MustCompile(`(?m)^(\d+)\. \*\*`).FindAllSubmatch(page, -1)
	require.Len(t, rules, len(cited))
	for i, rule := range rules {
		n, err := strconv.Atoi(string(rule[1]))
		require.NoError(t, err)
		require.Equal(t, i+1, n)
		require.True(t, cited[n], "rule %d", n)
	}
}

// The Python program answers every vector, so that the page is enough for a port.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.CommandContext(t.Context(), python, "-B", "../testdata/python/vectors.py").CombinedOutput()
	require.NoError(t, err, string(out))
}
