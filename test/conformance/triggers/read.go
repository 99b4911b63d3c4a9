package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// A value is the content of an expression, as far as it is known.
type value struct {
	place string   // m, e or a: one of the three maps that a scaler reads
	texts []string // or one of these texts
}

// mapNames are the names that parameters of functions have for the three maps.
var mapNames = map[string]string{"metadata": "m", "triggerMetadata": "m", "resolvedEnv": "e", "authParams": "a"}

// A walk follows a scaler's constructor and records the keys that it reads.
type walk struct {
	*source
	values   map[types.Object]value
	done     map[string]bool
	read     map[string]string // places of each key
	declares []types.Type      // structs that KEDA fills in
	open     bool              // ranges over the metadata: any key may count
}

// scaler returns the parameters that a constructor reads. Any other key may count too if
// open is true.
func (s *source) scaler(constructor types.Object) (parameters []triggers.Parameter, open bool) {
	w := &walk{source: s, values: map[types.Object]value{}, done: map[string]bool{}, read: map[string]string{}}
	w.call(constructor, nil)
	declared := map[string]bool{}
	for _, t := range w.declares {
		for _, p := range s.declared(t, false) {
			// A struct that several functions fill in is declared once.
			if !slices.ContainsFunc(parameters, func(other triggers.Parameter) bool { return fmt.Sprint(other) == fmt.Sprint(p) }) {
				parameters = append(parameters, p)
			}
			for _, name := range p.Names {
				for _, place := range p.From {
					declared[name+string(place)] = true
				}
			}
		}
	}
	for _, name := range sorted(w.read) {
		from := ""
		for _, place := range w.read[name] {
			if !declared[name+string(place)] {
				from += string(place)
			}
		}
		if from != "" {
			parameters = append(parameters, triggers.Parameter{Names: []string{name}, From: from})
		}
	}
	return parameters, w.open
}

// readsMetadata reports whether a function of KEDA may read the metadata itself. TypedConfig reads
// what a struct declares.
func readsMetadata(f types.Object) bool {
	path := f.Pkg().Path()
	isTypedConfig := strings.HasSuffix(path, "/scalersconfig") && f.Name() == "TypedConfig"
	return strings.Contains(path, "/pkg/scalers") && !isTypedConfig
}

// call walks the body of a function of KEDA's with its arguments.
func (w *walk) call(f types.Object, arguments []value) {
	d := w.functions[f]
	if d == nil || f.Pkg() == nil || !readsMetadata(f) {
		return
	}
	id := fmt.Sprint(f.Id(), d.Pos(), arguments)
	if w.done[id] {
		return
	}
	w.done[id] = true
	i := 0
	for _, field := range d.Type.Params.List {
		for _, name := range field.Names {
			delete(w.values, w.info.Defs[name])
			switch {
			case i < len(arguments) && (arguments[i].place != "" || arguments[i].texts != nil):
				w.values[w.info.Defs[name]] = arguments[i]
			case i >= len(arguments) && types.ExprString(field.Type) == "map[string]string":
				w.values[w.info.Defs[name]] = value{place: mapNames[name.Name]} // the function is called by way of a variable
			}
			i++
		}
	}
	ast.Inspect(d.Body, w.visit)
	// Functions that are only mentioned, such as in a table, are walked too.
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if f, ok := w.info.Uses[id].(*types.Func); ok && !w.walked(f) {
				w.call(f, nil)
			}
		}
		return true
	})
}

func (w *walk) walked(f types.Object) bool {
	d := w.functions[f]
	return d == nil || slices.ContainsFunc(sorted(w.done), func(id string) bool { return strings.HasPrefix(id, fmt.Sprint(f.Id(), d.Pos())) })
}

func (w *walk) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, target := range n.Lhs {
			if id, ok := target.(*ast.Ident); ok && i < len(n.Rhs) {
				w.bind(id, w.value(n.Rhs[i]))
			}
		}
	case *ast.ValueSpec:
		for i, id := range n.Names {
			if i < len(n.Values) {
				w.bind(id, w.value(n.Values[i]))
			}
		}
	case *ast.RangeStmt:
		ranged := w.value(n.X)
		if ranged.place == "m" {
			w.open = true
		}
		if id, ok := n.Value.(*ast.Ident); ok && ranged.texts != nil {
			w.bind(id, ranged)
		}
	case *ast.IndexExpr:
		w.note(w.value(n.X).place, w.value(n.Index).texts)
	case *ast.CallExpr:
		w.follow(n)
	}
	return true
}

func (w *walk) bind(id *ast.Ident, v value) {
	obj := w.info.Defs[id]
	if obj == nil {
		obj = w.info.Uses[id]
	}
	if obj != nil && (v.place != "" || v.texts != nil) {
		w.values[obj] = v
	}
}

func (w *walk) follow(call *ast.CallExpr) {
	name, id := "", (*ast.Ident)(nil)
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		id = fun.Sel
	case *ast.Ident:
		id = fun
	}
	if id == nil {
		return
	}
	if name = id.Name; name == "TypedConfig" && len(call.Args) == 1 {
		if t := w.info.TypeOf(call.Args[0]); t != nil && !slices.ContainsFunc(w.declares, func(other types.Type) bool { return types.Identical(t, other) }) {
			w.declares = append(w.declares, t)
		}
		return
	}
	var arguments []value
	for _, a := range call.Args {
		arguments = append(arguments, w.value(a))
	}
	if f, ok := w.info.Uses[id].(*types.Func); ok {
		outer := w.values
		w.values = maps.Clone(outer)
		w.call(f, arguments)
		w.values = outer
	}
}

// note keeps a key that is read from a place.
func (w *walk) note(place string, keys []string) {
	for _, key := range keys {
		origin := place
		if name, ok := strings.CutSuffix(key, "FromEnv"); ok && place == "m" && name != "" {
			key, origin = name, "e"
		}
		if origin == "e" && place == "e" {
			continue // the name of a variable, or of a default variable
		}
		if origin != "" && !strings.Contains(w.read[key], origin) {
			w.read[key] += origin
		}
	}
}

// value evaluates an expression as far as possible without running the code.
func (w *walk) value(e ast.Expr) value {
	if v := w.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return value{texts: []string{constant.StringVal(v)}}
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return w.values[w.info.Uses[e]]
	case *ast.SelectorExpr:
		return value{place: map[string]string{"TriggerMetadata": "m", "ResolvedEnv": "e", "AuthParams": "a"}[e.Sel.Name]}
	case *ast.BinaryExpr:
		return joined(w.value(e.X), w.value(e.Y))
	case *ast.CompositeLit:
		var texts []string
		for _, item := range e.Elts {
			if pair, ok := item.(*ast.KeyValueExpr); ok {
				item = pair.Value
			}
			texts = append(texts, w.value(item).texts...)
		}
		return value{texts: texts}
	case *ast.CallExpr:
		if fun, ok := e.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "Sprintf" && len(e.Args) == 2 {
			if format := w.value(e.Args[0]).texts; len(format) == 1 && strings.HasPrefix(format[0], "%s") {
				return joined(w.value(e.Args[1]), value{texts: []string{format[0][2:]}})
			}
		}
		if len(e.Args) == 1 && w.info.Types[e.Fun].IsType() { // a conversion
			return w.value(e.Args[0])
		}
	}
	return value{}
}

func joined(a, b value) (sum value) {
	for _, x := range a.texts {
		for _, y := range b.texts {
			sum.texts = append(sum.texts, x+y)
		}
	}
	return sum
}
