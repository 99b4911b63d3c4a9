package lint

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

const renderFirst = "Render first: helm template … | scaledjob lint -"

var (
	// actionPattern matches an action of a Helm template.
	actionPattern = regexp.MustCompile(`\{\{-?\s*(/\*|\.(Values|Release|Chart|Capabilities|Files|Template)\b|\$|(include|if|else|end|range|with|define|template|toYaml|tpl|quote|default)\b)`)
	// barePattern matches an action that stands alone as a value, which YAML reads as a map.
	barePattern  = regexp.MustCompile(`(?m)^[^#"'\n]*:\s*\{\{`)
	kindPattern  = regexp.MustCompile(`(?m)^["']?kind["']?:\s*["']?ScaledJob\b`)
	quotePattern = regexp.MustCompile(`\{\{-?\s*(\$|(quote|default)\b)`) // also of other tools
)

// Template reports whether a text is a template that Helm or Jinja renders. Other objects than
// ScaledJobs may have actions of other tools as texts.
func Template(data []byte) bool {
	if barePattern.Match(data) {
		return true
	}
	for _, p := range split(string(data)) {
		all := actionPattern.FindAllString(p.text, -1)
		other := len(quotePattern.FindAllString(p.text, -1))
		if len(all) > other || len(all) > 0 && kindPattern.MatchString(p.text) {
			return true
		}
	}
	return false
}

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
