package lint

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
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
		if c.judged[file] && c.unrendered(file, p.Text, n) {
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
		if !ok && !c.judged[file] {
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
	if !c.judged[file] {
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
