package lint

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

const renderFirst = "Render first: helm template … | scaledjob lint -"

// actionPattern matches an action of a Helm template.
var actionPattern = regexp.MustCompile(`\{\{-?\s*(\.Values|\.Release|\.Chart|\$|include\b|template\b|if\b|range\b|with\b|end\b|toYaml\b|tpl\b|quote\b|default\b)`)

// unrendered finds a ScaledJob that is a template, and reports whether it does. YAML reads
// {{ }} without quotes as a map with a map as its key.
func (c *collector) unrendered(file string, n *yaml.Node) bool {
	root := n
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		root = n.Content[0]
	}
	at := action(root, (&document{root: root}).kind() == "ScaledJob")
	if at == nil {
		return false
	}
	c.add(yamlSyntax, place{file: file, line: at.Line, column: at.Column, found: "a template's action"}, renderFirst,
		effect{text: "lint reads rendered manifests only"})
	return true
}

// action returns the first node of a template's action, or nil. Texts count if inTexts is
// true: other objects may have templates as texts.
func action(n *yaml.Node, inTexts bool) *yaml.Node {
	if n.Kind == yaml.ScalarNode && inTexts && actionPattern.MatchString(n.Value) {
		return n
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.MappingNode {
			return n
		}
		if found := action(child, inTexts); found != nil {
			return found
		}
	}
	return nil
}
