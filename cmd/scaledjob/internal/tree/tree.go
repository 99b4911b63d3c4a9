// Package tree reads YAML as a tree with lines, in which values are those that kubectl reads, and
// maps such a tree to Go values.
//
// [Resolve] writes out aliases and merge keys. [Decode] reports every part that a type cannot hold,
// as a [field.Error] whose position [Keys.Find] returns.
package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/field"
)

// A Path is the keys (string) and indexes (int) that lead to a value.
type Path []any

// Step returns a path that is a step longer.
func (p Path) Step(step any) Path { return append(p[:len(p):len(p)], step) }

// String joins the keys with dots. Indexes, and keys with dots, are in brackets.
func (p Path) String() string {
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

// Keys are the entries of large mappings by their keys: a search takes as long as in a small one.
// The zero value is ready to use. The nodes must not change.
type Keys struct{ entries map[*yaml.Node]map[string]int }

// Find returns the path of a [field.Error] in a tree, as far as the tree has it; the keys of a
// path with dots are the tree's. An empty path is the root.
func (k *Keys) Find(n *yaml.Node, path string) (steps Path) {
	for unfinished := path != ""; unfinished; path, unfinished = strings.TrimPrefix(path, "."), path != "" {
		step, remainder := k.next(n, path)
		if step == nil {
			return append(steps, path)
		}
		steps = append(steps, step)
		_, n = k.Child(n, step)
		path = remainder
	}
	return steps
}

// next returns the first step of a path, and the path behind it.
func (k *Keys) next(n *yaml.Node, path string) (step any, remainder string) {
	if inner, ok := strings.CutPrefix(path, "["); ok && n != nil && n.Kind == yaml.SequenceNode {
		index, remainder, _ := strings.Cut(inner, "]")
		if i, err := strconv.Atoi(index); err == nil {
			return i, remainder
		}
	}
	if key, _ := k.Child(n, path); key != nil {
		return path, ""
	}
	for end, r := range path { // a key with dots has no fields, other than the last
		if r != '.' && r != '[' {
			continue
		}
		if key, _ := k.Child(n, path[:end]); key != nil {
			return path[:end], path[end:]
		}
	}
	if end := strings.IndexAny(path, ".["); end > 0 {
		return path[:end], path[end:]
	}
	return nil, path
}

// Entries are the keys and values of a mapping; other nodes have none.
func Entries(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(n.Content, 2) {
			if len(pair) == 2 && !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}

// Child returns the value of a key or at an index, and the key's node.
func (k *Keys) Child(n *yaml.Node, step any) (key, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	if i, ok := step.(int); ok && n.Kind == yaml.SequenceNode && 0 <= i && i < len(n.Content) {
		return nil, n.Content[i]
	}
	name, ok := step.(string)
	if !ok || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	if len(n.Content) <= small {
		for key, value := range Entries(n) {
			if key.Value == name {
				return key, value
			}
		}
		return nil, nil
	}
	if k.entries[n] == nil {
		k.add(n)
	}
	if i, ok := k.entries[n][name]; ok {
		return n.Content[i], n.Content[i+1]
	}
	return nil, nil
}

// small is the length of a content that needs no index.
const small = 64

func (k *Keys) add(n *yaml.Node) {
	if k.entries == nil {
		k.entries = map[*yaml.Node]map[string]int{}
	}
	k.entries[n] = map[string]int{}
	for i := len(n.Content) - 2; i >= 0; i -= 2 { // the first of equal keys counts
		k.entries[n][n.Content[i].Value] = i
	}
}

// Scalar returns the value that kubectl reads: YAML 1.1, where yes is true. A whole number in
// decimal digits is an int64, or a uint64 above that, and every other number a float64.
func Scalar(n *yaml.Node) any {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		(n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str") || isText(n) {
		return n.Value
	}
	if integer, err := strconv.ParseInt(n.Value, 10, 64); err == nil && strconv.FormatInt(integer, 10) == n.Value {
		return integer
	}
	if large, err := strconv.ParseUint(n.Value, 10, 64); err == nil && strconv.FormatUint(large, 10) == n.Value {
		return large
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

// words are the texts in letters that YAML 1.1 reads as other values than later versions.
var words = []string{"y", "yes", "n", "no", "on", "off"}

// isText reports whether a text can be nothing but a string, without the cost of the parser. It finds most.
func isText(n *yaml.Node) bool {
	isWord := func(word string) bool { return strings.EqualFold(word, n.Value) }
	return n.ShortTag() == "!!str" && n.Value != "" && unicode.IsLetter(rune(n.Value[0])) && !slices.ContainsFunc(words, isWord)
}

// Plain returns the value of a node as JSON has it. Keys that without names are left out.
func Plain(n *yaml.Node, omitted ...string) any {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for key, value := range Entries(n) {
			m[key.Value] = Plain(value)
		}
		maps.DeleteFunc(m, func(key string, _ any) bool { return slices.Contains(omitted, key) })
		return m
	case n.Kind == yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = Plain(item)
		}
		return list
	}
	return Scalar(n)
}

// Decode reads a tree into a pointer with a decoder, and returns its problems.
func Decode(n *yaml.Node, into any, decoder field.Decoder, omitted ...string) (unknown, wrong []*field.Error) {
	data, err := json.Marshal(Plain(n, omitted...))
	if err != nil {
		return nil, []*field.Error{{Path: "document", Found: "no JSON: " + err.Error(), Fix: "values that JSON has"}}
	}
	notKnown, notFit := decoder.Decode(data, into)
	return field.All(notKnown), field.All(notFit)
}
