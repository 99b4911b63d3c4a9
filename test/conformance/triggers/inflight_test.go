package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

const inFlightFile = "testdata/inflight.json"

// The functions that show whether a metric includes in-progress items are those that a
// person has read: a release that changes one fails here. Read the function, correct
// triggers.Proofs, and write the file with UPDATE=1.
func TestInFlightProofs(t *testing.T) {
	got := map[string]map[string]string{}
	versions := append(slices.Clone(older), versions...)
	minor := func(i int) string {
		return strings.TrimPrefix(versions[i][:strings.LastIndexByte(versions[i], '.')], "v")
	}
	for kind, proofs := range triggers.Proofs() {
		for _, p := range proofs {
			for i, version := range versions {
				if !triggers.Within(minor(i), p.Releases) {
					continue
				}
				dir, err := download(version)
				require.NoError(t, err)
				text := functionText(t, filepath.Join(dir, "pkg", "scalers", p.File), p.Function)
				require.NotEmpty(t, text, "%s: %s has no function %s in %s", kind, version, p.Function, p.File)
				key := p.File + " " + p.Function
				if got[key] == nil {
					got[key] = map[string]string{}
				}
				got[key][minor(i)] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
			}
		}
	}
	if os.Getenv("UPDATE") != "" {
		data, err := json.MarshalIndent(got, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(inFlightFile, append(data, '\n'), 0o644))
	}
	data, err := os.ReadFile(inFlightFile)
	require.NoError(t, err)
	var want map[string]map[string]string
	require.NoError(t, json.Unmarshal(data, &want))
	require.Equal(t, want, got)
}

// functionText returns the code of a function or method without comments, or "".
func functionText(t *testing.T, file, name string) string {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			f.Doc = nil
			var b bytes.Buffer
			require.NoError(t, printer.Fprint(&b, files, f))
			return b.String()
		}
	}
	return ""
}
