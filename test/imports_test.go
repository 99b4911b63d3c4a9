package test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever imports a deciding package compiles the standard library, what this
// table allows, and nothing else. Few of the packages are concurrent.
func TestImports(t *testing.T) {
	const module = "github.com/scaledjob/scaledjob/"
	for folder, allowed := range map[string][]string{
		"field":                   nil,
		"internal/jsonform":       {module + "field"},
		"strategy":                {module + "field"},
		"strategy/strategytest":   {module + "strategy", "pgregory.net/rapid"},
		"scaling":                 {module + "field", module + "strategy"},
		"scaling/scalingtest":     {module + "scaling", module + "strategy", "pgregory.net/rapid"},
		"history":                 {module + "field"},
		"rollout":                 {module + "field"},
		"horizontal":              {module + "field"},
		"horizontal/scaledobject": {module + "field", module + "horizontal"},
		"keda":                    {module + "field", module + "scaling", module + "strategy"},
		"placement/apportion":     {module + "field"},
		"placement/taint":         nil,
		"placement/jobs": {module + "field", module + "history", module + "placement/apportion", module + "placement/taint",
			module + "rollout", module + "scaling", module + "strategy"},
		"placement/replicas": {module + "field", module + "placement/apportion"},
		"schedule":           {module + "field", module + "history", module + "schedule/interval"},
		"schedule/interval":  nil,
		"slots":              nil,
		"slots/slotstest":    {module + "slots"},
		"simulation/study":   {module + "field", module + "simulation"},
		"simulation":         {module + "field", module + "scaling", module + "strategy", module + "placement/jobs", module + "placement/taint", module + "keda", module + "history"},
	} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, i := range parsed.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				require.NoError(t, err)
				if strings.HasPrefix(path, "sync") && folder != "field" && !strings.HasPrefix(folder, "simulation") && !strings.HasPrefix(folder, "strategy") {
					t.Errorf("%s imports %s: make race does not test it", file, path)
				}
				standard := !strings.Contains(strings.Split(path, "/")[0], ".")
				if !standard && path != module+"internal/jsonform" && !slices.Contains(allowed, path) {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}
