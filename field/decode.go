package field

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Decoder reads JSON strictly. The zero value is ready to use.
type Decoder struct {
	Root string // path of the whole value in errors; "" means "document"
	// Unknown returns the fix of a field that does not exist, from its path and the names of its
	// object's fields. nil proposes the name in other letters.
	Unknown func(path string, names []string) string
}

// Decode sets the value that v points to, as far as the JSON fits. unknown has the fields that
// do not exist, and wrong the values of another type, each an [*Error]. wrong is another error
// if data is not JSON.
//
// Names must match exactly. null leaves a value as it is. A whole number may have an exponent.
// A struct that implements [encoding.TextUnmarshaler] is an object or a string. A type may name
// its values by a method Wanted() string.
func (d Decoder) Decode(data []byte, v any) (unknown, wrong error) {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err
	}
	r := reading{Decoder: d}
	r.value(bytes.TrimSpace(data), reflect.ValueOf(v).Elem(), "")
	return r.unknown.Err(), r.wrong.Err()
}

type reading struct {
	Decoder
	unknown, wrong Errors
}

func (r *reading) value(data []byte, v reflect.Value, path string) {
	if string(data) == "null" {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		r.value(data, v.Elem(), path)
		return
	}
	into := v.Addr().Interface()
	_, reads := into.(json.Unmarshaler)
	_, isText := into.(encoding.TextUnmarshaler)
	ok := false
	switch kind := v.Kind(); {
	case reads, isText && data[0] == '"':
		ok = json.Unmarshal(data, into) == nil
	case kind == reflect.Struct:
		ok = r.object(data, v, path)
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		ok = r.entries(data, v, path)
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		ok = r.list(data, v, path)
	case v.CanInt():
		ok = json.Unmarshal(whole(data), into) == nil
	default:
		ok = json.Unmarshal(data, into) == nil
	}
	if !ok {
		r.wrong.Add(Error{cmp.Or(strings.TrimPrefix(path, "."), r.Root, "document"), shown(data), wanted(v)})
	}
}

func (r *reading) list(data []byte, v reflect.Value, path string) bool {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
	for i := range all {
		r.value(all[i], v.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	return true
}

func (r *reading) entries(data []byte, v reflect.Value, path string) bool {
	keys, ok := object(data)
	if ok {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(keys)))
	}
	for _, k := range keys {
		item := reflect.New(v.Type().Elem()).Elem()
		r.value(k.value, item, path+"."+k.name)
		v.SetMapIndex(reflect.ValueOf(k.name).Convert(v.Type().Key()), item)
	}
	return ok
}

func (r *reading) object(data []byte, v reflect.Value, path string) bool {
	keys, ok := object(data)
	known := fields(v.Type())
	for _, k := range keys {
		at := path + "." + k.name
		if index, found := known[k.name]; found {
			r.value(k.value, v.FieldByIndex(index), at)
			continue
		}
		r.unknown.Add(Error{at[1:], "an unknown field", r.instead(at[1:], k.name, known)})
	}
	return ok
}

func (r *reading) instead(path, key string, known map[string][]int) string {
	var names []string
	fix := "a field of this object"
	for name := range known {
		names = append(names, name)
		if strings.EqualFold(name, key) {
			fix = name
		}
	}
	if r.Unknown != nil {
		slices.Sort(names)
		fix = r.Unknown(path, names)
	}
	return fix
}

type member struct {
	name  string
	value json.RawMessage
}

// object returns the members of an object, sorted by name. Of equal names the last counts.
func object(data []byte) ([]member, bool) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return nil, false
	}
	all := make([]member, 0, len(keys))
	for name, value := range keys {
		all = append(all, member{name, value})
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return all, true
}

var indexes sync.Map // of types

// fields returns the index of each field by its name in JSON.
func fields(t reflect.Type) map[string][]int {
	if known, found := indexes.Load(t); found {
		return known.(map[string][]int)
	}
	known := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			for name, index := range fields(f.Type) {
				known[name] = append([]int{i}, index...)
			}
		case f.IsExported() && name != "-":
			known[cmp.Or(name, f.Name)] = f.Index
		}
	}
	indexes.Store(t, known)
	return known
}

// whole returns a whole number without a fraction or an exponent, and other texts unchanged.
func whole(data []byte) []byte {
	text := string(data)
	x, err := strconv.ParseFloat(text, 64)
	if size := math.Abs(x); err != nil || size < 1 || size > math.MaxInt64 || len(text) > 64 {
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.Contains(mantissa, "0") && !strings.ContainsAny(mantissa, "123456789") && err == nil {
			return []byte("0")
		}
		return data
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() && strings.ContainsAny(text, ".eE") {
		return []byte(r.Num().String())
	}
	return data
}

// shown returns a value for an error.
func shown(data []byte) string {
	switch {
	case data[0] == '{':
		return "an object"
	case data[0] == '[':
		return "a list"
	case len(data) > 64:
		return strings.ToValidUTF8(string(data[:64]), "") + "…"
	}
	return string(data)
}

// wanted describes the values of a type.
func wanted(v reflect.Value) string {
	if named, ok := v.Addr().Interface().(interface{ Wanted() string }); ok {
		return named.Wanted()
	}
	switch kind := v.Kind(); {
	case v.Type().Name() == "Time":
		return "a time such as 2026-01-01T00:00:00Z"
	case v.CanInt():
		return "a whole number of " + strconv.Itoa(v.Type().Bits()) + " bits"
	case v.CanUint() || v.CanFloat():
		return "a number"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.String:
		return "a string, in quotes"
	case kind == reflect.Slice:
		return "a list"
	case reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return "a " + v.Type().Name()
	}
	return "an object"
}
