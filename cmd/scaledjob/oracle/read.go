package oracle

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// read reads a line. With problems, which are joined, it returns the fields that
// could be read.
func read(data []byte) (*line, error) {
	l, problems := &line{}, field.Errors{}
	if !json.Valid(data) {
		err := json.Unmarshal(data, new(json.RawMessage))
		problems.Add(notJSON(data, err))
		return l, problems.Err()
	}
	decode(data, reflect.ValueOf(l).Elem(), "", &problems)
	return l, problems.Err()
}

func notJSON(data []byte, err error) field.Error {
	found := "the end of the line within its object"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !strings.HasPrefix(syntax.Error(), "unexpected end") {
		at := min(max(int(syntax.Offset), 1), len(data))
		found = strconv.Quote(string(data[at-1:at])) + " as byte " + strconv.Itoa(at) + ", which is not JSON"
	}
	return field.Error{Path: "line", Found: found, Fix: "one JSON object"}
}

// decode sets v to a JSON value, and adds a problem for each part of it that v cannot
// hold. null leaves v as it is.
func decode(data json.RawMessage, v reflect.Value, path string, problems *field.Errors) {
	if string(data) == "null" {
		return
	}
	switch to := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*to = data
		return
	case *condition:
		to.Status = "True"
		if data[0] == '"' {
			v = v.Field(0)
		}
	}
	ok := false
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		decode(data, v.Elem(), path, problems)
		return
	case reflect.Slice:
		var all []json.RawMessage
		if ok = json.Unmarshal(data, &all) == nil; ok {
			v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
		}
		for i := range all {
			decode(all[i], v.Index(i), path+"["+strconv.Itoa(i)+"]", problems)
		}
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			ok = object(data, v, path, problems)
			break
		}
		ok = json.Unmarshal(data, v.Addr().Interface()) == nil
	default:
		ok = scalar(data, v)
	}
	problems.Check(ok, cmp.Or(strings.TrimPrefix(path, "."), "line"), shown(data), wanted(v.Type()))
}

// object sets the fields of a struct by their exact names.
func object(data []byte, v reflect.Value, path string, problems *field.Errors) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	known := fields(v.Type())
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := path + "." + key
		if i, found := known[key]; found {
			decode(keys[key], v.Field(i), at, problems)
			continue
		}
		problems.Add(field.Error{Path: at[1:], Found: "an unknown field", Fix: instead(key, known)})
	}
	return true
}

// instead returns the known field that an unknown field may misspell.
func instead(key string, known map[string]int) string {
	if key == "as" {
		return `release, such as "spec" or "2.21"`
	}
	for name := range known {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return "a field that scaledjob oracle --help lists"
}

var indexes sync.Map // of types

// fields returns the index of each field by its name in JSON.
func fields(t reflect.Type) map[string]int {
	if known, found := indexes.Load(t); found {
		return known.(map[string]int)
	}
	known := map[string]int{}
	for i := range t.NumField() {
		known[t.Field(i).Tag.Get("json")] = i
	}
	indexes.Store(t, known)
	return known
}

// scalar reports whether v can hold the value, and sets it.
func scalar(data []byte, v reflect.Value) bool {
	text, quoted := string(data), data[0] == '"'
	switch to := v.Addr().Interface().(type) {
	case *number:
		if quoted {
			text = strings.Trim(text, `"`)
			if !slices.Contains([]string{"NaN", "Inf", "+Inf", "-Inf"}, text) {
				return false
			}
		}
		x, err := strconv.ParseFloat(text, 64)
		*to = number(x)
		return err == nil
	case *decimal:
		if !quoted {
			*to = decimal(text)
			return text[0] == '-' || '0' <= text[0] && text[0] <= '9'
		}
	case *failure:
		*to = failure(text == "true" || quoted && text != `""`)
		return quoted || text == "true" || text == "false"
	}
	if v.CanInt() {
		n, err := strconv.ParseInt(integer(text), 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	}
	return json.Unmarshal(data, v.Addr().Interface()) == nil
}

// integer returns a whole number without a fraction or an exponent, and other texts
// unchanged.
func integer(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if size := math.Abs(x); err != nil || size < 1 || size > math.MaxInt64 || len(text) > 64 {
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.Contains(mantissa, "0") && !strings.ContainsAny(mantissa, "123456789") && err == nil {
			return "0"
		}
		return text
	}
	if !strings.ContainsAny(text, ".eE") {
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() {
		return r.Num().String()
	}
	return text
}

// literal is printed as it is, not quoted.
type literal struct{ text string }

func (l literal) String() string { return l.text }

// shown returns a value for an error.
func shown(data []byte) literal {
	switch {
	case data[0] == '{':
		return literal{"an object"}
	case data[0] == '[':
		return literal{"a list"}
	case len(data) > 64:
		return literal{string(data[:64]) + "…"}
	}
	return literal{string(data)}
}

// wanted describes the values of a type.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[number]():
		return `a number, "NaN", "+Inf" or "-Inf"`
	case reflect.TypeFor[failure]():
		return "true, false, or a text"
	case reflect.TypeFor[decimal]():
		return `a number, or one as a text, such as "0.5"`
	case reflect.TypeFor[time.Time]():
		return "a time such as 2026-01-01T00:00:00Z"
	}
	switch t.Kind() {
	case reflect.Int32:
		return "a whole number from -2147483648 to 2147483647"
	case reflect.Int64:
		return "a whole number, of 64 bits"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "an object of texts"
	}
	return "an object"
}
