package premise

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// JSON checks that each exported struct of the packages below a directory survives JSON, with its
// durations as text. Values has one of each, whose other fields are filled; others names those that JSON is not for,
// with the reason. A struct in neither, or in others without need, fails the test.
func JSON(t *testing.T, dir string, values []any, others map[string]string) {
	t.Helper()
	found := map[string]bool{}
	for _, v := range values {
		name := reflect.TypeOf(v).String()
		found[name] = true
		t.Run(name, func(t *testing.T) { survives(t, v) })
	}
	names := structs(t, dir)
	for _, name := range names {
		assert.True(t, found[name] != (others[name] != ""), "%s: in one of the two lists", name)
	}
	for name := range others {
		assert.Contains(t, names, name)
	}
}

func survives(t *testing.T, v any) {
	want, back := reflect.New(reflect.TypeOf(v)), reflect.New(reflect.TypeOf(v))
	want.Elem().Set(reflect.ValueOf(v))
	fill(want.Elem(), 3)
	text, err := json.Marshal(want.Interface())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, back.Interface()), "%s", text)
	assert.Equal(t, want.Interface(), back.Interface(), "%s", text)
	assert.NotContains(t, string(text), "90000000000", "a duration in nanoseconds")
}

// fill sets each exported field that is no interface and no function.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	case time.Duration:
		v.Set(reflect.ValueOf(90 * time.Second))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1) // an enumerated value has a name for 1
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.String:
		v.SetString("text")
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, 0)
		fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// structs returns the exported structs of the packages of a module that others can import.
func structs(t *testing.T, dir string) (names []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		_, modErr := os.Stat(filepath.Join(path, "go.mod"))
		otherModule := path != dir && modErr == nil
		if d.IsDir() && (otherModule || slices.Contains([]string{"internal", "test", "testdata", "docs"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if !strings.HasSuffix(file.Name.Name, "test") && file.Name.Name != "main" {
			names = append(names, exported(file)...)
		}
		return nil
	}))
	return names
}

func exported(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		general, _ := decl.(*ast.GenDecl)
		if general == nil {
			continue
		}
		for _, spec := range general.Specs {
			of, _ := spec.(*ast.TypeSpec)
			if of == nil || !of.Name.IsExported() {
				continue
			}
			if _, ok := of.Type.(*ast.StructType); ok {
				names = append(names, file.Name.Name+"."+of.Name.Name)
			}
		}
	}
	return names
}
