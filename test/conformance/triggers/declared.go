package main

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

var places = map[string]string{"triggerMetadata": "m", "resolvedEnv": "e", "authParams": "a"}

// fromTag reads the struct tag of a field. Fields without a name are nested structs.
func fromTag(tag string) triggers.Parameter {
	p := triggers.Parameter{Declared: "tag", Required: true}
	for part := range strings.SplitSeq(tag, ",") {
		key, value, hasValue := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		switch list := strings.Split(value, ";"); key {
		case "name":
			p.Names = strings.Split(strings.TrimSpace(value), ";")
		case "order":
			for _, place := range list {
				p.From += places[strings.TrimSpace(place)]
			}
		case "optional":
			b, _ := strconv.ParseBool(strings.TrimSpace(value))
			p.Required = hasValue && !b
		case "default":
			p.Default = strings.TrimSpace(value)
		case "enum", "allowedValue":
			p.Enum = list
		case "exclusiveSet":
			p.Exclusive = list
		case "separator":
			p.Separator = strings.TrimSpace(value)
		case "range", "rangeSeparator":
			if p.Range = "-"; hasValue {
				p.Range = strings.TrimSpace(value)
			}
		case "deprecated":
			p.Deprecated = "deprecated"
			if hasValue {
				p.Deprecated = strings.TrimSpace(value)
			}
		case "deprecatedAnnounce":
			p.Announced = strings.TrimSpace(value)
		}
	}
	if p.Default != "" || p.Deprecated != "" {
		p.Required = false
	}
	return p
}

// declared returns the parameters of a struct that KEDA fills in.
func (s *source) declared(t types.Type, optional bool) []triggers.Parameter {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if p, ok := t.(*types.Pointer); ok { // a pointer to a pointer
		t = p.Elem()
	}
	structure, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var parameters []triggers.Parameter
	for i := range structure.NumFields() {
		text, ok := reflect.StructTag(structure.Tag(i)).Lookup("keda")
		if !ok {
			continue
		}
		p := fromTag(text)
		if len(p.Names) == 0 {
			parameters = append(parameters, s.declared(structure.Field(i).Type(), optional || !p.Required)...)
			continue
		}
		p.Required = p.Required && !optional
		p.Type = s.typeOf(structure.Field(i))
		parameters = append(parameters, p)
	}
	return parameters
}

// typeOf names the type of a field as KEDA reads it: for a named type of KEDA, its
// underlying type.
func (s *source) typeOf(f *types.Var) string {
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if name := types.TypeString(t, func(p *types.Package) string { return p.Name() }); name != "invalid type" {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			if u.Kind() != types.Invalid {
				return u.Name()
			}
		case *types.Slice:
			if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() != types.Invalid {
				return "[]" + b.Name()
			}
		case *types.Map:
			return "map"
		case *types.Struct:
			return "struct"
		}
	}
	return s.written(f)
}

// written is the type of a field of another module, as its declaration has it.
func (s *source) written(f *types.Var) string {
	name := ""
	for _, p := range s.packages {
		for _, file := range p.files {
			if file.FileStart > f.Pos() || f.Pos() > file.FileEnd {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if n, ok := n.(*ast.Field); ok && slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return id.Pos() == f.Pos() }) {
					name = strings.TrimPrefix(types.ExprString(n.Type), "*")
				}
				return true
			})
		}
	}
	return name
}
