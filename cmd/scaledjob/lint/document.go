package lint

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// A document is an object of a file, as a tree without aliases and merge keys.
type document struct {
	file string
	root *yaml.Node // a mapping
}

func (d *document) text(steps ...any) string {
	if n := d.node(steps...); n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return n.Value
	}
	return ""
}

func (d *document) kind() string { return d.text("kind") }

// A part is a piece of a file between lines that separate documents.
type part struct {
	text  string
	above int // lines of the file above it
}

// split cuts at the lines that begin with three dashes. Such a line ends a
// document whatever it stands in.
func split(text string) []part {
	var parts []part
	lines, first := strings.SplitAfter(text, "\n"), 0
	begun := false // the document has more than comments and directives
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "---"); ok && begun && strings.TrimLeft(rest, " \t\r\n") != rest {
			parts = append(parts, part{strings.Join(lines[first:i], ""), first})
			first, begun = i, false
		}
		begun = begun || strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "%")
	}
	return append(parts, part{strings.Join(lines[first:], ""), first})
}

// parse reads the objects of a part. It reports problems and continues with the readable
// objects.
func (c *collector) parse(file string, p part) []*document {
	var found []*document
	decoder := yaml.NewDecoder(strings.NewReader(p.text))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			c.syntax(file, p, err)
			return found
		}
		shift(&n, p.above)
		if c.unrendered(file, &n) {
			continue
		}
		r := resolver{c: c, file: file, left: maxNodes}
		root := r.resolve(&n, nil)
		if r.left < 0 {
			c.add(yamlSyntax, place{file: file, line: 1 + p.above, column: 1, found: fmt.Sprintf("more than %d nodes or %d levels, or an alias within itself", maxNodes, maxDepth)},
				"Use fewer aliases", effect{text: "lint does not read it"})
			return found
		}
		found = append(found, listed(&document{file, root})...)
	}
}

// Bounds of a document with its aliases written out.
const (
	maxNodes = 200_000
	maxDepth = 200
)

func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

// listed are the items of a List, or the document itself if it is a mapping.
func listed(d *document) []*document {
	if d.root == nil || d.root.Kind != yaml.MappingNode || len(d.root.Content) == 0 {
		return nil
	}
	items := d.node("items")
	if !strings.HasSuffix(d.kind(), "List") || items == nil || items.Kind != yaml.SequenceNode {
		return []*document{d}
	}
	var all []*document
	for _, item := range items.Content {
		all = append(all, listed(&document{d.file, item})...)
	}
	return all
}

// A resolver copies a tree with its aliases and merge keys written out.
type resolver struct {
	c    *collector
	file string
	left int // nodes that it may still copy
}

func (r *resolver) resolve(n *yaml.Node, at path) *yaml.Node {
	if r.left--; r.left < 0 || len(at) > maxDepth {
		r.left = -1
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil
		}
		return r.resolve(n.Content[0], at)
	case yaml.AliasNode:
		return r.resolve(n.Alias, at)
	case yaml.MappingNode:
		return r.mapping(n, at)
	}
	resolved := *n
	resolved.Content = nil
	for i, child := range n.Content {
		resolved.Content = append(resolved.Content, r.resolve(child, at.with(i)))
	}
	return &resolved
}

// mapping keeps the first of equal keys, and appends the merged keys.
func (r *resolver) mapping(n *yaml.Node, at path) *yaml.Node {
	resolved, seen := *n, map[string]*yaml.Node{}
	resolved.Content = nil
	add := func(key, value *yaml.Node) {
		seen[key.Value] = key
		resolved.Content = append(resolved.Content, key, value)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch first := seen[key.Value]; {
		case key.ShortTag() == "!!merge":
			merged = append(merged, n.Content[i+1])
		case first != nil:
			r.c.duplicate(r.file, key, first, at.with(key.Value))
		default:
			add(key, r.resolve(n.Content[i+1], at.with(key.Value)))
		}
	}
	for _, from := range merged {
		r.merge(from, at, func(key, value *yaml.Node) {
			if seen[key.Value] == nil {
				add(key, value)
			}
		})
	}
	return &resolved
}

// merge adds the keys of a mapping, or of each mapping of a list.
func (r *resolver) merge(n *yaml.Node, at path, add func(key, value *yaml.Node)) {
	from := r.resolve(n, at)
	if from == nil {
		return
	}
	mappings := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		mappings = from.Content
	}
	for _, m := range mappings {
		if m != nil && m.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(m.Content); i += 2 {
				add(m.Content[i], m.Content[i+1])
			}
		}
	}
}

func (c *collector) duplicate(file string, key, first *yaml.Node, at path) {
	c.add(duplicateKey, place{file, key.Line, key.Column, at.String(), fmt.Sprintf("the key of line %d again", first.Line)},
		"Delete one of the two", effect{text: "kubectl rejects it, and other clients silently take one of the two"})
}

var (
	errorPattern  = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?(.*)$`)
	indentedByTab = regexp.MustCompile(`^ *\t`)
	aliasPattern  = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// The errors of the parser; its scanner has the rest.
	parserPattern = regexp.MustCompile(`^did not find expected (key|node content|',' or|'-' indicator|<)`)
)

// syntax reports the line at which a part is invalid.
func (c *collector) syntax(file string, p part, err error) {
	b := p.broken(err)
	fix := "Correct the YAML"
	if templated(p) {
		fix = renderFirst
	}
	c.add(yamlSyntax, place{file: file, line: b.Line, column: 1, found: "broken YAML, " + b.Problem}, fix,
		effect{text: "neither KEDA nor lint can read it"})
}

// A Broken is a document that is not YAML.
type Broken struct {
	Line    int // in the file, from 1
	Problem string
}

// NotYAML returns the documents of a text that are not YAML.
func NotYAML(data []byte) (all []Broken) {
	for _, p := range split(string(data)) {
		decoder := yaml.NewDecoder(strings.NewReader(p.text))
		for {
			var n yaml.Node
			err := decoder.Decode(&n)
			if err == nil {
				continue
			}
			if !errors.Is(err, io.EOF) {
				all = append(all, p.broken(err))
			}
			break
		}
	}
	return all
}

func (p part) broken(err error) Broken {
	line, problem := problemLine(p.text, err)
	return Broken{min(max(1, line), len(strings.Split(p.text, "\n"))) + p.above, problem}
}

// problemLine returns the line of an error, from 1, or 0 if it is unknown. The parser counts
// lines from 0, its scanner from 1. An error omits line 0, so that the text gets an empty
// first line. For errors of the parser, only the older library returns the exact line.
func problemLine(text string, err error) (line int, problem string) {
	var n yaml.Node
	if again := yaml.Unmarshal([]byte("\n"+text), &n); again != nil {
		err = again
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

// scalar returns the value that kubectl reads: YAML 1.1, where yes is true.
func scalar(n *yaml.Node) any {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str" {
		return n.Value
	}
	var v any
	if err := k8syaml.Unmarshal([]byte(n.Value), &v); err != nil {
		return n.Value
	}
	switch v.(type) {
	case []any, map[string]any:
		return n.Value
	}
	return v
}

// plain is the value of a node as JSON has it.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for key, value := range entries(n) {
			m[key.Value] = plain(value)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = plain(item)
		}
		return list
	}
	return scalar(n)
}

// entries are the keys and values of a mapping.
func entries(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for pair := range slices.Chunk(n.Content, 2) {
			if len(pair) == 2 && !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}
