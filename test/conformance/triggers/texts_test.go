package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// builds are the functions that read a trigger before its first poll.
var builds = regexp.MustCompile(`^((P|p)arse|(V|v)alidate|New.*Scaler$|new.*Scaler$|(get|resolve|check|build|handle|set|create|configure).*(Metadata|Auth|Config|Credentials))`)

// wrapped are functions of all scalers, whose errors lint finds in the declarations and by a rule.
var wrapped = []string{"TypedConfig", "GetMetricTargetType"}

// errorTexts returns the texts of the errors with which the scalers of a release reject a trigger, each behind the
// name of its file. A text that wraps the error of a function that is read here as well is left out.
func errorTexts(t *testing.T, version string) []string {
	dir, err := download(version)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "pkg", "scalers", "*_scaler.go"))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		r := texts{t, map[string]string{}, map[string]string{}, func(text string) {
			found[strings.TrimSuffix(filepath.Base(file), "_scaler.go")+": "+strings.Join(strings.Fields(text), " ")] = true
		}}
		for _, d := range parsed.Decls { // constants and variables of the file
			if _, ok := d.(*ast.GenDecl); ok {
				r.read(d)
			}
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && builds.MatchString(f.Name.Name) {
				r.read(f.Body)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// texts reads the texts of errors in their order in the source.
type texts struct {
	t       *testing.T
	strings map[string]string // texts by the name that has them
	from    map[string]string // the function of an error by the name that has it
	found   func(text string)
}

func (r *texts) read(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				r.assign(n.Names[i].Name, value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok {
					r.assign(name.Name, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			}
		case *ast.CallExpr:
			if name := called(n); name == "fmt.Errorf" || name == "errors.New" {
				r.error(n)
			}
		}
		return true
	})
}

func (r *texts) assign(name string, value ast.Expr) {
	if text, ok := r.text(value); ok {
		r.strings[name] = text
	}
	if call, ok := value.(*ast.CallExpr); ok {
		r.from[name] = called(call)
	}
}

// text returns a constant text, or the format of a text.
func (r *texts) text(value ast.Expr) (text string, ok bool) {
	switch value := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		return text, err == nil && value.Kind == token.STRING
	case *ast.Ident:
		text, ok = r.strings[value.Name]
	case *ast.BinaryExpr:
		left, isLeft := r.text(value.X)
		right, isRight := r.text(value.Y)
		return left + right, isLeft && isRight
	case *ast.CallExpr:
		if called(value) == "fmt.Sprintf" {
			return r.text(value.Args[0])
		}
	}
	return text, ok
}

func (r *texts) error(call *ast.CallExpr) {
	text, ok := r.text(call.Args[0])
	if !assert.True(r.t, ok, "an error whose text is unknown") {
		return
	}
	last, _ := call.Args[len(call.Args)-1].(*ast.Ident)
	if last != nil && strings.Count(text, "%w") == 1 && strings.HasSuffix(text, "%w") {
		name := r.from[last.Name][strings.LastIndexByte(r.from[last.Name], '.')+1:]
		if builds.MatchString(name) || slices.Contains(wrapped, name) {
			return
		}
	}
	r.found(text)
}

// called returns the name of a function, behind its package or value.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

// Every text is that of a rule, or has a trigger that lint rejects, or a reason. A new release
// fails here until its new texts have one of them.
func TestErrorTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/errors.txt")
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if text, example, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && !strings.HasPrefix(line, "#") {
			listed[text] = example
		}
	}
	ruled, rejected, reasons := 0, 0, 0
	for _, text := range errorTexts(t, versions[len(versions)-1]) {
		example, ok := listed[text]
		delete(listed, text)
		reason, isReason := strings.CutPrefix(example, "not provable: ")
		switch {
		case !ok:
			assert.True(t, hasRule(text), "no rule, no trigger and no reason for %q", text)
			ruled++
		case isReason:
			assert.NotEmpty(t, reason, text)
			reasons++
		default:
			assert.True(t, rejects(example), "lint accepts %q", example)
			rejected++
		}
	}
	require.Empty(t, listed, "KEDA no longer has these texts")
	t.Logf("%d texts of rules, %d of triggers that lint rejects, %d that it cannot know", ruled, rejected, reasons)
}

// hasRule reports whether a rule of a type in the text's file has the text's words.
func hasRule(line string) bool {
	plain := strings.NewReplacer("-", "", "_", "", "solacedirectmessaging", "solacedm")
	file, text, _ := strings.Cut(line, ": ")
	return slices.ContainsFunc(triggers.Rules(), func(r triggers.Rule) bool {
		return strings.Contains(text, r.Message) && slices.ContainsFunc(r.Types, func(kind string) bool {
			kind, file := plain.Replace(strings.ReplaceAll(kind, "solace-direct-messaging", "solacedm")), plain.Replace(file)
			return strings.HasPrefix(kind, file) || strings.HasPrefix(file, kind)
		})
	})
}

// rejects reports whether lint finds an error in a trigger with this text: its type, its metadata and the
// metricType beside it, and in brackets its TriggerAuthentication.
func rejects(example string) bool {
	head, brackets, _ := strings.Cut(example, "[")
	kind, metadata, _ := strings.Cut(strings.TrimSpace(head), " ")
	authentication := entries(strings.TrimSuffix(brackets, "]"))
	var identity string
	secrets := strings.Builder{}
	refs := strings.Builder{}
	for _, e := range authentication {
		if e[0] == "podIdentity" {
			identity = "  podIdentity: {provider: " + e[1] + "}\n"
			continue
		}
		fmt.Fprintf(&secrets, "%q: %q, ", e[0], e[1])
		fmt.Fprintf(&refs, "{parameter: %s, name: given, key: %s}, ", e[0], e[0])
	}
	values, metricType := strings.Builder{}, ""
	for _, e := range entries(metadata) {
		if e[0] == "metricType" {
			metricType = "\n      metricType: " + e[1]
			continue
		}
		fmt.Fprintf(&values, "%q: %q, ", e[0], e[1])
	}
	text := fmt.Sprintf(`apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: registry.example.com/orders:1}]}}}
  maxReplicaCount: 5
  triggers:
    - type: %s%s
      authenticationRef: {name: given}
      metadata: {%s}
---
apiVersion: v1
kind: Secret
metadata: {name: given, namespace: shop}
stringData: {%s}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: given, namespace: shop}
spec:
  secretTargetRef: [%s]
%s`, kind, metricType, values.String(), secrets.String(), refs.String(), identity)
	r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}, keda.Newest())
	return r.ScaledJobs == 1 && slices.ContainsFunc(r.Findings, func(f lint.Finding) bool {
		return f.Severity == lint.Error && strings.HasPrefix(f.Path, "spec.triggers[0]")
	})
}

func entries(text string) (all [][2]string) {
	for item := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(item, "=")
		all = append(all, [2]string{key, value})
	}
	return all
}
