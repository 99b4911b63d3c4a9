package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
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

// makersOf has the kinds of makers.
var makersOf = func() map[string]bool {
	kinds := map[string]bool{}
	for _, list := range makers {
		for _, m := range list {
			kinds[m.kind] = true
		}
	}
	return kinds
}()

// A lookup is the target of a reference. The namespace "" matches any namespace, because
// it may be set when the manifest is applied.
type lookup struct{ kind, namespace, name string }

// An index finds documents by the objects that they provide.
type index struct {
	named    map[[2]string][]*document   // by kind and name
	provided map[lookup][]*document      // by namespace and name; anyNamespace has all
	groups   map[seat]group              // nearest ones, cached
	own      map[string][]string         // files of a directory, cached
	names    map[string][]string         // by kind
	inside   map[lookup][]string         // by kind and namespace
	owners   map[string][]*document      // Secrets and ConfigMaps by key
	required map[*document]*requirements // variables of authentications
	users    map[string]map[string]bool  // types of triggers by the name of their authentication
	lists    map[lookup]string           // names by kind and namespace, and namespaces by kind and name, in words
	checked  map[checked]bool
	places   map[*document]map[string][]any // of parameters in authentications
	similar  map[[2]string]string           // of a missing object, by kind and name
	used     map[*document]bool             // a ScaledJob refers to it

	directories directories
	kept        documents
	values      int // nodes of these documents
}

// A checked authentication was checked for a ScaledJob, with which the others share a value.
type checked struct {
	*document
	scope string
}

// first reports whether an authentication is checked the first time.
func (x *index) first(a authentication, scope string) bool {
	visited := x.checked[checked{a.document, scope}]
	x.checked[checked{a.document, scope}] = true
	return !visited
}

func newIndex() *index {
	return &index{named: map[[2]string][]*document{}, provided: map[lookup][]*document{}, groups: map[seat]group{}, own: map[string][]string{}, names: map[string][]string{},
		inside: map[lookup][]string{}, owners: map[string][]*document{}, required: map[*document]*requirements{}, users: map[string]map[string]bool{}, lists: map[lookup]string{},
		checked: map[checked]bool{}, places: map[*document]map[string][]any{}, similar: map[[2]string]string{}, used: map[*document]bool{}}
}

// Bounds of the objects that are kept for references.
const (
	maxKeptValues = 250_000
	maxValue      = 64 << 10 // bytes; a longer one is no parameter
)

// note keeps a document if a ScaledJob may refer to it, and of others which authentications their triggers use.
func (x *index) note(d *document, c *collector) {
	for i := range d.length("spec", "triggers") {
		ref, name := d.text("spec", "triggers", i, "authenticationRef", "name"), d.text("spec", "triggers", i, "type")
		if !slices.Contains(triggers.Types(), name) {
			name = "" // for all of them
		}
		if x.users[ref] == nil {
			x.users[ref] = map[string]bool{}
		}
		x.users[ref][name] = true
	}
	if lookedUp := apiVersions[d.kind()] != "" || makersOf[d.kind()] || d.isKustomization(); !lookedUp || x.values > maxKeptValues {
		return
	}
	if x.values += shorten(d.root); x.values > maxKeptValues {
		c.tooLarge(d.file, d.root.Line, fmt.Sprintf("a limit of %d values in Secrets, ConfigMaps and the like", maxKeptValues), "Use fewer files at once")
		return
	}
	x.kept = append(x.kept, d)
}

// shorten drops values that are no parameters of a trigger, and counts the nodes.
func shorten(n *yaml.Node) (nodes int) {
	if len(n.Value) > maxValue {
		n.Value = "<long>" // as a placeholder is: nothing is known of it
	}
	for _, child := range n.Content {
		nodes += shorten(child)
	}
	return nodes + 1
}

// complete makes the index of the documents that were kept.
func (x *index) complete() {
	x.directories = directoriesOf(x.kept)
	for _, d := range x.kept {
		for _, field := range keyFields {
			for key := range tree.Entries(d.node(field)) {
				x.owners[key.Value] = append(x.owners[key.Value], d)
			}
		}
		x.add(d, d.kind())
		for maker := range makers {
			if maker != d.kind() {
				x.add(d, maker)
			}
		}
	}
	for _, names := range x.inside {
		slices.Sort(names)
	}
}

