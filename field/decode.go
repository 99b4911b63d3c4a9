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
	"time"
)

// A Decoder reads JSON strictly. The zero value is ready to use.
type Decoder struct {
	Root string // path of the whole value in errors; "" means "document"
	// Unknown returns the fix of a field that does not exist, from its path and the names of its
	// object's fields. nil proposes the name in other letters.
	Unknown func(path string, names []string) string
	// Form describes the values of a type that reads itself, such as "a quantity such as 500m". It
	// returns false if the type must not be given these data. nil describes none.
	Form func(t reflect.Type, data []byte) (form string, ok bool)
	// Visit is called with each value that was read, except null, after its parts. nil does nothing.
	Visit func(path string, v reflect.Value, data []byte)
	// Quote reads numbers and booleans as strings where the type is a string. Each stays an error,
	// whose fix begins with [InQuotes].
	Quote bool
}

// InQuotes begins the fix of a value that Quote has read.
const InQuotes = "a string in quotes: "

// Decode sets the value that v points to, as far as the JSON fits. unknown has the fields that
// do not exist, and wrong the values of another type and the names that an object has twice, each
// an [*Error]. wrong is another error if data is not JSON, or v no pointer.
//
// It differs from [json.Unmarshal]: Names must match exactly. null leaves a value as it is. A whole
// number may have an exponent. The items of a slice are new. A list may not be longer than its array.
// The option string of a tag has no effect. A struct that implements [encoding.TextUnmarshaler] is
// an object or a string. A type may name its values by a method Wanted() string.
//
// It is not strict inside an interface, a map whose keys are no strings, and a type that
// implements [json.Unmarshaler]. The errors of such a type are told with their paths if they are of type *Error.
func (d Decoder) Decode(data []byte, v any) (unknown, wrong error) {
	into := reflect.ValueOf(v)
	if into.Kind() != reflect.Pointer || into.IsNil() {
		return nil, &json.InvalidUnmarshalError{Type: reflect.TypeOf(v)}
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err
	}
	r := reading{Decoder: d}
	r.value(bytes.TrimSpace(data), into.Elem(), "")
	return r.unknown.Err(), r.wrong.Err()
}

type reading struct {
	Decoder
	unknown, wrong Errors
}

// value reports whether v can hold the data, though perhaps not all parts of them.
func (r *reading) value(data []byte, v reflect.Value, path string) bool {
	if string(data) == "null" {
		return true
	}
	if v.Kind() == reflect.Pointer {
		target := v
		if v.IsNil() {
			target = reflect.New(v.Type().Elem())
		}
		ok := r.value(data, target.Elem(), path)
		if ok {
			v.Set(target)
		}
		return ok
	}
	into := v.Addr().Interface()
	_, reads := into.(json.Unmarshaler)
	_, isText := into.(encoding.TextUnmarshaler)
	form, ok := r.form(v, data)
	location := strings.TrimPrefix(path, ".")
	isPlain := v.Kind() == reflect.String && !reads && !isText
	isScalar := !strings.ContainsAny(string(data[:1]), `"{[`)
	switch kind := v.Kind(); {
	case !ok:
	case r.Quote && isPlain && isScalar:
		v.SetString(string(data))
		r.quoted(data, path)
	case reads, isText && data[0] == '"':
		err := json.Unmarshal(data, into)
		if ok = err == nil; All(err) != nil {
			r.wrong.Join(location, err)
			return false
		}
	case kind == reflect.Struct:
		ok = r.object(data, v, path)
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		ok = r.entries(data, v, path)
	case kind == reflect.Array, kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		ok = r.list(data, v, path)
	case v.CanInt(), v.CanUint():
		ok = json.Unmarshal(integer(data), into) == nil
	default:
		ok = json.Unmarshal(data, into) == nil
	}
	if !ok {
		r.wrong.Add(Error{cmp.Or(location, r.Root, "document"), quote(data), cmp.Or(form, describe(v))})
	} else if r.Visit != nil {
		r.Visit(location, v, data)
	}
	return ok
}

func (r *reading) form(v reflect.Value, data []byte) (form string, ok bool) {
	if r.Form == nil {
		return "", true
	}
	return r.Form(v.Type(), data)
}

