package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"
)

// older are the releases before versions whose CRDs and scalers can be had. The module proxy does not
// serve 2.0, 2.1 and 2.6.
var older = []string{"v2.2.0", "v2.3.0", "v2.4.0", "v2.5.0", "v2.7.1"}

// kinds are the objects in the table of fields, by the names of their CRDs.
var kinds = []struct{ kind, crd string }{
	{"ClusterTriggerAuthentication", "clustertriggerauthentications"}, {"ScaledJob", "scaledjobs"}, {"TriggerAuthentication", "triggerauthentications"},
}

// A schema is a part of a CRD.
type schema struct {
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Values     *schema            `json:"additionalProperties"`
	Required   []string           `json:"required"`
	Enum       []string           `json:"enum"`
	MinItems   int                `json:"minItems"`
	Default    any                `json:"default"`
	Either     bool               `json:"x-kubernetes-int-or-string"`
	Open       bool               `json:"x-kubernetes-preserve-unknown-fields"`
}

// readCRD reads a CRD as KEDA's releases have it, with the patch of its repository.
func readCRD(dir, name string) (*schema, error) {
	dir = filepath.Join(dir, "config", "crd")
	data, err := readYAML(filepath.Join(dir, "bases", "keda.sh_"+name+".yaml"))
	if err != nil {
		return nil, err
	}
	patch, err := readYAML(filepath.Join(dir, "patches", strings.TrimSuffix(name, "s")+"_patch.yaml"))
	if err == nil {
		data, err = patched(data, patch)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &crd); err != nil {
		return nil, fmt.Errorf("%s %s: %w", dir, name, err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// readYAML returns a file as JSON.
func readYAML(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(data)
}

func patched(document, patch []byte) ([]byte, error) {
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	options := jsonpatch.NewApplyOptions()
	options.AllowMissingPathOnRemove = true
	return p.ApplyWithOptions(document, options)
}

// A crdField is a field of a CRD in all releases.
type crdField struct {
	fields map[string]*crdField
	facts  map[string][]int // its type, "required" and others, each with the indexes of releases
}

func (f *crdField) add(release int, fact string) {
	if f.facts == nil {
		f.facts = map[string][]int{}
	}
	f.facts[fact] = append(f.facts[fact], release)
}

// merge adds a release's fields.
func (f *crdField) merge(s *schema, release int) {
	for s.Items != nil || (s.Values != nil && len(s.Values.Properties) > 0) {
		if s.Items == nil {
			s = s.Values
			continue
		}
		s = s.Items
	}
	for name, p := range s.Properties {
		if f.fields == nil {
			f.fields = map[string]*crdField{}
		}
		values := f.fields[name]
		if values == nil {
			values = &crdField{}
			f.fields[name] = values
		}
		values.add(release, "type="+p.typeName())
		if slices.Contains(s.Required, name) && p.Default == nil {
			values.add(release, "required")
		}
		for _, value := range p.Enum {
			values.add(release, "="+value)
		}
		if p.MinItems > 0 {
			values.add(release, "some")
		}
		if p.Open {
			values.add(release, "open")
		}
		values.merge(p, release)
	}
}

func (s *schema) typeName() string {
	switch {
	case s.Items != nil:
		return "[]" + s.Items.typeName()
	case s.Values != nil:
		return "map[string]" + s.Values.typeName()
	case s.Either:
		return "any"
	}
	return s.Type
}

// crdReleases are the minor releases in the table of fields.
func crdReleases() (list []string) {
	for _, v := range append(slices.Clone(older), versions...) {
		list = append(list, strings.TrimPrefix(v[:strings.LastIndexByte(v, '.')], "v"))
	}
	return list
}

// crdTable is the table of fields: each is a line below that of its object, with its facts. A fact
// without releases holds in all that have the field.
func crdTable() ([]byte, error) {
	root := &crdField{fields: map[string]*crdField{}}
	for i, v := range append(slices.Clone(older), versions...) {
		dir, err := download(v)
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			s, err := readCRD(dir, k.crd)
			if err != nil {
				return nil, err
			}
			if root.fields[k.kind] == nil {
				root.fields[k.kind] = &crdField{}
			}
			root.fields[k.kind].add(i, "type=object")
			root.fields[k.kind].merge(s, i)
		}
	}
	var b bytes.Buffer
	root.write(&b, 0, "")
	return b.Bytes(), nil
}

func (f *crdField) write(b *bytes.Buffer, depth int, above string) {
	for _, name := range sorted(f.fields) {
		child := f.fields[name]
		var typed []int
		for fact, releases := range child.facts {
			if strings.HasPrefix(fact, "type=") {
				typed = append(typed, releases...)
			}
		}
		slices.Sort(typed)
		in := ranges(typed)
		fmt.Fprint(b, strings.Repeat(" ", depth), name)
		if in != above {
			fmt.Fprint(b, " in:", in)
		}
		for _, fact := range sorted(child.facts) {
			if fact == "type=object" {
				continue
			}
			fmt.Fprint(b, " ", strings.TrimPrefix(fact, "type="))
			if r := ranges(child.facts[fact]); r != in {
				fmt.Fprint(b, ":", r)
			}
		}
		b.WriteString("\n")
		child.write(b, depth+1, in)
	}
}

// ranges joins releases: 2.2-2.5,2.8-2.21.
func ranges(releases []int) string {
	var spans []string
	names := crdReleases()
	for i := 0; i < len(releases); i++ {
		first := i
		for i+1 < len(releases) && releases[i+1] == releases[i]+1 {
			i++
		}
		spans = append(spans, names[releases[first]]+"-"+names[releases[i]])
	}
	return strings.Join(spans, ",")
}
