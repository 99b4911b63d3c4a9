package main

import (
	"fmt"
	"os"
	"strings"
)

// readEquivalent reads the list of equivalent mutants, as reasons by the key of
// the mutant. A mutant's line is followed by indented lines with the reason. Lines
// that begin with "#" are comments.
func readEquivalent(name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	reasons, key := map[string]string{}, ""
	for line := range strings.Lines(string(b)) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
		case line[0] != '\t' && line[0] != ' ':
			if _, twice := reasons[text]; twice {
				return nil, fmt.Errorf("%s: %s: listed twice; remove one", name, text)
			}
			key = text
			reasons[key] = ""
		case key == "":
			return nil, fmt.Errorf("%s: %s: a reason without a mutant; put the mutant's line above it", name, text)
		default:
			reasons[key] = strings.TrimSpace(reasons[key] + " " + text)
		}
	}
	for key, reason := range reasons {
		if reason == "" {
			return nil, fmt.Errorf("%s: %s: no reason; add an indented line below", name, key)
		}
	}
	return reasons, nil
}