// quoted reports a number or boolean in place of a string.
func (r *reading) quoted(data []byte, path string) {
	kind := "number"
	if data[0] == 't' || data[0] == 'f' {
		kind = "boolean"
	}
	found := string(data) + ", which YAML reads as a " + kind
	r.wrong.Add(Error{strings.TrimPrefix(path, "."), found, InQuotes + strconv.Quote(string(data))})
}

// pointed returns the value that a pointer points to, a new one if it is nil.
func pointed(v reflect.Value) reflect.Value {
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

func (r *reading) list(data []byte, v reflect.Value, path string) bool {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return false
	}
	if v.Kind() == reflect.Array && len(items) > v.Len() {
		return false
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	}
	for i := len(items); i < v.Len(); i++ {
		v.Index(i).SetZero()
	}
	for i := range items {
		r.value(items[i], v.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	return true
}

func (r *reading) entries(data []byte, v reflect.Value, path string) bool {
	keys, ok := r.members(data, path)
	if ok && v.IsNil() {
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
	keys, ok := r.members(data, path)
	indexes := Names(v.Type())
	for _, k := range keys {
		if index, found := indexes[k.name]; found {
			r.value(k.value, fieldOf(v, index), path+"."+k.name)
			continue
		}
		location := strings.TrimPrefix(path+"."+k.name, ".")
		r.unknown.Add(Error{location, "an unknown field", r.instead(location, k.name, indexes)})
	}
	return ok
}

func (r *reading) instead(path, key string, indexes map[string][]int) string {
	var names []string
	fix := "a field of this object"
	for name := range indexes {
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

// members returns the members of an object, sorted by name, and reports each name that occurs twice.
func (r *reading) members(data []byte, path string) (found []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if data[0] != '{' {
		return nil, false
	}
	_, err := d.Token()
	for err == nil && d.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
			found = append(found, member{name.(string), value})
		}
	}
	slices.SortStableFunc(found, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(found); i++ {
		if found[i].name == found[i-1].name {
			r.wrong.Add(Error{strings.TrimPrefix(path+"."+found[i].name, "."), "the name twice in an object", "it once"})
		}
	}
	return found, err == nil
}

// integer returns a whole number without a fraction or an exponent, and other texts unchanged.
func integer(data []byte) []byte {
	text := string(data)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return data
	}
	if size := math.Abs(x); size < 1 || size > math.MaxInt64 || len(text) > 64 {
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.Contains(mantissa, "0") && !strings.ContainsAny(mantissa, "123456789") {
			return []byte("0")
		}
		return data
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() && strings.ContainsAny(text, ".eE") {
		return []byte(r.Num().String())
	}
	return data
}

// quote returns a value for an error, a string without the escapes of JSON.
func quote(data []byte) string {
	value := string(data)
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		_ = json.Unmarshal(data, &value) // Decode has checked it
		value = strconv.Quote(value)
	}
	if len(value) > 64 {
		return strings.ToValidUTF8(value[:64], "") + "…"
	}
	return value
}

// describe describes the values of a type.
func describe(v reflect.Value) string {
	if named, ok := v.Addr().Interface().(interface{ Wanted() string }); ok {
		return named.Wanted()
	}
	name, bits := v.Type().Name(), v.Type().Bits
	_, reads := v.Addr().Interface().(json.Unmarshaler)
	switch kind := v.Kind(); {
	case v.Type() == reflect.TypeFor[time.Time]():
		return "a time such as 2026-01-01T00:00:00Z"
	case v.CanInt():
		return "a whole number of " + strconv.Itoa(bits()) + " bits"
	case v.CanUint():
		return "a whole number of 0 to " + strconv.FormatUint(math.MaxUint64>>(64-bits()), 10)
	case v.CanFloat():
		return "a number"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.String:
		return "a string, in quotes"
	case kind == reflect.Array:
		return "a list of at most " + strconv.Itoa(v.Len()) + " values"
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return "a string in base64"
	case kind == reflect.Slice:
		return "a list"
	case reads:
		return "a value of the form " + name
	}
	return "an object"
}
