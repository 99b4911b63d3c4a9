package lint

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
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

// programs are the fields whose texts belong to the container: a $NAME in them is a shell's.
var programs = []string{"command", "args", "env"}

// placeholdersOf adds the placeholders of a ScaledJob, whose form no rule judges, and the place of the first.
func placeholdersOf(d *document, names map[string]bool, first *place) {
	visit(d.root, false, func(n *yaml.Node, program bool) {
		unquoted := n.Style == 0 && strings.HasPrefix(n.Value, opening+opening) // only a tool reads it
		found := firstPlaceholder(n.Value, program && !unquoted)
		if found != "" && len(names) == 0 {
			*first = place{file: d.file, line: n.Line, column: n.Column, found: found}
		}
		if found != "" {
			names[found] = true
		}
	})
}

// afterPattern matches the character before a placeholder.
var afterPattern = regexp.MustCompile(`^[^$#{]([${@])`)

// firstPlaceholder returns the first placeholder in a text, or "". Of a program it looks at the first hundred forms.
func firstPlaceholder(text string, program bool) string {
	if !program {
		return afterPattern.ReplaceAllString(triggers.Placeholder.FindString(text), "$1")
	}
	for _, span := range triggers.Placeholder.FindAllStringIndex(text, 100) {
		if isReplaced(text, span[0], span[1]) {
			return text[span[0]:span[1]]
		}
	}
	return ""
}

// replacedWords are placeholders that no program has.
var replacedWords = regexp.MustCompile(`^(?:#\{|REPLACE_|CHANGE)`)

// longOption matches a text that ends with an option that takes a value.
var longOption = regexp.MustCompile(`(?:^| )--[\w-]+ $`)

// isReplaced reports whether a placeholder in a container's text is no part of the program: $NAME and {NAME} may be a
// shell's, %NAME% and __NAME__ any program's, <a> XML, and <FILE >FILE redirects.
func isReplaced(text string, start, end int) bool {
	found := text[start:end]
	if !strings.HasPrefix(found, "<") {
		return replacedWords.MatchString(found)
	}
	before := text[:start]
	operand := strings.HasSuffix(before, " ") && end < len(text) && !longOption.MatchString(before)
	redirects := strings.HasSuffix(before, "<") || strings.HasSuffix(found, " >") || operand
	return found == strings.ToUpper(found) && !redirects
}

// notePlaceholders notes the placeholders of a file's ScaledJobs.
func (c *collector) notePlaceholders(names map[string]bool, first place) {
	if len(names) > 1 {
		first.found += " and " + field.Plural(len(names)-1, "other placeholder")
	}
	if len(names) > 0 {
		c.add(placeholder, first, "Render the manifest first", effect{text: "kubectl applies placeholders unchanged, and lint does not check their values"})
	}
}

// keyNames are the fields of Redis in which {NAME} is a part of the key, which decides on its slot in a cluster.
var (
	keyNames       = []string{"listName", "stream"}
	hashTagPattern = regexp.MustCompile("^[^" + opening + "]*" + opening + `\w+` + closing + "[^" + opening + "]*$")
)

// visit calls f with the scalars of a tree, and whether they belong to the container.
func visit(n *yaml.Node, program bool, f func(n *yaml.Node, program bool)) {
	if n.Kind == yaml.ScalarNode {
		f(n, program)
	}
	for i, child := range n.Content {
		key := ""
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			key = n.Content[i-1].Value
		}
		if hashTag := slices.Contains(keyNames, key) && hashTagPattern.MatchString(child.Value); !hashTag {
			visit(child, program || slices.Contains(programs, key), f)
		}
	}
}

// invisible are characters that people do not see, or take for others, and that YAML does not.
var invisible = []struct {
	pattern   *regexp.Regexp
	name, fix string
}{
	{regexp.MustCompile(`^ *\t`), "a tab in the indentation", "Use spaces"},
	{regexp.MustCompile("\u00a0"), "a no-break space", "Use a plain space"},
	{regexp.MustCompile("[\u201c\u201d\u201e\u2018\u2019]"), "typographic quotes", "Use \" or '"},
	{regexp.MustCompile("^[ -]*\\w+\uff1a|^[ ]*\u3000"), "a full-width character", "Use the ASCII one, as in name: value"},
}

// unseen names the first such character of a text, and its line from 1; 0 is none.
func unseen(text string) (line int, name, fix string) {
	for i, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, " #")
		for _, c := range invisible {
			if c.pattern.MatchString(l) {
				return i + 1, c.name, c.fix
			}
		}
	}
	return 0, "", ""
}
