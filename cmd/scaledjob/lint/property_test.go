package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/test/premise"
)

// fields are what a drawn manifest may say, right and wrong.
var fields = map[string][]any{
	"minReplicaCount":            {-1, 0, 2, 200},
	"maxReplicaCount":            {-3, 0, 1, 10},
	"pollingInterval":            {-1, 0, 1, 30},
	"successfulJobsHistoryLimit": {-1, 0, 5},
	"failedJobsHistoryLimit":     {-1, 0, 5},
	"envSourceContainerName":     {"main", "other"},
	"rolloutStrategy":            {"", "default", "immediate", "gradual", "drain", "Gradual"},
	"rollout":                    {map[string]any{}},
	"rollout.strategy":           {"", "default", "immediate", "gradual", "none"},
	"rollout.propagationPolicy":  {"background", "foreground", "orphan"},
	"scalingStrategy":            {map[string]any{}},
	"scalingStrategy.strategy":   {"", "default", "accurate", "eager", "custom", "pendingAware", "Eager"},
	"scalingStrategy.customScalingQueueLengthDeduction": {-1, 0, 3},
	"scalingStrategy.customScalingRunningJobPercentage": {"", "0", "0.5", "1", "50%", "NaN", "-1", "1e999", "0,5"},
	"scalingStrategy.pendingPodConditions":              {[]any{"Ready"}, []any{"Ready", "Ready"}, []any{"PodScheduled"}, []any{"ready"}},
	"scalingStrategy.multipleScalersCalculation":        {"", "max", "min", "avg", "sum", "mean"},
}

// drawManifest draws a manifest, in half of the draws with few fields.
func drawManifest(t *rapid.T) map[string]any {
	few := rapid.Bool().Draw(t, "few fields")
	spec := map[string]any{
		"jobTargetRef": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": "a"}}}}},
		"rollout": map[string]any{}, "scalingStrategy": map[string]any{},
	}
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		parent, key, nested := strings.Cut(path, ".")
		if !rapid.Bool().Draw(t, path+" is set") || few && rapid.IntRange(0, 15).Draw(t, path+" is one of the few") < 12 {
			continue
		}
		v := rapid.SampledFrom(fields[path]).Draw(t, path)
		switch {
		case nested:
			spec[parent].(map[string]any)[key] = v
		case spec[path] == nil:
			spec[path] = v
		}
	}
	if few {
		spec["triggers"] = []any{map[string]any{"type": "redis", "metadata": map[string]any{"listLength": "5", "listName": "a", "address": "a:1"}}}
	} else if n := rapid.IntRange(0, 3).Draw(t, "triggers"); n > 0 {
		var triggers []any
		for range n {
			triggers = append(triggers, map[string]any{"type": rapid.SampledFrom([]string{"redis", "rabbitmq", "prometheus", "cpu"}).Draw(t, "type"),
				"metadata": map[string]any{"listLength": rapid.SampledFrom([]string{"5", "0", "0.5", "-1", "x"}).Draw(t, "target")}})
		}
		spec["triggers"] = triggers
	}
	metadata := map[string]any{"name": rapid.SampledFrom([]string{"orders", "Orders", strings.Repeat("a", 64)}).Draw(t, "name")}
	annotations := map[string]any{}
	for _, key := range []string{manifest.AnnotationPaused, manifest.AnnotationGeneration, manifest.AnnotationExcludedLabels} {
		if v := rapid.SampledFrom([]string{"", "true", "false", "no", "a, b", "-"}).Draw(t, key); v != "-" {
			annotations[key] = v
		}
	}
	metadata["annotations"] = annotations
	return map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": metadata, "spec": spec}
}

