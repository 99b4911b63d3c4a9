package oracle

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// read reads a line. With problems, which are joined, it returns the fields that
// could be read.
func read(data []byte) (*line, error) {
	l, problems := &line{}, field.Errors{}
	unknown, wrong := field.Decoder{Root: "line", Unknown: instead}.Decode(data, l)
	if syntax, ok := errors.AsType[*json.SyntaxError](wrong); ok {
		problems.Add(notJSON(data, syntax))
		return l, problems.Err()
	}
	problems.Join("", unknown)
	problems.Join("", wrong)
	return l, problems.Err()
}

func notJSON(data []byte, syntax *json.SyntaxError) field.Error {
	found := "the end of the line within its object"
	if !strings.HasPrefix(syntax.Error(), "unexpected end") {
		offset := min(max(int(syntax.Offset), 1), len(data))
		found = strconv.Quote(string(data[offset-1:offset])) + " as byte " + strconv.Itoa(offset) + ", which is not JSON"
	}
	return field.Error{Path: "line", Found: found, Fix: "one JSON object"}
}

// instead returns the known field that an unknown field may misspell.
func instead(path string, names []string) string {
	key := path[strings.LastIndex(path, ".")+1:]
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) }); i >= 0 {
		return names[i]
	}
	return "a field that scaledjob oracle --fields lists"
}

var errType = errors.New("another type")

// UnmarshalJSON reads a number, or a text that names one that JSON does not have.
func (n *number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		text = strings.Trim(text, `"`)
		if !slices.Contains([]string{"NaN", "Inf", "+Inf", "-Inf"}, text) {
			return errType
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	*n = number(x)
	return err
}

// Wanted describes the values for an error.
func (*number) Wanted() string { return `a number, "NaN", "+Inf" or "-Inf"` }

// UnmarshalJSON reads a number or a text.
func (d *decimal) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(d))
	}
	if *d = decimal(data); data[0] != '-' && (data[0] < '0' || data[0] > '9') {
		return errType
	}
	return nil
}

// Wanted describes the values for an error.
func (*decimal) Wanted() string { return `a number, or one as a text, such as "0.5"` }

// UnmarshalJSON reads true, false or a text, of which "" is false.
func (f *failure) UnmarshalJSON(data []byte) error {
	text := string(data)
	*f = failure(text == "true" || (data[0] == '"' && text != `""`))
	if data[0] != '"' && text != "true" && text != "false" {
		return errType
	}
	return nil
}

// Wanted describes the values for an error.
func (*failure) Wanted() string { return "true, false, or a text" }

// UnmarshalText reads a duration.
func (d *duration) UnmarshalText(text []byte) error {
	age, err := time.ParseDuration(string(text))
	*d = duration(age)
	return err
}

// Wanted describes the values for an error.
func (*duration) Wanted() string { return `a duration, such as "1h30m"` }
