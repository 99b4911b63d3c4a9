package input

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// Decode reads a YAML document into a pointer, and checks the result. The error has each
// unknown field, each value of a wrong type and each problem that check finds, by line.
func Decode(s Source, into any, check func() error, help string) error {
	d, err := s.document(help)
	if err != nil {
		return err
	}
	unknown, unfit := tree.Decode(d.root, into, field.Decoder{Unknown: d.misspelled, Form: form})
	d.add(unknown...)
	d.add(unfit...)
	wrong := map[string]bool{}
	for _, p := range d.problems {
		wrong[p.path] = wrong[p.path] || p.err != nil
	}
	d.nulls(d.root, nil, wrong)
	d.check(check())
	slices.SortStableFunc(d.problems, func(a, b atLine) int { return cmp.Compare(a.line, b.line) })
	var problems []error
	for _, p := range d.problems {
		problems = append(problems, fmt.Errorf("%s:%d: %w", s.Name, p.line, p.err))
	}
	return errors.Join(problems...)
}

// atLine is a problem at a line.
type atLine struct {
	path string
	line int
	err  error
}

// A document is the only one of a file, with its problems.
type document struct {
	root     *yaml.Node
	keys     tree.Keys
	above    int // lines of the file
	problems []atLine
}

// document parses a file.
func (s Source) document(help string) (*document, error) {
	d := &document{}
	for _, p := range tree.Split(string(s.Data)) {
		for n, err := range p.Documents() {
			if err != nil {
				return nil, s.notYAML(p.Broken(err))
			}
			root, twice, ok := tree.Resolve(n, true)
			switch {
			case !ok:
				return nil, fmt.Errorf("%s:%d: found %s; use fewer aliases", s.Name, 1+p.Above, tree.TooLarge)
			case root == nil || root.Tag == "!!null":
				continue
			case d.root != nil:
				return nil, fmt.Errorf("%s:%d: found a second document; use one", s.Name, root.Line)
			}
			d.root = root
			for _, duplicate := range twice {
				path := duplicate.Path.String()
				d.problems = append(d.problems, atLine{path, duplicate.Key.Line, &field.Error{Path: path, Found: "the field twice", Fix: "it once"}})
			}
		}
	}
	if d.root == nil {
		return nil, fmt.Errorf("%s: %w; see scaledjob %s", s.Name, errEmpty, help)
	}
	return d, nil
}

var errEmpty = errors.New("empty")

// wholeDocument is the path of the root in errors.
const wholeDocument = "document"

func (d *document) add(problems ...*field.Error) {
	for _, e := range problems {
		path := strings.TrimPrefix(e.Path, wholeDocument)
		d.problems = append(d.problems, atLine{path, d.line(path), e})
	}
}

// items match the place of an object in a List, and lineOf the line of an error of the parser.
var (
	items  = regexp.MustCompile(`^(?:items\[\d+\]\.)+`)
	lineOf = regexp.MustCompile(`^line (\d+): `)
)

// locate returns the line of a problem, or 0, and the problem without a line of its own.
func (d *document) locate(err error) (line int, problem error) {
	if wrong, ok := errors.AsType[*field.Error](err); ok {
		return d.line(items.ReplaceAllString(wrong.Path, "")), err
	}
	if lacks, ok := errors.AsType[*keda.UnsupportedError](err); ok {
		return d.line(lacks.Feature.String()), err
	}
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		return d.above + line, errors.New(err.Error()[len(m[0]):])
	}
	return 0, err
}

// line returns the line of a path, or of as much of it as there is.
func (d *document) line(path string) int {
	n, line := d.root, d.root.Line
	for _, step := range d.keys.Find(n, path) {
		var key *yaml.Node
		if key, n = d.keys.Child(n, step); n == nil {
			return line
		}
		if line = n.Line; key != nil && n.Kind != yaml.ScalarNode {
			line = key.Line
		}
	}
	return line
}

// nulls reports the fields without a value: in a test, one would be an expectation that nothing checks.
func (d *document) nulls(n *yaml.Node, parent tree.Path, wrong map[string]bool) {
	path := parent.String()
	if wrong[path] {
		return // of an unknown field
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		d.problems = append(d.problems, atLine{path, n.Line, &field.Error{Path: path, Found: "nothing", Fix: "a value, or leave the field out"}})
	}
	for key, value := range tree.Entries(n) {
		d.nulls(value, parent.Step(key.Value), wrong)
	}
	if n.Kind == yaml.SequenceNode {
		for i, item := range n.Content {
			d.nulls(item, parent.Step(i), wrong)
		}
	}
}

// misspelled returns the field that an unknown one is meant to be. That field counts as wrong: that it is
// missing is no further problem.
func (d *document) misspelled(path string, names []string) string {
	above, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		above, name = path[:i+1], path[i+1:]
	}
	near := triggers.Nearest(name, names)
	if near == "" {
		return "one of " + strings.Join(names, ", ")
	}
	d.problems = append(d.problems, atLine{path: above + near})
	return near
}

// check adds the problems that a check found, other than those that follow from a wrong
// value: they are about the field, a field in it, or a field that it is in.
func (d *document) check(err error) {
	wrong, above := map[string]bool{}, map[string]bool{}
	for _, p := range d.problems {
		wrong[p.path] = true
		for path := range prefixes(p.path) {
			above[path] = true
		}
	}
	for _, problem := range Problems(err) {
		found, ok := errors.AsType[*field.Error](problem)
		if !ok {
			d.problems = append(d.problems, atLine{"", d.root.Line, problem})
			continue
		}
		follows := above[found.Path]
		for path := range prefixes(found.Path) {
			follows = follows || wrong[path]
		}
		if !follows {
			d.problems = append(d.problems, atLine{found.Path, d.line(found.Path), problem})
		}
	}
	d.problems = slices.DeleteFunc(d.problems, func(p atLine) bool { return p.err == nil })
}

// prefixes are the paths of the fields that a field is in, and its own.
func prefixes(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(path) {
			if (i == 0 || path[i] == '.' || path[i] == '[') && !yield(path[:i]) {
				return
			}
		}
		yield(path)
	}
}

// form returns the values of a type that reads itself, in the words of its error: what follows "use".
func form(t reflect.Type, data []byte) (string, bool) {
	var err error
	var text string
	switch v := reflect.New(t).Interface().(type) {
	case json.Unmarshaler:
		err = v.UnmarshalJSON(data)
	case encoding.TextUnmarshaler:
		_ = json.Unmarshal(data, &text) // another value is no such text either
		err = v.UnmarshalText([]byte(text))
	}
	if err == nil {
		return "", true
	}
	_, fix, _ := strings.Cut(err.Error(), "; use ")
	return fix, true
}
