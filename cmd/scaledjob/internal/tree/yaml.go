package tree

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// A Part is a piece of a file between lines that separate documents.
type Part struct {
	Text  string
	Above int // lines of the file above it
}

// Split cuts at the lines that begin with three dashes and a space or nothing. Such a line ends a
// document whatever it stands in.
func Split(text string) []Part {
	var parts []Part
	start, above := 0, 0   // of the part
	hasContent := false    // the document has more than comments and directives
	offset, number := 0, 0 // of the line
	for line := range strings.Lines(text) {
		if remainder, ok := strings.CutPrefix(line, "---"); ok && hasContent && strings.TrimLeft(remainder, " \t\r\n") != remainder {
			parts = append(parts, Part{text[start:offset], above})
			start, above, hasContent = offset, number, false
		}
		directive := strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%")
		hasContent = hasContent || (!directive && strings.TrimSpace(line) != "")
		offset, number = offset+len(line), number+1
	}
	return append(parts, Part{text[start:], above})
}

// Bounds of a document, before it is parsed: the parser needs up to 140 times as much memory as the text.
const (
	MaxDocument = 5 << 20 // bytes
	maxMarks    = 300_000
)

// errTooLarge is the error of a document that is not parsed.
var errTooLarge = fmt.Errorf("a document of more than %d MiB or about %d values", MaxDocument>>20, maxMarks)

// tooLarge reports whether a document may take too much memory. A value has a character of its own in front of it or
// behind it, such as the comma in [a,b], and in {a,b} a comma stands for two. A comment is kept, too.
func (p Part) tooLarge() bool {
	if len(p.Text) > MaxDocument {
		return true
	}
	marks := strings.Count(p.Text, ",")
	for _, mark := range []string{",", ":", "[", "{", "?", "#", "- ", "-\t", "-\n", "-\r", "-\u0085", "-\u2028", "-\u2029"} {
		marks += strings.Count(p.Text, mark)
	}
	return marks > maxMarks
}

// A Broken is a document that is not YAML.
type Broken struct {
	Line     int // in the file, from 1
	Problem  string
	TooLarge bool // it was not parsed
}

// Documents are the documents of a part, with lines of the file. An error ends them.
func (p Part) Documents() iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		if p.tooLarge() {
			yield(&yaml.Node{}, errTooLarge)
			return
		}
		for decoder := yaml.NewDecoder(strings.NewReader(p.Text)); ; {
			n := &yaml.Node{}
			err := decoder.Decode(n)
			if errors.Is(err, io.EOF) {
				return
			}
			shift(n, p.Above)
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// TooLargeIn reports whether a text has a document that is not parsed.
func TooLargeIn(data []byte) bool {
	return slices.ContainsFunc(Split(string(data)), Part.tooLarge)
}

// NotYAML returns the documents of a text that are not YAML.
func NotYAML(data []byte) (broken []Broken) {
	for _, p := range Split(string(data)) {
		for _, err := range p.Documents() {
			if err != nil {
				broken = append(broken, p.Broken(err))
			}
		}
	}
	return broken
}

// Broken returns the line of an error of Documents.
func (p Part) Broken(err error) Broken {
	if errors.Is(err, errTooLarge) {
		return Broken{1 + p.Above, err.Error(), true}
	}
	line, problem := problemLine(p.Text, err)
	return Broken{min(max(1, line), 1+strings.Count(p.Text, "\n")) + p.Above, "invalid YAML: " + expectedPattern.ReplaceAllString(problem, "expected "), false}
}

// problemLine returns the line of an error, from 1, or 0 if it is unknown. The parser counts
// lines from 0, its scanner from 1. An error omits line 0, so that the text gets an empty
// first line. For errors of the parser, only the older library returns the exact line.
func problemLine(text string, err error) (line int, problem string) {
	var n yaml.Node
	if retried := yaml.Unmarshal([]byte("\n"+text), &n); retried != nil {
		err = retried
	}
	line, problem = parseError(err)
	if anchor := aliasPattern.FindStringSubmatch(problem); anchor != nil {
		before, _, _ := strings.Cut(text, "*"+anchor[1])
		return 1 + strings.Count(before, "\n"), problem
	}
	if parserPattern.MatchString(problem) {
		var v any
		if older := k8syaml.Unmarshal([]byte("\n"+text), &v); older != nil {
			line, _ = parseError(older)
		}
		return line, problem
	}
	if control := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }); line == 0 && control >= 0 {
		return 1 + strings.Count(text[:control], "\n"), problem
	}
	if strings.Contains(problem, "tab character") { // the line is where the value before it begins
		for i, l := range strings.Split(text, "\n") {
			if i+1 >= line-1 && indentedByTab.MatchString(l) {
				return i + 1, problem
			}
		}
	}
	return line - 1, problem
}

