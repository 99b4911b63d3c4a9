package lint

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A path is the keys (string) and indexes (int) that lead to a field.
type path []any

func (p path) with(step any) path { return append(p[:len(p):len(p)], step) }

// String joins the keys with dots. Indexes, and keys with dots, are in brackets.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		key, ok := step.(string)
		switch {
		case !ok:
			fmt.Fprintf(&b, "[%v]", step)
		case strings.ContainsAny(key, "./[] "):
			b.WriteString("[" + key + "]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// A place is a field with its position and its value.
type place struct {
	file         string
	line, column int
	path         string
	found        string
}

// node returns the node that the steps lead to, or nil.
func (d *document) node(steps ...any) *yaml.Node {
	n := d.root
	for _, step := range steps {
		if _, n = child(n, step); n == nil {
			return nil
		}
	}
	return n
}

// at returns the place of a value. For a map or list below its key it is the key, so that a
// comment can silence the finding. For a missing or null value it is the key, or else the
// nearest key above.
func (d *document) at(steps ...any) place {
	n, named := d.root, d.root
	for _, step := range steps {
		key, value := child(n, step)
		if key != nil {
			named = key
		}
		if value == nil || value.ShortTag() == "!!null" {
			return place{d.file, named.Line, named.Column, path(steps).String(), nothing}
		}
		if n = value; key == nil {
			named = value
		}
	}
	if n.Kind != yaml.ScalarNode && n.Line != named.Line {
		return place{d.file, named.Line, named.Column, path(steps).String(), describe(n)}
	}
	return place{d.file, n.Line, n.Column, path(steps).String(), describe(n)}
}

// key is the place of a value that has its key at fault.
func (d *document) key(steps ...any) place {
	at, last := d.at(steps...), len(steps)-1
	if key, _ := child(d.node(steps[:last]...), steps[last]); key != nil {
		at.line, at.column = key.Line, key.Column
	}
	return at
}

// child returns the value of a key or at an index, and the key's node.
func child(n *yaml.Node, step any) (key, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return nil, n.Content[step]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			for k, v := range entries(n) {
				if k.Value == step {
					return k, v
				}
			}
		}
	}
	return nil, nil
}

// Descriptions of a field without a value.
const (
	nothing   = "nothing"
	emptyList = "an empty list"
)

// empty reports whether there is no value.
func (p place) empty() bool { return p.found == nothing || p.found == emptyList || p.found == `""` }

// describe describes a node in a few words.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return emptyList
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	switch v := scalar(n).(type) {
	case nil:
		return nothing
	case string:
		return strconv.Quote(cut(v))
	}
	return cut(n.Value)
}

func cut(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
