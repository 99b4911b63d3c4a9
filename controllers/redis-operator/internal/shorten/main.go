// Shorten removes the descriptions of Kubernetes's own fields from a generated CRD: with
// them it is longer than the annotation of kubectl apply may be, 256 KB.
package main

import (
	"log"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	file := os.Args[1]
	data, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		log.Fatal(err)
	}
	shorten(crd, false)
	if data, err = yaml.Marshal(crd); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		log.Fatal(err)
	}
}

// shorten removes the descriptions of a schema if it is below jobTemplate.
func shorten(schema any, below bool) {
	switch s := schema.(type) {
	case []any:
		for _, value := range s {
			shorten(value, below)
		}
	case map[string]any:
		if _, text := s["description"].(string); text && below {
			delete(s, "description")
		}
		for name, value := range s {
			if name == "jobTemplate" {
				template := value.(map[string]any)
				shorten(template["properties"], true)
				continue
			}
			shorten(value, below)
		}
	}
}
