// Package modules reads go.work, the list of the modules of the repository.
package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Module is a module of the repository.
type Module struct {
	Dir   string   // relative to the root of the repository; the root is "."
	Words []string // its lists, which go.work explains
	Alone bool     // outside of the workspace
}

// HasWord reports whether the module is in a list.
func (m Module) HasWord(word string) bool { return slices.Contains(m.Words, word) }

// Read returns the modules that go.work in the directory root names, also those in its comments.
func Read(root string) ([]Module, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	list := Parse(string(data))
	for _, m := range list {
		if _, err := os.Stat(filepath.Join(root, m.Dir, "go.mod")); err != nil {
			return nil, fmt.Errorf("go.work: %s: no module; correct the directory: %w", m.Dir, err)
		}
	}
	return list, nil
}

// Parse returns the modules that the text of a go.work names.
func Parse(text string) (list []Module) {
	for line := range strings.Lines(text) {
		entry, alone := strings.CutPrefix(strings.TrimSpace(line), "//")
		words := strings.Fields(strings.Replace(entry, "//", "", 1))
		if len(words) > 0 && (words[0] == "." || strings.HasPrefix(words[0], "./")) {
			list = append(list, Module{Dir: filepath.Clean(words[0]), Words: words[1:], Alone: alone})
		}
	}
	return list
}
