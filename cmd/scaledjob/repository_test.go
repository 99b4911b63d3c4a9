package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// tree writes files below a new directory, and makes it the working directory.
func tree(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Chdir(dir)
	return dir
}

var repositoryFiles = map[string]string{
	"base/orders.yaml":                   hostileManifest,
	"base/kustomization.yaml":            "resources: [orders.yaml]\n",
	"overlays/big/kustomization.yaml":    "resources: [../../base]\npatches:\n- path: more.yaml\n- patch: |-\n    - {op: remove, path: /spec}\n",
	"overlays/big/more.yaml":             "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {maxReplicaCount: 300}\n",
	"overlays/big/less.yaml":             "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec:\n  triggers:\n  - $patch: replace\n",
	"overlays/big/flow.json":             "{\"apiVersion\": \"keda.sh/v1alpha1\", \"kind\": \"ScaledJob\", \"$patch\": \"delete\", \"metadata\": {\"name\": \"orders\"}}\n",
	"charts/orders/templates/job.yaml":   "kind: ScaledJob\nmetadata: {name: {{ .Release.Name }}}\n",
	"charts/orders/templates/quote.yaml": "kind: ScaledJob\nmetadata:\n  name: 'a-{{ default \"x\" .Values.n }}'\n",
	"charts/orders/Chart.yaml":           "apiVersion: v2\nname: orders\nversion: 1.0.0\n",
	"charts/orders/values-prod.yaml":     "kind: ScaledJob\nscaledJob: {maxReplicaCont: 5}\n",
	"charts/orders/values/prod.yaml":     "kind: ScaledJob\nscaledJob: {maxReplicaCont: 5}\n",
	"charts/orders/ci/test-values.yaml":  "kind: ScaledJob\nscaledJob: {maxReplicaCont: 5}\n",
	"charts/orders/keda-values.yaml":     hostileManifest,
	"tsconfig.json":                      "{\n  // a comment\n  \"a\": 1,\n}\n",
	"tsconfig.base.json":                 "{\"a\": 1,}\n// a comment\n",
	"crds/other.yaml":                    "apiVersion: example.com/v1\nkind: Widget\nspec: {template: '{{ .name }}'}\n",
	"vendor/broken.yaml":                 "kind: ScaledJob\nspec: [\n",
	"overlays/small/Kustomization":       "patches:\n- path: max.yaml\n",
	"overlays/small/max.yaml":            "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {maxReplicaCount: 3}\n",
	"charts/orders/templates/call.yaml":  "kind: ScaledJob\nmetadata:\n  name: \"{{ printf \"a-%s\" .x }}\"\n",
	"i18n/latin.yaml":                    "caf\xe9: 1\n",
}

// Lint without arguments works on a repository with manifests, overlays, charts and others.
func TestRepository(t *testing.T) {
	dir := tree(t, repositoryFiles)
	status, out, said := call(t, "lint --exclude vendor/", "")
	require.Equal(t, success, status, out+said)
	require.Empty(t, said)
	_, absolute, _ := call(t, "lint --exclude vendor/broken.yaml "+dir, "")
	require.Equal(t, out, strings.ReplaceAll(absolute, dir+"/", ""))
	require.Contains(t, out, " in 2 ScaledJobs\n")
	for _, line := range []string{"skipped 3 Helm templates; to check charts rendered, use --helm DIR\n", "skipped 3 non-YAML files\n", "skipped 3 Helm values files\n",
		"skipped 4 Kustomize patches; to check overlays rendered, use --kustomize DIR\n", "skipped 1 excluded file\n"} {
		require.Contains(t, out, line)
	}
	_, out, _ = call(t, "lint --exclude vendor/ --exclude Chart.yaml", "")
	require.Contains(t, out, "skipped 3 Helm values files\n", "an excluded chart is one, too")
	status, out, _ = call(t, "lint", "")
	require.Equal(t, found, status, "broken YAML of a ScaledJob is found")
	require.Contains(t, out, "vendor/broken.yaml:")
	status, _, said = call(t, "lint charts/orders/templates/job.yaml", "")
	require.Equal(t, trouble, status, "a file that is named is read")
	require.Contains(t, said, "a template")
}

// A repository with a chart alone, or overlays alone, has no ScaledJob to check, which is no finding.
func TestOnlyUnrendered(t *testing.T) {
	chart := map[string]string{"Chart.yaml": "apiVersion: v2\nname: orders\n", "values.yaml": "max: 5\n"}
	for name, want := range map[string]string{"charts/orders/templates/job.yaml": "skipped 1 Helm template;", "overlays/big/less.yaml": "skipped 1 Kustomize patch;"} {
		files := maps.Clone(chart)
		files[name] = repositoryFiles[name]
		tree(t, files)
		status, out, said := call(t, "lint", "")
		require.Equal(t, success, status, out+said)
		require.Contains(t, said, want)
	}
	tree(t, chart)
	status, _, said := call(t, "lint", "")
	require.Equal(t, success, status)
	require.Contains(t, said, "no ScaledJob in ")
	status, _, said = call(t, "lint --exclude *", "")
	require.Equal(t, success, status)
	require.Contains(t, said, "skipped 2 excluded files\n")
}

