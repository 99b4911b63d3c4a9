package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
)

// A manifest is a ScaledJob as it is written, in the forms that the core and KEDA
// read.
type manifest struct {
	file string
	core *adapter.ScaledJob
	keda *keda.ScaledJob
	// strict is what the API server or a careful reader objects to: fields that
	// nobody knows, values of another type. KEDA never sees those fields.
	strict error
}

func (m *manifest) name() string { return m.core.Name }

// manifestFlags choose manifests.
type manifestFlags struct {
	files []string
	only  string
}

func (f *manifestFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "`file` with ScaledJobs, several documents if need be; - is standard input; may be repeated")
	c.Flags().StringVar(&f.only, "name", "", "the only ScaledJob to look at, by its `name`")
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// A source is a file as it was read.
type source struct {
	name string
	data []byte
}

// sources reads the files, all of them or none.
func (f *manifestFlags) sources(stdin io.Reader) ([]source, error) {
	if len(f.files) == 0 {
		return nil, usagef("no manifest: want -f scaledjob.yaml, or -f - for standard input")
	}
	var all []source
	var problems []error
	for _, name := range f.files {
		s, err := readSource(name, stdin)
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, s)
	}
	return all, errors.Join(problems...)
}

func readSource(name string, stdin io.Reader) (source, error) {
	if name == "-" {
		data, err := io.ReadAll(stdin)
		return source{"standard input", data}, err
	}
	data, err := os.ReadFile(name)
	return source{name, data}, err
}

// read returns the ScaledJobs, at least one.
func (f *manifestFlags) read(stdin io.Reader) ([]*manifest, error) {
	sources, err := f.sources(stdin)
	if err != nil {
		return nil, err
	}
	var found []*manifest
	var names, others []string
	for _, s := range sources {
		manifests, kinds, err := s.manifests()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		others = append(others, kinds...)
		for _, m := range manifests {
			names = append(names, m.name())
			if f.only == "" || f.only == m.name() {
				found = append(found, m)
			}
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(names) > 0:
		return nil, fmt.Errorf("no ScaledJob called %q: found %s", f.only, strings.Join(names, ", "))
	case slices.Contains(others, "a ScaledObject"):
		return nil, errors.New("no ScaledJob: found a ScaledObject, which scales a Deployment and creates no Jobs; want a document of kind ScaledJob")
	case len(others) > 0:
		return nil, fmt.Errorf("no ScaledJob: found only %s; want a document of kind ScaledJob", strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", "))
	}
	return nil, errors.New("no ScaledJob: the input is empty")
}

// manifests returns the ScaledJobs of a text, and the kinds of its other
// documents.
func (s source) manifests() (found []*manifest, others []string, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(s.data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, others, nil
		}
		if err != nil {
			return nil, nil, err
		}
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, nil, fmt.Errorf("not YAML: %w", err)
		}
		if string(data) == "null" {
			continue
		}
		more, kinds, err := s.objects(data)
		if err != nil {
			return nil, nil, err
		}
		found, others = append(found, more...), append(others, kinds...)
	}
}

// objects returns the ScaledJob that a document is, or those of a list, and the kinds
// of what else there is.
func (s source) objects(data []byte) (found []*manifest, others []string, err error) {
	var object struct {
		Kind  string
		Items []json.RawMessage
	}
	if err := json.Unmarshal(data, &object); err != nil && object.Kind == "" {
		return nil, []string{"a document without a kind"}, nil
	}
	switch object.Kind {
	case adapter.GroupVersionKind.Kind:
		m, err := newManifest(s.name, data)
		return []*manifest{m}, nil, err
	case "List", adapter.GroupVersionKind.Kind + "List":
		for i, item := range object.Items {
			more, kinds, err := s.objects(item)
			if err != nil {
				return nil, nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			found, others = append(found, more...), append(others, kinds...)
		}
		if len(object.Items) == 0 {
			others = []string{"a List without items"}
		}
		return found, others, nil
	case "":
		return nil, []string{"a document without a kind"}, nil
	}
	return nil, []string{article(object.Kind)}, nil
}

// article puts one before a kind.
func article(kind string) string {
	if strings.ContainsRune("AEIOUaeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// newManifest takes what a careful reader would refuse too, as long as it can be
// taken at all.
func newManifest(file string, document []byte) (*manifest, error) {
	m := &manifest{file: file, core: &adapter.ScaledJob{}, keda: &keda.ScaledJob{}}
	read, err := adapter.ReadScaledJobs(document)
	if m.strict = err; err == nil {
		m.core = read[0]
	} else if problem := yaml.Unmarshal(document, m.core); problem != nil {
		return nil, err
	}
	data, err := json.Marshal(m.core)
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(data, m.keda)
}
