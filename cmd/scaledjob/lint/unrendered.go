package lint

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// renderFirst returns the fix for a template: helm is advised for its own actions only.
func renderFirst(text string) string {
	if helmPattern.MatchString(text) {
		return "Render first: helm template … | scaledjob lint -"
	}
	return "Render it first, and lint the output"
}

// RenderFirst returns what to do with a template.
func RenderFirst(data []byte) string {
	fix := renderFirst(string(data))
	return strings.ToLower(fix[:1]) + fix[1:]
}

var helmPattern = regexp.MustCompile(`\{\{-?[^}]*(\.(Values|Release|Chart|Capabilities|Files|Template)\b|\b(include|tpl|toYaml)\b)`)

var (
	// actionPattern matches an action of a Helm template.
	actionPattern = regexp.MustCompile(`\{\{-?\s*(/\*|\.(Values|Release|Chart|Capabilities|Files|Template)\b|\$|(include|if|else|end|range|with|define|template|toYaml|tpl|quote|default)\b)`)
	// brokenPattern matches an action in text that is not YAML: alone as a value, or with an argument.
	brokenPattern = regexp.MustCompile(`%\{-?~?\s*(?:if|for|else|endif|endfor)\b|(?m)^[^#"'\n]*:\s*\{\{|\{\{-?\s*\w+\s+["$.(]`)
	quotePattern  = regexp.MustCompile(`\{\{-?\s*(\$|(quote|default)\b)`) // also of other tools
)

// Template reports whether a text is a template that Helm or Jinja renders.
func Template(data []byte) bool {
	return bytes.Contains(data, []byte("{{")) && slices.ContainsFunc(tree.Split(withoutBraces(string(data))), func(p tree.Part) bool {
		for n, err := range p.Documents() {
			if err != nil {
				return templated(p)
			}
			if _, isAction := unreadable(n, false); isAction {
				return true
			}
		}
		return false
	})
}

// templated reports whether a part that is not YAML is a template.
func templated(p tree.Part) bool {
	return brokenPattern.MatchString(p.Text) || actionPattern.MatchString(p.Text)
}

// unrendered finds a document that is a template or that has a map as a key, and reports whether
// it does.
func (c *collector) unrendered(file, text string, n *yaml.Node) bool {
	node, isAction := unreadable(n, false)
	found, fix := "a map as a key", "Write a string"
	switch {
	case node == nil:
		return false
	case isAction:
		found, fix = "a template action", renderFirst(text)
	}
	c.add(yamlSyntax, place{file: file, line: node.Line, column: node.Column, found: found}, fix,
		effect{text: "lint reads rendered manifests only"})
	return true
}

// unreadable returns the first action of a template or, if there is none, the first map with a map as its key, or nil, and
// whether it is an action. In a ScaledJob every action in a text counts; other objects may have actions of other tools as
// texts. YAML reads {{ }} without quotes as a map with a map as its key.
func unreadable(n *yaml.Node, inScaledJob bool) (found *yaml.Node, isAction bool) {
	if n.Kind == yaml.ScalarNode && actionPattern.MatchString(n.Value) && (inScaledJob || len(actionPattern.FindAllString(n.Value, -1)) > len(quotePattern.FindAllString(n.Value, -1))) {
		return n, true
	}
	inScaledJob = inScaledJob || (n.Kind == yaml.MappingNode && (&document{root: n, keys: new(tree.Keys)}).kind() == "ScaledJob")
	for i, child := range n.Content {
		below, isAction := unreadable(child, inScaledJob)
		switch isKey := n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.MappingNode; {
		case isAction:
			return below, true
		case isKey && child.Line == n.Line && child.Column == n.Column+1:
			return n, true
		case isKey:
			found = cmp.Or(found, n)
		}
		found = cmp.Or(found, below)
	}
	return found, false
}