// The settings of a repository count unless a flag says otherwise, and run no program.
func TestSettings(t *testing.T) {
	tree(t, repositoryFiles)
	write := func(text string) { require.NoError(t, os.WriteFile(input.SettingsFile, []byte(text), 0o600)) }
	write("exclude: [vendor/]\nreleases: [\"2.18\"]\nignore: [metric-unknown]\nseverities: {default-misses-unacknowledged: error}\n")
	status, out, said := call(t, "lint", "")
	require.Equal(t, found, status, out+said)
	require.Contains(t, out, "error: spec.triggers[0].type is \"rabbitmq\"")
	require.Contains(t, out, "checked for KEDA 2.18.3\n")
	status, out, _ = call(t, "lint --release 2.20 --ignore default-misses-unacknowledged", "")
	require.Equal(t, success, status, out)
	require.Contains(t, out, "checked for KEDA 2.20.2\n")
	for _, text := range []string{"", "# exclude: [vendor/]\n"} {
		write(text)
		status, _, said = call(t, "lint --exclude vendor/", "")
		require.Equal(t, success, status, said)
	}
	for text, want := range map[string]string{
		"exlude: []\n":             `.scaledjob.yaml:1: exlude: found an unknown field; use exclude`,
		"ignore: [nothing]\n":      `.scaledjob.yaml: ignore: unknown rule`,
		"severities: {x: error}\n": "unknown rule",
		"severities: {x: fatal}\n": `severities.x: found "fatal"; use error, warning or note`,
		"releases: [\"9.9\"]\n":    "releases: ",
		"helm: [charts/orders]\n":  "an unknown field; use one of exclude, ignore, releases, severities",
		"exclude: [\"\"]\n":        "not a pattern",
	} {
		write(text)
		status, out, said := call(t, "lint", "")
		require.Equal(t, trouble, status, text+out)
		require.Contains(t, said, want)
	}
	require.NoError(t, os.Remove(input.SettingsFile))
	require.NoError(t, os.Symlink("tsconfig.json", input.SettingsFile))
	status, _, said = call(t, "lint", "")
	require.Equal(t, trouble, status)
	require.Equal(t, "scaledjob: .scaledjob.yaml: a link or not a file; use --config with another name\n", said)
}

// --kustomize and --helm run a program of the PATH, and say what it said.
func TestRender(t *testing.T) {
	dir := tree(t, map[string]string{"orders.yaml": hostileManifest, "charts/a": "", "bin/kubectl": "#!/bin/sh\n[ \"$1\" = kustomize ] && cat " + "orders.yaml\n",
		"bin/helm": "#!/bin/sh\necho 'no chart' >&2\nexit 1\n"})
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/bin:/usr/bin")
	for _, name := range []string{"kubectl", "helm"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, "bin", name), 0o755))
	}
	status, out, said := call(t, "lint --kustomize .", "")
	require.Equal(t, success, status, out+said)
	require.Contains(t, out, "kubectl kustomize "+dir+":7:")
	status, _, said = call(t, "lint --helm charts", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "no chart")
	t.Setenv("PATH", "")
	_, _, said = call(t, "lint --helm charts", "")
	require.Contains(t, said, "--helm: found no program helm; install it, or render first and lint the output")
}

// A long file that has nothing of KEDA's is skipped, and is not parsed. The words may be anywhere in it.
func TestLongFiles(t *testing.T) {
	long := "[" + strings.Repeat("{\"a\": [1, 2, 3]},\n", input.MaxDocument/16) + "{}]\n"
	tree(t, map[string]string{"orders.yaml": hostileManifest, "data.json": long})
	status, out, said := call(t, "lint", "")
	require.Equal(t, success, status, out+said)
	require.Contains(t, out, "skipped 1 oversized file\n")
	short := strings.Repeat("---\na: 1\n", input.MaxManifest/9+1)
	for text, want := range map[string]string{
		strings.Replace(long, "1", `"keda.sh"`, 1):     "keda.json:1:1: error: a document of more than 5 MiB",
		short + strings.Repeat(" ", 1<<16) + "KEDA.sh": "keda.json:1:1: error: a file of more than 16 MiB",
		short: "",
	} {
		require.NoError(t, os.WriteFile("keda.json", []byte(text), 0o600))
		status, out, said = call(t, "lint", "")
		require.Contains(t, out, want)
		require.Contains(t, out, " in 1 ScaledJob", "the other file is judged")
		require.Equal(t, want != "", status == found, said)
		require.Equal(t, want == "", strings.Contains(out, "skipped 2 oversized files\n"))
	}
}

// A word of KEDA is found wherever the pieces of a file end.
func TestHasKEDA(t *testing.T) {
	for end := range 40 {
		text := strings.Repeat("x", 64<<10-end)
		require.False(t, input.HasKEDA(strings.NewReader(text+text+text)))
		require.True(t, input.HasKEDA(strings.NewReader(text+"ScaledJob"+text)))
		require.True(t, input.HasKEDA(strings.NewReader(text+text+"keda.sh")))
	}
}
