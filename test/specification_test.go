package test

import (
	"encoding/json"
	"fmt"
	"os"
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
	page, _ := testdata.Files.ReadFile("SPECIFICATION.md") // is embedded
	cited := map[string]bool{}
	for _, name := range []string{"strategies.json", "decisions.json", "history.json", "rollout.json"} {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		var file struct {
			Cases []struct {
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
		}
	}
	rules := regexp.MustCompile(`(?m)^(\d+)\. \*\*(\w+)`).FindAllStringSubmatch(string(page), -1)
	require.Len(t, rules, 30)
	for i, rule := range rules {
		require.Equal(t, strconv.Itoa(i+1), rule[1])
		require.True(t, cited[rule[1]] || (i < 5 && cited[rule[2]]), "rule %s", rule[0])
	}
}

// Package comments name the page, and that of strategy has its letters and formulas.
func TestPackageComments(t *testing.T) {
	page, _ := testdata.Files.ReadFile("SPECIFICATION.md") // is embedded
	var source []byte
	for _, name := range []string{"scaling", "history", "rollout", "strategy"} {
		source, _ = os.ReadFile("../" + name + "/" + name + ".go")
		require.Contains(t, string(source), "testdata/SPECIFICATION.md")
	}
	for _, letter := range []string{"T", "R", "P", "S", "M"} {
		require.Regexp(t, `(?m)^//\t`+letter+`  [TRPSM]`, string(source))
		require.Regexp(t, `(?m)^\| `+letter+` \|`, string(page))
	}
	formulas := regexp.MustCompile(`(?m)^//\t(\w+) +(.*[TM] .*)$`).FindAllStringSubmatch(string(source), 5)
	require.Len(t, formulas, 5)
	choice := regexp.MustCompile(`^(.*) \? (.*) : (.*)$`)
	for i, f := range formulas {
		rule := "`" + choice.ReplaceAllString(f[2], "$2` if `$1`, otherwise `$3") + "`."
		require.Contains(t, string(page), fmt.Sprintf("%d. **%s**: %s", i+1, f[1], rule))
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
