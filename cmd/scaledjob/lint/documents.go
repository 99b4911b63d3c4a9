package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// documents holds the documents of all files.
type documents []*document

// makers lists the kinds that create an object of another kind, and the field with its
// name if that is not the maker's name.
var makers = map[string][]struct {
	kind string
	name []any
}{
	"Secret": {
		{"SealedSecret", []any{"spec", "template", "metadata", "name"}},
		{"ExternalSecret", []any{"spec", "target", "name"}},
	},
}

// A lookup is the target of a reference. The namespace "" matches any namespace, because
// it may be set when the manifest is applied.
type lookup struct{ kind, namespace, name string }

// within reports whether the document's object is in the namespace of the lookup.
func (d *document) within(l lookup) bool {
	namespace := d.text("metadata", "namespace")
	return namespace == l.namespace || namespace == "" || l.namespace == ""
}

// An index finds documents by the objects that they provide.
type index struct {
	named map[[2]string][]*document // by kind and name
	names map[string][]string       // by kind
	users map[string][]string       // types of triggers by the name of their authentication
}

func indexOf(all documents) *index {
	x := &index{map[[2]string][]*document{}, map[string][]string{}, map[string][]string{}}
	add := func(d *document, kind string) {
		if name, ok := provides(d, kind); ok {
			key := [2]string{kind, name}
			if x.named[key] == nil {
				x.names[kind] = append(x.names[kind], name)
			}
			x.named[key] = append(x.named[key], d)
		}
	}
	for _, d := range all {
		add(d, d.kind())
		for made := range makers {
			if made != d.kind() {
				add(d, made)
			}
		}
		for i := range d.length("spec", "triggers") {
			ref, name := d.text("spec", "triggers", i, "authenticationRef", "name"), d.text("spec", "triggers", i, "type")
			if !slices.Contains(x.users[ref], name) {
				x.users[ref] = append(x.users[ref], name)
			}
		}
	}
	return x
}

// find returns the document that provides an object. If there is none, any reports
// whether the files hold other objects of the kind.
func (x *index) find(l lookup) (found *document, any bool) {
	for _, d := range x.named[[2]string{l.kind, l.name}] {
		if d.within(l) {
			return d, true
		}
	}
	return nil, len(x.names[l.kind]) > 0
}

// provides returns the name of the object of a kind that a document makes.
func provides(d *document, kind string) (string, bool) {
	name := d.text("metadata", "name")
	if d.kind() == kind && !d.foreign() {
		return name, true
	}
	for _, m := range makers[kind] {
		if d.kind() == m.kind {
			if made := d.text(m.name...); made != "" {
				name = made
			}
			return name, true
		}
	}
	return "", false
}

// ofKubernetes are the kinds of the group "" that lint looks up.
var ofKubernetes = []string{"ConfigMap", "PersistentVolumeClaim", "Secret", "ServiceAccount"}

// foreign reports whether the object has a kind of Kubernetes by name only, because its
// group is a custom resource's: such a group has a dot.
func (d *document) foreign() bool {
	group, _, ok := strings.Cut(d.text("apiVersion"), "/")
	return ok && strings.Contains(group, ".") && slices.Contains(ofKubernetes, d.kind())
}

// keys returns the keys of a Secret or ConfigMap, and whether they are known.
func (d *document) keys() (map[string]bool, bool) {
	if kind := d.kind(); kind != "Secret" && kind != "ConfigMap" {
		return nil, false
	}
	keys := map[string]bool{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		for key := range tree.Entries(d.node(field)) {
			keys[key.Value] = true
		}
	}
	return keys, true
}

// want returns the fix for a missing object: a similar name in the namespace, or the same
// name in another namespace.
func (x *index) want(l lookup) string {
	names, elsewhere := map[string]bool{}, map[string]bool{}
	for _, d := range x.named[[2]string{l.kind, l.name}] { // none is in the namespace
		elsewhere[d.text("metadata", "namespace")] = true
	}
	for _, name := range x.names[l.kind] {
		if in := func(d *document) bool { return d.within(l) }; name != "" && slices.ContainsFunc(x.named[[2]string{l.kind, name}], in) {
			names[name] = true
		}
	}
	list := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }
	switch {
	case len(elsewhere) > 0:
		return fmt.Sprintf("Write its namespace, %s: it is given in namespace %s", l.namespace, list(elsewhere))
	case len(names) > 0:
		return fmt.Sprintf("Write a %s that is given: %s", l.kind, list(names))
	}
	return fmt.Sprintf("Create a %s of this name in namespace %s", l.kind, l.namespace)
}