func parseError(err error) (line int, problem string) {
	m := errorPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

var (
	errorPattern    = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?(.*)$`)
	indentedByTab   = regexp.MustCompile(`^ *\t`)
	expectedPattern = regexp.MustCompile(`^(?:could|did) not find expected `)
	aliasPattern    = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// The errors of the parser; its scanner has the rest.
	parserPattern = regexp.MustCompile(`^did not find expected (key|node content|',' or|'-' indicator|<)`)
)

// Bounds of a document with its aliases written out.
const (
	maxNodes = 200_000
	maxDepth = 200
)

// TooLarge describes a document that Resolve does not copy.
var TooLarge = fmt.Sprintf("more than %d nodes or %d levels, or an alias within itself", maxNodes, maxDepth)

// A Duplicate is a key that a mapping has twice.
type Duplicate struct {
	Path       Path
	Key, First *yaml.Node
}

// Resolve copies a document with its aliases and merge keys written out, and returns the keys that
// occur twice; the first of each counts. What an alias stands for has the line of the alias or, in place, its own.
// ok is false if the copy is too large.
func Resolve(n *yaml.Node, inPlace bool) (root *yaml.Node, twice []Duplicate, ok bool) {
	r := resolver{budget: maxNodes, inPlace: inPlace}
	root = r.resolve(n, nil)
	return root, r.twice, r.budget >= 0
}

type resolver struct {
	twice   []Duplicate
	budget  int  // nodes that it may still copy
	inPlace bool // aliases do not move what they stand for
}

func (r *resolver) resolve(n *yaml.Node, path Path) *yaml.Node {
	if r.budget--; r.budget < 0 || len(path) > maxDepth {
		r.budget = -1
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil
		}
		return r.resolve(n.Content[0], path)
	case yaml.AliasNode:
		resolved := r.resolve(n.Alias, path)
		if !r.inPlace {
			moveTo(resolved, n)
		}
		return resolved
	case yaml.MappingNode:
		return r.mapping(n, path)
	}
	resolved := *n
	resolved.Content = nil
	for i, child := range n.Content {
		resolved.Content = append(resolved.Content, r.resolve(child, path.Step(i)))
	}
	return &resolved
}

// mapping keeps the first of equal keys, and appends the merged keys.
func (r *resolver) mapping(n *yaml.Node, path Path) *yaml.Node {
	resolved, visited := *n, map[string]*yaml.Node{}
	resolved.Content = nil
	add := func(key, value *yaml.Node) {
		visited[key.Value] = key
		resolved.Content = append(resolved.Content, key, value)
	}
	var merged []*yaml.Node
	for key, value := range Entries(n) {
		switch first := visited[key.Value]; {
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case first != nil:
			r.twice = append(r.twice, Duplicate{path.Step(key.Value), key, first})
		default:
			add(key, r.resolve(value, path.Step(key.Value)))
		}
	}
	for _, from := range merged {
		r.merge(from, path, func(key, value *yaml.Node) {
			if visited[key.Value] == nil {
				add(key, value)
			}
		})
	}
	return &resolved
}

// merge adds the keys of a mapping, or of each mapping of a list.
func (r *resolver) merge(n *yaml.Node, path Path, add func(key, value *yaml.Node)) {
	from := r.resolve(n, path)
	if from == nil {
		return
	}
	mappings := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		mappings = from.Content
	}
	for _, m := range mappings {
		for key, value := range Entries(m) {
			add(key, value)
		}
	}
}

// moveTo gives a copy the position of its alias, so that a problem is reported where it is mended.
func moveTo(n, alias *yaml.Node) {
	if n == nil {
		return
	}
	n.Line, n.Column = alias.Line, alias.Column
	for _, child := range n.Content {
		moveTo(child, alias)
	}
}

func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}