// add adds the object of a kind that a document makes, if it makes one.
func (x *index) add(d *document, kind string) {
	name, ok := provides(d, kind)
	if !ok {
		return
	}
	key := [2]string{kind, name}
	if x.named[key] == nil {
		x.names[kind] = append(x.names[kind], name)
	}
	l := lookup{kind, d.text("metadata", "namespace"), name}
	if in := (lookup{kind: kind, namespace: l.namespace}); x.provided[l] == nil && name != "" {
		x.inside[in] = append(x.inside[in], name)
	}
	x.provided[l] = append(x.provided[l], d)
	l.namespace = anyNamespace
	x.provided[l] = append(x.provided[l], d)
	x.named[key] = append(x.named[key], d)
}

// provides returns the name of the object of a kind that a document makes.
func provides(d *document, kind string) (string, bool) {
	name := d.text("metadata", "name")
	if d.kind() == kind && !d.foreign() {
		return name, true
	}
	for _, m := range makers[kind] {
		if d.kind() == m.kind {
			if target := d.text(m.name...); target != "" {
				name = target
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

// keyFields are the fields with the keys of a Secret or ConfigMap.
var keyFields = []string{"data", "stringData", "binaryData"}

// keysOf returns the keys of a Secret or ConfigMap.
func (d *document) keysOf() (names []string) {
	for _, field := range keyFields {
		for key := range tree.Entries(d.node(field)) {
			names = append(names, key.Value)
		}
	}
	return names
}

// holds reports whether a Secret or ConfigMap has a key, and whether its keys are known.
func (d *document) holds(key string) (found, listed bool) {
	for _, field := range keyFields {
		found = found || d.node(field, key) != nil
	}
	return found, d.kind() == "Secret" || d.kind() == "ConfigMap"
}

// want returns the fix for a missing object: a similar name in the namespace, or the same
// name in another namespace.
func (x *index) want(l lookup) string {
	if namesakes := x.named[[2]string{l.kind, l.name}]; len(namesakes) > 0 { // none is in the namespace
		list, ok := x.lists[lookup{l.kind, "", l.name}]
		if !ok {
			elsewhere := map[string]bool{}
			for _, d := range namesakes {
				elsewhere[d.text("metadata", "namespace")] = true
			}
			list = few(slices.Sorted(maps.Keys(elsewhere)), 0)
			x.lists[lookup{l.kind, "", l.name}] = list
		}
		return fmt.Sprintf("Set its namespace to %s; the files define it in namespace %s", l.namespace, list)
	}
	if names := x.inNamespace(l); names != "" {
		return fmt.Sprintf("Use a %s that the files define: %s", l.kind, names)
	}
	return fmt.Sprintf("Create a %s of this name in namespace %s", l.kind, l.namespace)
}

// inNamespace lists names of objects of the kind in the namespace.
func (x *index) inNamespace(l lookup) string {
	l.name = ""
	list, ok := x.lists[l]
	if !ok {
		everywhere := x.inside[lookup{kind: l.kind}] // without a namespace
		local := slices.DeleteFunc(slices.Clone(x.inside[l]), func(name string) bool {
			return x.provided[lookup{l.kind, "", name}] != nil
		})
		if l.namespace == "" { // any
			everywhere, local = nil, slices.DeleteFunc(slices.Clone(x.names[l.kind]), func(name string) bool { return name == "" })
		}
		first := append(local, everywhere[:min(maxNames, len(everywhere))]...)
		slices.Sort(first)
		list = few(first, len(everywhere)+len(local)-len(first))
		x.lists[l] = list
	}
	return list
}

const maxNames = 10 // names in a list

// few lists the first of some names, which more names follow.
func few(names []string, remaining int) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNames], ", "), len(names)-maxNames+remaining)
	}
	return strings.Join(names, ", ")
}
