// Package jsonform holds the JSON forms that the deciding packages share: names of
// enumerated values, numbers that are not finite, durations, and limits that are none.
package jsonform

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// Name returns the name of an enumerated value. For a value without a name it
// returns the type and the number, as in "Rule(9)".
func Name[E ~uint8](names []string, v E) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", reflect.TypeFor[E]().Name(), uint8(v))
}

// Parse sets v to the value with the name in text. If there is none, v keeps its
// value, and the error, a [*field.Error], lists the names.
func Parse[E ~uint8](names []string, text []byte, v *E) error {
	for i, name := range names {
		if name == string(text) {
			*v = E(i)
			return nil
		}
	}
	last := len(names) - 1
	return &field.Error{Found: strconv.Quote(string(text)), Fix: strings.Join(names[:last], ", ") + " or " + names[last]}
}

// A Float is a number in JSON, or the text "+Inf", "-Inf" or "NaN".
type Float float64

var special = map[string]Float{
	`"+Inf"`: Float(math.Inf(1)),
	`"-Inf"`: Float(math.Inf(-1)),
	`"NaN"`:  Float(math.NaN()),
}

// MarshalJSON returns the number or the text.
func (f Float) MarshalJSON() ([]byte, error) {
	if x := float64(f); math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Appendf(nil, `"%+v"`, x), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads the number or the text.
func (f *Float) UnmarshalJSON(data []byte) error {
	if x, ok := special[string(data)]; ok {
		*f = x
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// A Limit is a whole number in JSON, or the text "unlimited" for MaxInt64.
type Limit int64

// Wanted describes a limit.
func (Limit) Wanted() string { return "a whole number or \"unlimited\"" }

const unlimited = `"unlimited"`

// MarshalJSON returns the number or the text.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == math.MaxInt64 {
		return []byte(unlimited), nil
	}
	return json.Marshal(int64(l))
}

// UnmarshalJSON reads the number or the text.
func (l *Limit) UnmarshalJSON(data []byte) error {
	if string(data) == unlimited {
		*l = math.MaxInt64
		return nil
	}
	return json.Unmarshal(data, (*int64)(l))
}

// A Duration is a text in JSON, such as "5m0s".
type Duration time.Duration

// Wanted describes a duration.
func (Duration) Wanted() string { return "a duration such as 5m0s" }

// MarshalJSON returns the text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err == nil {
		*d = Duration(parsed)
	}
	return err
}

// Marshal returns the JSON of a struct with exported fields. In it, float64 and
// *float64 fields are of type [Float], time.Duration and *time.Duration fields of type
// [Duration], and int64 fields with the tag form:"limit" of type [Limit].
func Marshal(v any) ([]byte, error) {
	from := reflect.ValueOf(v)
	form := reflect.New(formOf(from.Type())).Elem()
	assign(form, from)
	return json.Marshal(form.Addr().Interface())
}

// Read is [json.Unmarshal], except that the errors of values that do not fit are of type [*field.Error].
func Read(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if _, wrong := (field.Decoder{}).Decode(data, v); wrong != nil {
		return wrong
	}
	return err
}

// Unmarshal reads the result of [Marshal] into the struct that v points to. Fields
// that the JSON lacks keep their value. Its errors are those of [Read].
func Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v).Elem()
	form := reflect.New(formOf(target.Type())).Elem()
	assign(form, target)
	err := Read(data, form.Addr().Interface())
	assign(target, form)
	return err
}

func formOf(t reflect.Type) reflect.Type {
	fields := reflect.VisibleFields(t)
	for i := range fields {
		switch f := &fields[i]; {
		case f.Type == reflect.TypeFor[float64]():
			f.Type = reflect.TypeFor[Float]()
		case f.Type == reflect.TypeFor[*float64]():
			f.Type = reflect.TypeFor[*Float]()
		case f.Type == reflect.TypeFor[time.Duration]():
			f.Type = reflect.TypeFor[Duration]()
		case f.Type == reflect.TypeFor[*time.Duration]():
			f.Type = reflect.TypeFor[*Duration]()
		case f.Tag.Get("form") == "limit":
			f.Type = reflect.TypeFor[Limit]()
		}
	}
	return reflect.StructOf(fields)
}

func assign(target, source reflect.Value) {
	for i := range target.NumField() {
		target.Field(i).Set(source.Field(i).Convert(target.Field(i).Type()))
	}
}
