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

// Every rule of the specification has a vector that cites it. A case of strategies.json without a rule is for
// the rules with the names of its strategies.
func TestRulesHaveVectors(t *testing.T) {
	page, err := testdata.Files.ReadFile("SPECIFICATION.md")
	require.NoError(t, err)
	cited := map[string]bool{}
	for _, name := range []string{"strategies.json", "decisions.json", "history.json", "rollout.json"} {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		var file struct {
			Cases []struct {
				Name              string
				Cites             int
				EffectiveMaxScale map[string]any
			}
		}
		require.NoError(t, json.Unmarshal(data, &file))
		for _, c := range file.Cases {
			cited[strconv.Itoa(c.Cites)] = true
			for strategy := range c.EffectiveMaxScale {
				cited[strategy] = true
			}
			require.True(t, c.Cites > 0 || c.EffectiveMaxScale != nil, c.Name)
		}
	}
	rules := regexp.MustCompile(`(?m)^(\d+)\. \*\*(\w+)`).FindAllStringSubmatch(string(page), -1)
	require.Len(t, rules, 30)
	for i, rule := range rules {
		require.Equal(t, strconv.Itoa(i+1), rule[1])
		require.True(t, cited[rule[1]] || (i < 5 && cited[rule[2]]), "rule %s", rule[0])
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
