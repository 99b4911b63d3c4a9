// Generate writes what files of the repository repeat from Go: a line whose comment is
// "generated: strategies" gets the names of the strategies, and so on, a definition gets the parameters of
// strategies that it lacks, docs/keda-releases.md gets the rules of package keda, and controllers/access.md the rights of the controllers. go generate ./... in the root runs it, and CI checks that
// nothing changes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// lists are the values of an enumeration, by the name behind "generated: ".
var lists = map[string][]string{
	"strategies":   strategy.Names(),
	"aggregations": scaling.Aggregations(),
}

// patterns are the files with generated lines.
var patterns = []string{"controllers/*/manifests/crds/*.yaml"}

var generated = regexp.MustCompile(`(?m)^(.*enum: \["", (?:basic, )?)[^\]]*(\].* # generated: (\w+))$`)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate() error {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if err := rewrite(files); err != nil {
			return err
		}
	}
	rights, err := access(deployments)
	if err != nil {
		return err
	}
	if err := os.WriteFile("controllers/access.md", []byte(rights), 0o644); err != nil {
		return err
	}
	return os.WriteFile("docs/keda-releases.md", []byte(releases(keda.Rules())), 0o644)
}

// releases returns the page with the rules.
func releases(rules []keda.Rule) string {
	var page strings.Builder
	page.WriteString(`# KEDA releases: what changed when

What does an upgrade of KEDA change for my manifests? The command compares them:

    scaledjob diff deploy/ --from 2.18 --to 2.21

These are all the rules that decide about a ScaledJob. A rule holds from its release on, until the next rule of the same
behavior. The page is written from package [keda](../keda) by ` + "`go generate ./...`" + `; [conformance](../test/conformance) compares each
rule with KEDA's own code.

| behavior | since | rule |
|---|---|---|
`)
	for _, rule := range rules {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", rule.Behavior, rule.Since, strings.ReplaceAll(rule.Text, "|", `\|`))
	}
	return page.String()
}

func rewrite(files []string) error {
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if after := declare(fill(string(before))); after != string(before) {
			if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill returns the text with the values of each list in its lines.
func fill(text string) string {
	return generated.ReplaceAllStringFunc(text, func(line string) string {
		parts := generated.FindStringSubmatch(line)
		values, ok := lists[parts[3]]
		if !ok {
			return line
		}
		return parts[1] + strings.Join(values, ", ") + parts[2]
	})
}

var strategies = regexp.MustCompile(`(?m)^( *)  enum: .* # generated: strategies\n`)

// declare returns the text with the parameters of strategies that it lacks, behind the field of the names. Their
// descriptions are written by hand.
func declare(text string) string {
	return strategies.ReplaceAllStringFunc(text, func(line string) string {
		indent := strategies.FindStringSubmatch(line)[1]
		for _, field := range reflect.VisibleFields(reflect.TypeFor[strategy.Parameters]()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if strings.Contains(text, "\n"+indent+name+":\n") {
				continue
			}
			line += indent + name + ":\n"
			if field.Type.Kind() == reflect.String {
				line += indent + "  type: string\n"
			} else {
				line += indent + "  type: integer\n" + indent + "  format: int32\n"
			}
		}
		return line
	})
}
