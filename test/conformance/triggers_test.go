//go:build !older

package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// A parameter is a number in a trigger's metadata, as the tag of a field in a scaler
// describes it.
type parameter struct {
	names    []string
	fallback float64 // 0: the parameter is required, or 0
}

// A scaler holds the parameters that its source reads for the target average value
// and for activity.
type scaler struct{ target, activity []parameter }

// refused are the types whose target no manifest gives, and ruled those whose target
// several keys or a constant decide. scalers_test.go constructs the scalers of both.
var (
	refused = []string{"cpu", "external", "external-mock", "external-push", "memory"}
	ruled   = []string{"cron", "forgejo-runner", "rabbitmq", "redis-cluster-streams", "redis-sentinel-streams", "redis-streams",
		"selenium-grid", "solace-direct-messaging", "solace-event-queue"}
)

// scalersOfKEDA reads the types that buildScaler has, and the source of each.
func scalersOfKEDA(t *testing.T) map[string]scaler {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	require.NoError(t, err)
	pkg := filepath.Join(strings.TrimSpace(string(dir)), "pkg")
	files, err := filepath.Glob(filepath.Join(pkg, "scalers", "*_scaler.go"))
	require.NoError(t, err)
	constructed := map[string]scaler{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		s := sourceOf(t, file)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				constructed[f.Name.Name] = s
			}
		}
	}
	builder, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg, "scaling", "scalers_builder.go"), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	types := map[string]scaler{}
	ast.Inspect(builder, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok || len(clause.List) != 1 {
			return true
		}
		kind, isText := clause.List[0].(*ast.BasicLit)
		result, isReturn := clause.Body[0].(*ast.ReturnStmt)
		if isText && isReturn {
			name, err := strconv.Unquote(kind.Value)
			require.NoError(t, err)
			types[name] = constructed[result.Results[0].(*ast.CallExpr).Fun.(*ast.SelectorExpr).Sel.Name]
		}
		return true
	})
	return types
}

// sourceOf finds the fields with a tag that the two methods of a scaler select.
func sourceOf(t *testing.T, file *ast.File) scaler {
	fields := map[string]parameter{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil && slices.Contains([]string{"int", "int64", "float64"}, name(f.Type)) {
			tag, err := strconv.Unquote(f.Tag.Value)
			require.NoError(t, err)
			if p := parameterOf(reflect.StructTag(tag).Get("keda")); len(p.names) > 0 {
				fields[f.Names[0].Name] = p
			}
		}
		return true
	})
	// selected returns the fields within the nodes of a method that want accepts.
	selected := func(method string, want func(ast.Node) bool) []parameter {
		found := map[string]parameter{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); !ok || f.Recv == nil || f.Name.Name != method {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if n != nil && want(n) {
					ast.Inspect(n, func(n ast.Node) bool {
						if s, ok := n.(*ast.SelectorExpr); ok {
							if p, ok := fields[s.Sel.Name]; ok {
								found[p.names[0]] = p
							}
						}
						return true
					})
				}
				return true
			})
		}
		return slices.Collect(maps.Values(found))
	}
	return scaler{
		target: selected("GetMetricSpecForScaling", func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && (strings.HasPrefix(name(call.Fun), "GetMetricTarget") || name(call.Fun) == "NewQuantity")
		}),
		activity: slices.DeleteFunc(selected("GetMetricsAndActivity", isMethod), func(p parameter) bool {
			return !strings.HasPrefix(p.names[0], "activation")
		}),
	}
}

func isMethod(n ast.Node) bool {
	_, ok := n.(*ast.FuncDecl)
	return ok
}

// name returns the last part of an identifier.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// parameterOf reads a tag such as "name=a;b, order=triggerMetadata, default=5".
func parameterOf(tag string) (p parameter) {
	for part := range strings.SplitSeq(tag, ",") {
		switch key, text, _ := strings.Cut(strings.TrimSpace(part), "="); key {
		case "name":
			p.names = strings.Split(text, ";")
		case "default":
			n, _ := strconv.ParseFloat(text, 64)
			p.fallback = max(0, n) // -1 stands for a number that must be given
		}
	}
	return p
}

func trigger(kind string, metadata map[string]string) (manifest.Trigger, error) {
	s := &manifest.ScaledJob{}
	s.Spec.Triggers = []manifest.ScaleTrigger{{Type: kind, Metadata: metadata}}
	triggers, err := s.Triggers(nil)
	return triggers[0], err
}

// KEDA's types are those of the adapter: each has a target or is refused.
func TestTriggerTypes(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(scalersOfKEDA(t)))
	require.Greater(t, len(kinds), 70)
	own := append(slices.DeleteFunc(manifest.TriggerTypes(), func(kind string) bool { return kind == "stan" }), refused...)
	slices.Sort(own)
	require.Equal(t, kinds, own)
	for _, kind := range refused {
		_, err := trigger(kind, map[string]string{"value": "5", "targetValue": "5"})
		require.ErrorContains(t, err, "spec.triggers[0].type: found "+strconv.Quote(kind))
		require.NotContains(t, err.Error(), "a type of KEDA, such as rabbitmq", kind)
	}
}

// The target's key, its other names and its default are those of the fields that
// KEDA's scaler reads.
func TestTriggerTargets(t *testing.T) {
	for kind, s := range scalersOfKEDA(t) {
		if slices.Contains(refused, kind) || slices.Contains(ruled, kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			require.Len(t, s.target, 1)
			p := s.target[0]
			unset, err := trigger(kind, nil)
			require.Equal(t, p.fallback, unset.Target)
			if p.fallback == 0 {
				require.ErrorContains(t, err, "spec.triggers[0].metadata."+p.names[0]+": found nothing")
			} else {
				require.NoError(t, err)
			}
			metadata := map[string]string{}
			for i, name := range slices.Backward(p.names) { // the first one has precedence
				metadata[name] = strconv.Itoa(7 + i)
				got, err := trigger(kind, metadata)
				require.NoError(t, err)
				require.Equal(t, float64(7+i), got.Target, name)
			}
		})
	}
}

// The activation key and its default are those of the field that KEDA's scaler
// compares with the metric. Without a field, the threshold is 0.
func TestTriggerActivation(t *testing.T) {
	for kind, s := range scalersOfKEDA(t) {
		if len(s.activity) > 1 || slices.Contains(refused, kind) { // several: datadog, solace-event-queue
			continue
		}
		p := append(s.activity, parameter{})[0]
		got, _ := trigger(kind, nil)
		require.Equal(t, p.fallback, got.ActivationThreshold, kind)
		if len(p.names) > 0 {
			got, _ = trigger(kind, map[string]string{p.names[0]: "3"})
			require.Equal(t, 3.0, got.ActivationThreshold, kind)
		}
	}
}
