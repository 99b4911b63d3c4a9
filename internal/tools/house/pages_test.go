package house

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// A page is a file of Markdown.
type page struct {
	links   []string
	anchors map[string]bool
	code    []string // blocks and spans
}

func parsePage(t *testing.T, name string) (p page) {
	t.Helper()
	source := []byte(read(t, name))
	p.anchors = map[string]bool{}
	require.NoError(t, ast.Walk(markdown.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			p.anchors[string(id.([]byte))] = true
		case *ast.CodeSpan:
			var code strings.Builder
			for child := n.FirstChild(); child != nil; child = child.NextSibling() {
				code.Write(child.(*ast.Text).Value(source))
			}
			p.code = append(p.code, code.String())
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			p.code = append(p.code, string(n.Lines().Value(source)))
		}
		return ast.WalkContinue, nil
	}))
	return p
}

// Each link of a page leads to a file, a directory or a heading.
func TestLinks(t *testing.T) {
	checked, anchors := 0, 0
	for _, name := range files(t, ".md") {
		for _, link := range parsePage(t, name).links {
			target, anchor, hasAnchor := strings.Cut(link, "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			if target = path.Join(path.Dir(name), target); strings.HasPrefix(link, "#") {
				target = name
			}
			_, err := os.Stat(target)
			assert.NoError(t, err, name)
			if hasAnchor && err == nil {
				anchors++
				assert.True(t, parsePage(t, target).anchors[anchor], "%s: %s has no heading #%s", name, target, anchor)
			}
		}
	}
	require.Greater(t, checked, 100)
	require.Greater(t, anchors, 5)
}

var (
	target     = regexp.MustCompile(`\bmake ([a-z][a-z-]+)`)
	program    = regexp.MustCompile(`\bgo (?:run|install|build) (\./[\w./-]+)`)
	subcommand = regexp.MustCompile(`(?m)(?:^|[|;(] ?|\$ |kubectl )scaledjob ([a-z]+)((?: [^\n|>#]*)?)`)
	flag       = regexp.MustCompile(` (--[a-z][a-z-]*)`)
)

// Each command of a page exists: targets of the Makefile, programs of the repository, and subcommands
// of scaledjob with their flags.
func TestPageCommands(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "scaledjob")
	_, err := command(t, "go", "build", "-o", bin, "./cmd/scaledjob")
	require.NoError(t, err)
	makefile, helps, checked := read(t, "Makefile"), map[string]string{}, 0
	for _, name := range files(t, ".md") {
		for _, code := range parsePage(t, name).code {
			for _, m := range target.FindAllStringSubmatch(code, -1) {
				checked++
				assert.Regexp(t, `(?m)^([\w-]+[ ,])*`+m[1]+`[ ,:]`, makefile, name)
			}
			for _, m := range program.FindAllStringSubmatch(code, -1) {
				checked++
				found, err := filepath.Glob(filepath.Join(m[1], "*.go"))
				assert.NoError(t, err)
				beside, err := filepath.Glob(filepath.Join(filepath.Dir(name), m[1], "*.go"))
				assert.NoError(t, err)
				assert.NotEmpty(t, append(found, beside...), "%s: %s", name, m[0])
			}
			for _, m := range subcommand.FindAllStringSubmatch(strings.ReplaceAll(code, "\\\n", " "), -1) {
				if helps[m[1]] == "" {
					out, err := exec.CommandContext(t.Context(), bin, m[1], "--help").CombinedOutput()
					require.NoError(t, err, "%s: scaledjob %s: %s", name, m[1], out)
					helps[m[1]] = string(out)
					if strings.Contains(helps[m[1]], "--help-flags") {
						all, err := exec.CommandContext(t.Context(), bin, m[1], "--help-flags").Output()
						require.NoError(t, err)
						helps[m[1]] += string(all)
					}
				}
				for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
					checked++
					assert.Contains(t, helps[m[1]], f[1], "%s: %s", name, m[0])
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}
