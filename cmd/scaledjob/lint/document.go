package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// A document is an object of a file, as a tree without aliases and merge keys.
type document struct {
	file string
	root *yaml.Node // a mapping
	keys *tree.Keys
}

func (d *document) text(steps ...any) string {
	if n := d.node(steps...); n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return n.Value
	}
	return ""
}

// name returns the name of the object, after its namespace and a slash if it has one.
func (d *document) name() string {
	return strings.TrimPrefix(d.text("metadata", "namespace")+"/"+d.text("metadata", "name"), "/")
}

func (d *document) kind() string { return d.text("kind") }

// parse reads the objects of a part. It reports problems and continues with the readable
// objects.
func (c *collector) parse(file string, p tree.Part) (found []*document) {
	for n, err := range p.Documents() {
		if err != nil {
			c.syntax(file, p, err)
			return found
		}
		if c.judged && c.unrendered(file, p.Text, n) {
			continue
		}
		root, twice, ok := tree.Resolve(n, false)
		if root == nil || (&document{root: root, keys: new(tree.Keys)}).text("kind") == "" {
			twice = nil
		}
		for _, d := range twice {
			c.add(duplicateKey, place{file, d.Key.Line, d.Key.Column, d.Path.String(), fmt.Sprintf("set twice, first in line %d", d.First.Line), false, ""},
				"Delete one of the two", effect{text: "kubectl rejects it, and other clients silently use one of the two"})
		}
		if !ok && !c.judged {
			return found
		}
		if !ok {
			c.tooLarge(file, 1+p.Above, tree.TooLarge, "Use fewer aliases")
			return found
		}
		found = append(found, listed(&document{file, root, new(tree.Keys)})...)
	}
	return found
}

// listed returns the items of a List. Of any other mapping it returns the document.
func listed(d *document) []*document {
	if d.root == nil || d.root.Kind != yaml.MappingNode || len(d.root.Content) == 0 {
		return nil
	}
	items := d.node("items")
	if !strings.HasSuffix(d.kind(), "List") || items == nil || items.Kind != yaml.SequenceNode {
		return []*document{d}
	}
	var documents []*document
	for _, item := range items.Content {
		documents = append(documents, listed(&document{d.file, item, d.keys})...)
	}
	return documents
}

const correctYAML = "Correct the YAML"

// syntax reports the line at which a part is invalid.
func (c *collector) syntax(file string, p tree.Part, err error) {
	b, fix := p.Broken(err), correctYAML
	if b.TooLarge {
		c.tooLarge(file, b.Line, b.Problem, "Use several documents")
		return
	}
	if !c.judged {
		return
	}
	if line, name, instead := unseen(p.Text); line > 0 {
		b.Line, b.Problem, fix = line+p.Above, "invalid YAML: "+name, instead
	}
	if templated(p) {
		fix = renderFirst(p.Text)
	}
	c.add(yamlSyntax, place{file: file, line: b.Line, column: 1, found: b.Problem}, fix,
		effect{text: "nothing can read it"})
}

// A place is a field with its position and its value.
type place struct {
	file         string
	line, column int
	path         string
	found        string
	hidden       bool   // the value may be a password
	text         string // the whole value of a scalar
}

// node returns the node that the steps lead to, or nil.
func (d *document) node(steps ...any) *yaml.Node {
	if d == nil {
		return nil
	}
	n := d.root
	for _, step := range steps {
		if _, n = d.keys.Child(n, step); n == nil {
			return nil
		}
	}
	return n
}

// path returns the steps to a field of an error.
func (d *document) path(path string) tree.Path { return d.keys.Find(d.root, path) }

// place returns the place of a value. For a map or list below its key it is the key, so that a
// comment can silence the finding. For a missing or null value it is the key, or else the
// nearest key above.
func (d *document) place(steps ...any) place {
	n, named := d.root, d.root
	for _, step := range steps {
		key, value := d.keys.Child(n, step)
		if key != nil {
			named = key
		}
		if value == nil || value.ShortTag() == "!!null" {
			return place{d.file, named.Line, named.Column, tree.Path(steps).String(), noValue, false, ""}
		}
		if n = value; key == nil {
			named = value
		}
	}
	if n.Kind != yaml.ScalarNode && n.Line != named.Line {
		return place{d.file, named.Line, named.Column, tree.Path(steps).String(), describe(n), false, ""}
	}
	if n.Kind == yaml.ScalarNode && len(steps) > 1 && slices.Contains(keyFields, fmt.Sprint(steps[0])) && d.kind() == "Secret" {
		return place{d.file, n.Line, n.Column, tree.Path(steps).String(), "a hidden value", true, ""}
	}
	p := place{d.file, n.Line, n.Column, tree.Path(steps).String(), describe(n), false, n.Value}
	if n.Kind == yaml.ScalarNode && n.Value != "" && d.isCredential(steps, p.path) {
		p.found, p.hidden = "a hidden value", true
	}
	return p
}

// key is the place of a value that has its key at fault.
func (d *document) key(steps ...any) place {
	position, last := d.place(steps...), len(steps)-1
	if key, _ := d.keys.Child(d.node(steps[:last]...), steps[last]); key != nil {
		position.line, position.column = key.Line, key.Column
	}
	return position
}

// Descriptions of a field without a value.
const (
	noValue   = "nothing"
	emptyList = "an empty list"
)

var (
	// credentialPath matches the trigger's parameters that are credentials themselves.
	credentialPath = regexp.MustCompile(`(?i)^spec\.triggers\[\d+\]\.metadata\.\w*(?:passw?|pwd|secret|token|(?:api|app|access|account|private|shared)_?key)\w*$`)
	// openPath matches what may have a credential within a text.
	openPath = regexp.MustCompile(`^spec\.triggers\[\d+\]\.metadata\.|\.(?:args|command)\b|\.env\[\d+\]\.value$`)
	words    = regexp.MustCompile(`[^\s/:@?&;=,"']{3,}`)
)

// hide takes a credential out of the value and its fix, and the line out of the finding.
func (p *place) hide(fix *string) {
	if !openPath.MatchString(p.path) {
		return
	}
	text := p.text[:min(len(p.text), 4096)] // more is not shown
	clean := redact.Answer(text)
	if clean == text {
		return
	}
	if p.found == strconv.Quote(cut(braces.Replace(p.text))) {
		p.found = strconv.Quote(cut(clean))
	}
	p.hidden = true
	for _, word := range words.FindAllString(text, -1) {
		if !strings.Contains(clean, word) {
			*fix = strings.ReplaceAll(*fix, word, "***")
		}
	}
}

func (p place) empty() bool { return p.found == noValue || p.found == emptyList || p.found == `""` }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return emptyList
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	switch v := tree.Scalar(n).(type) {
	case nil:
		return noValue
	case string:
		return strconv.Quote(cut(braces.Replace(v)))
	}
	return cut(n.Value)
}

func cut(s string) string {
	const limit = 80
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// isCredential reports whether a value is a parameter that is a credential, or a variable with the name of one.
func (d *document) isCredential(steps []any, path string) bool {
	last := len(steps) - 1
	if last < 1 || steps[last] != "value" {
		isName := strings.HasSuffix(path, "FromEnv") || strings.HasSuffix(path, "Provider") || strings.HasSuffix(path, "URI")
		return credentialPath.MatchString(path) && !isName
	}
	return triggers.IsCredential(d.text(append(slices.Clone(steps[:last]), "name")...))
}
