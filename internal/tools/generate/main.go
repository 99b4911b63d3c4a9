// Generate writes what files of the repository repeat from Go constants: a line whose comment is
// "generated: strategies" gets the names of the strategies, and so on. go generate ./... in the root
// runs it, and CI checks that nothing changes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

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
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err == nil {
			err = rewrite(files)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

func rewrite(files []string) error {
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if after := fill(string(before)); after != string(before) {
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
