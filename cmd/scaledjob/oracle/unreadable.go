package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// wholes writes the whole numbers of a line as integers, 1e2 and 10.0 among them, but
// for its id. It is for the few lines in which an integer is not written as one.
func wholes(data []byte) ([]byte, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	for name, raw := range fields {
		if strings.EqualFold(name, "id") {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			return nil, false
		}
		written, err := json.Marshal(integers(value))
		if err != nil {
			return nil, false
		}
		fields[name] = written
	}
	written, err := json.Marshal(fields)
	return written, err == nil
}

func integers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return json.Number(integer(string(v)))
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	}
	return value
}

// integer is a number as an integer, if it is one, and else as it was.
func integer(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if size := math.Abs(x); err != nil || size < 1 || size > math.MaxInt64 || len(text) > 64 {
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if !strings.ContainsAny(mantissa, "123456789") {
			return "0"
		}
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() {
		return r.Num().String()
	}
	return text
}

// mistaken says that a value is not of type T; the decoder adds where.
func mistaken[T any](data []byte) error {
	return &json.UnmarshalTypeError{Value: string(data), Type: reflect.TypeFor[T]()}
}

// readable says in words what is wrong with a line.
func readable(err error, data []byte) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var instant *time.ParseError
	switch {
	case errors.As(err, &kind):
		path := ""
		if kind.Field != "" {
			path = indexed(kind.Field, data) + ": "
		}
		return fmt.Errorf("%sfound %s: want %s", path, value(kind.Value), wanted(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the line ends before its object does")
	case errors.As(err, &syntax):
		at := min(max(int(syntax.Offset), 1), len(data))
		return fmt.Errorf("not JSON: found %q as byte %d, where it cannot be", data[at-1:at], at)
	case errors.As(err, &instant):
		return fmt.Errorf("found %s: want a time such as 2026-01-01T00:00:00Z", instant.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// indexed adds to the path of a scaler's or Job's field which of them it is.
func indexed(path string, data []byte) string {
	first, rest, _ := strings.Cut(path, ".")
	var l struct{ Scalers, Jobs []json.RawMessage }
	if rest == "" || json.NewDecoder(bytes.NewReader(data)).Decode(&l) != nil {
		return path
	}
	var at int
	switch first {
	case "scalers":
		at = failing[scaler](l.Scalers)
	case "jobs":
		at = failing[job](l.Jobs)
	default:
		return path
	}
	return fmt.Sprintf("%s[%d].%s", first, at, rest)
}

func failing[T any](all []json.RawMessage) int {
	for i, raw := range all {
		if json.Unmarshal(raw, new(T)) != nil {
			return i
		}
	}
	return 0
}

// value says what a JSON value is that the decoder has described.
func value(found string) string {
	switch found {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	case "number":
		return "a number"
	}
	return strings.TrimPrefix(found, "number ")
}

// wanted says what a field takes.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[number]():
		return `a number, "NaN", "+Inf" or "-Inf"`
	case reflect.TypeFor[failure]():
		return "true, false, or a text"
	case reflect.TypeFor[decimal]():
		return `a number, or one as a text, such as "0.5"`
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
	}
	return "an object"
}
