package tree

import (
	"fmt"

	"go.yaml.in/yaml/v3"
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