func write(t *rapid.T, tree any) []byte {
	data, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func found(r lint.Report, path, effect string) bool {
	return slices.ContainsFunc(r.Findings, func(f lint.Finding) bool {
		return f.Path == path && slices.ContainsFunc(f.Effects, func(e lint.Effect) bool { return strings.Contains(e.Text, effect) })
	})
}

// Every field that the model says a release refuses is found there, and so is
// every feature that it says the release lacks; and nothing else is said to be.
func propModel(t *rapid.T, c *premise.Counts) {
	data := write(t, drawManifest(t))
	p, err := keda.Release(rapid.SampledFrom(keda.Releases()).Draw(t, "release"))
	if err != nil {
		t.Fatal(err)
	}
	var s manifest.ScaledJob
	if err := k8syaml.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r := lint.Check([]lint.File{{Name: "a", Data: data}}, p)
	refused, lacked := map[string]bool{}, 0
	for _, err := range joined(p.Validate(s.KEDA())) {
		var rejected *field.Error
		var feature *keda.UnsupportedError
		switch {
		case errors.As(err, &rejected):
			if refused[rejected.Path] = true; !found(r, rejected.Path, "the API server rejects it") {
				t.Fatalf("not found: %v\n%s", err, data)
			}
		case errors.As(err, &feature):
			lacked++
		}
	}
	c.Note("a field is refused", len(refused) > 0)
	c.Note("nothing is refused or missing", len(refused) == 0 && lacked == 0)
	c.Note("a feature is missing", lacked > 0)
	for _, f := range r.Findings {
		switch {
		case f.Rule == "wrong-type" && f.Found == `""`: // which the model, after it was read, takes for unset
		case f.Rule == "unsupported-feature":
			lacked--
		case f.Rule != "missing-field" && f.Rule != "name-invalid" && found(r, f.Path, "the API server rejects it") && !refused[f.Path]:
			t.Fatalf("%s does not refuse it: %s\n%s", p, f.Message(), data)
		}
	}
	if lacked != 0 {
		t.Fatalf("%d features are not found\n%s", lacked, data)
	}
}

func joined(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return nil
}

// Where adapter refuses a manifest, an error is found, but for what adapter
// alone wants: one meaning of two rollout strategies.
func propAdapter(t *rapid.T, c *premise.Counts) {
	data := write(t, drawManifest(t))
	jobs, err := manifest.Read(data)
	if err == nil {
		sameReading(t, data)
		_, err = jobs[0].Config(map[string]float64{"cpu": 1})
	}
	c.Note("refused", err != nil)
	c.Note("accepted", err == nil)
	r := lint.Check([]lint.File{{Name: "a", Data: data}})
	if err != nil && r.Worst() < lint.Error {
		t.Fatalf("%v\n%s", err, data)
	}
}

// Rules get the ScaledJobs that package scaledjob reads.
func sameReading(t interface{ Fatalf(string, ...any) }, data []byte) {
	want, err := manifest.Read(data)
	if err != nil {
		return
	}
	read, err := json.Marshal(lint.Read(data))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if wanted, err := json.Marshal(want); err != nil || string(read) != string(wanted) {
		t.Fatalf("read %s, want %s", read, wanted)
	}
}

// Texts that versions of YAML read differently.
func TestSameReading(t *testing.T) {
	accepted := 0
	for _, text := range []string{
		"0o10", "010", "0x1F", "0b11", "1_000", "1e3", ".5", "1.", "-0", "+5", "5.0", ".inf", "1e400", "9007199254740993", "12345678901234567890",
		"yes", "on", "y", "True", "~", "null", "", "2001-01-01", "2001-01-01T00:00:00Z", "1:30", "!!str 5", "!!int 5", "'5'", "&a 5", "|\n      5", "a b",
	} {
		for _, place := range []string{
			"metadata: {name: a}\nspec:\n  maxReplicaCount: %s\n", "metadata:\n  generation: %s\n", "metadata:\n  name: %s\n",
			"metadata:\n  creationTimestamp: %s\n", "metadata:\n  annotations:\n    a: %s\n", "spec:\n  jobTargetRef:\n    suspend: %s\n", "status:\n  a: %s\n",
		} {
			data := []byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\n" + fmt.Sprintf(place, text))
			if _, err := manifest.Read(data); err == nil {
				accepted++
			}
			sameReading(t, data)
		}
	}
	require.Greater(t, accepted, 80)
}

// Whatever the text, findings are whole, in order, within the text and the same
// again, and every format can be written.
func propTotal(t interface{ Fatalf(string, ...any) }, data []byte) {
	files := []lint.File{{Name: "a.yaml", Data: data}}
	r := lint.Check(files)
	lines := 1
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		lines += bytes.Count(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte(end))
	}
	ids := map[string]bool{}
	for _, rule := range lint.Rules() {
		ids[rule.ID] = true
	}
	for i, f := range r.Findings {
		if !ids[f.Rule] || f.Severity < lint.Note || f.Severity > lint.Error || f.Found == "" || f.Fix == "" || len(f.Effects) == 0 {
			t.Fatalf("%+v", f)
		}
		if f.Line < 1 || f.Line > lines || f.Column < 1 {
			t.Fatalf("%d lines: %+v", lines, f)
		}
		if i > 0 && f.Line < r.Findings[i-1].Line {
			t.Fatalf("not in order: %+v", f)
		}
	}
	if again := lint.Check(files); fmt.Sprint(again) != fmt.Sprint(r) {
		t.Fatalf("%v\nand then\n%v", r, again)
	}
	var b bytes.Buffer
	if err := errors.Join(r.WriteText(&b), r.WriteGitHub(&b)); err != nil {
		t.Fatalf("%v", err)
	}
	for _, write := range []func(io.Writer) error{r.WriteJSON, r.WriteSARIF} {
		b.Reset()
		if err := write(&b); err != nil || !json.Valid(b.Bytes()) {
			t.Fatalf("%v: %s", err, b.String())
		}
	}
}

// broken replaces values of a drawn manifest by others, of any kind.
func propBroken(t *rapid.T) {
	tree := drawManifest(t)
	values := []any{nil, true, -1, 1.5, 1e300, "", "x", "{{", []any{}, []any{nil}, map[string]any{}, map[string]any{"a": []any{1}}}
	var breaks func(m map[string]any)
	breaks = func(m map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			switch rapid.IntRange(0, 9).Draw(t, key) {
			case 0:
				m[key] = rapid.SampledFrom(values).Draw(t, "value of "+key)
			case 1:
				m[key+"s"] = m[key]
			}
			if inner, ok := m[key].(map[string]any); ok {
				breaks(inner)
			}
		}
	}
	breaks(tree)
	propTotal(t, write(t, tree))
}

func TestWhatTheModelRefuses(t *testing.T) {
	premise.CheckN(t, 1000, propModel, premise.Least{"a field is refused": 0.015, "a feature is missing": 0.2, "nothing is refused or missing": 0.05})
}
func FuzzWhatTheModelRefuses(f *testing.F) { premise.Fuzz(f, propModel) }
func TestWhatAdapterRefuses(t *testing.T) {
	premise.CheckN(t, 300, propAdapter, premise.Least{"refused": 0.2, "accepted": 0.1})
}
func FuzzWhatAdapterRefuses(f *testing.F) { premise.Fuzz(f, propAdapter) }
func TestBroken(t *testing.T)             { rapid.Check(t, propBroken) }
func FuzzBroken(f *testing.F)             { premise.Seeded(f, propBroken) }

func FuzzCheck(f *testing.F) {
	for _, m := range corpus(f) {
		f.Add(m.Data)
	}
	f.Add([]byte("\r0:"))
	for _, text := range oddKeys {
		f.Add([]byte(asScaledJob(text)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		propTotal(t, data)
		sameReading(t, data)
	})
}
