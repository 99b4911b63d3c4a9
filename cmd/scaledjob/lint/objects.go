package lint

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// makers lists the kinds that create an object of another kind, and the field with its
// name if that is not the maker's name.
var makers = map[string]struct {
	makes string
	name  []any
}{
	"SealedSecret":   {"Secret", []any{"spec", "template", "metadata", "name"}},
	"ExternalSecret": {"Secret", []any{"spec", "target", "name"}},
}

// A lookup is the target of a reference. The namespace "" matches any namespace, because
// it may be set when the manifest is applied.
type lookup struct{ kind, namespace, name string }

// A provider is an object that a document provides.
type provider struct {
	namespace, name string
	document        *document
}

// An index finds documents by the objects that they provide.
type index struct {
	providers map[string][]provider      // by kind
	named     map[[2]string][]provider   // by kind and name
	nearby    map[seat][]*document       // nearest ones, cached
	users     map[string]map[string]bool // types of triggers by the name of their authentication
	checked   map[checked]bool
	places    map[*document]map[string][]any // of parameters in authentications
	used      map[*document]bool             // a ScaledJob refers to it
	lists     map[string][]string            // what the kustomization of a directory lists
	kept      []*document
	values    int // nodes of these documents
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
	return &index{providers: map[string][]provider{}, named: map[[2]string][]provider{}, nearby: map[seat][]*document{}, users: map[string]map[string]bool{},
		checked: map[checked]bool{}, places: map[*document]map[string][]any{}, used: map[*document]bool{}, lists: map[string][]string{}}
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
	if lookedUp := apiVersions[d.kind()] != "" || makers[d.kind()].makes != "" || d.isKustomization(); !lookedUp || x.values > maxKeptValues {
		return
	}
	if x.values += shorten(d.root); x.values > maxKeptValues {
		c.tooLarge(d.file, d.root.Line, fmt.Sprintf("more than %d values in Secrets, ConfigMaps and the like", maxKeptValues), "Use fewer files at once")
		return
	}
	x.kept = append(x.kept, d)
	x.add(d)
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

// add adds the object that a document provides, or the resources that a kustomization lists.
func (x *index) add(d *document) {
	kind, name := d.kind(), d.text("metadata", "name")
	if maker := makers[kind]; maker.makes != "" {
		kind, name = maker.makes, cmp.Or(d.text(maker.name...), name)
	}
	if d.isKustomization() {
		x.kustomization(d)
	}
	if !d.foreign() {
		p := provider{d.text("metadata", "namespace"), name, d}
		x.providers[kind] = append(x.providers[kind], p)
		x.named[[2]string{kind, name}] = append(x.named[[2]string{kind, name}], p)
	}
}

// ofKubernetes are the kinds of the group "" that lint looks up.
var ofKubernetes = []string{"ConfigMap", "PersistentVolumeClaim", "Secret", "ServiceAccount"}

// foreign reports whether the object has a kind of Kubernetes by name only, because its
// group is a custom resource's: such a group has a dot.
func (d *document) foreign() bool {
	group, _, ok := strings.Cut(d.text("apiVersion"), "/")
	return ok && strings.Contains(group, ".") && slices.Contains(ofKubernetes, d.kind())
}

var keyFields = []string{"data", "stringData", "binaryData"}

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
	var elsewhere []string
	for _, p := range x.named[[2]string{l.kind, l.name}] { // none is in the namespace
		elsewhere = append(elsewhere, p.namespace)
	}
	if elsewhere != nil {
		return fmt.Sprintf("Set its namespace to %s; the files define it in namespace %s", l.namespace, few(elsewhere))
	}
	candidates := x.names(l.kind, l.namespace)
	similar := slices.DeleteFunc(candidates[:min(len(candidates), 500)], func(name string) bool { // each costs time for each missing object
		return !containsPart(name, l.name) && !containsPart(l.name, name) && (len(name) > 40 || !triggers.Misspells(l.name, name))
	})
	if names := few(similar); names != "" {
		return fmt.Sprintf("Use a %s that the files define: %s", l.kind, names)
	}
	return fmt.Sprintf("Create a %s of this name in namespace %s", l.kind, l.namespace)
}

// containsPart reports whether a name has another one between dashes or at an end.
func containsPart(name, part string) bool {
	return strings.Contains("-"+name+"-", "-"+part+"-")
}

// names returns the names of a kind's objects in a namespace; "" is any.
func (x *index) names(kind, namespace string) (names []string) {
	for _, p := range x.providers[kind] {
		if p.name != "" && (namespace == "" || p.namespace == "" || p.namespace == namespace) {
			names = append(names, p.name)
		}
	}
	return names
}

const maxNames = 10 // names in a list

// few lists the first of some names in their order, each once.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// kustomization notes the resources that a kustomization lists: they count as files of its directory.
func (x *index) kustomization(d *document) {
	dir := directory(d.file)
	for _, field := range []string{"resources", "components", "bases"} {
		for i := range d.length(field) {
			if item := d.text(field, i); item != "" && !strings.Contains(item, "://") {
				x.lists[dir] = append(x.lists[dir], path.Join(dir, item))
			}
		}
	}
}

// patchName matches the name of a file that is merged into an object, which has the fields that it lacks.
var patchName = regexp.MustCompile(`(?i)(^|[^a-z])patch(es)?([^a-z]|$)`)

func (d *document) isPatch() bool { return patchName.MatchString(path.Base(filepath.ToSlash(d.file))) }

// isKustomization reports whether a document is one by its kind or by the name of its file.
func (d *document) isKustomization() bool {
	name := path.Base(filepath.ToSlash(d.file))
	return d.kind() == "Kustomization" || strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml") == "kustomization" || name == "Kustomization"
}

func directory(file string) string { return path.Dir(filepath.ToSlash(file)) }

// addEntries adds the files and directories that count as a directory: itself, and what its kustomization and those of
// its resources list.
func (x *index) addEntries(dir string, entries map[string]bool) {
	if !entries[dir] {
		entries[dir] = true
		for _, entry := range x.lists[dir] {
			x.addEntries(entry, entries)
		}
	}
}

// distance returns how far a file is from a directory: 0 in its own files, the levels of a directory above, and more for others.
func distance(dir string, entries map[string]bool, file string) int {
	file = filepath.ToSlash(file)
	in, levels := path.Dir(file), strings.Count(dir, "/")+1
	if entries[in] || entries[file] {
		return 0
	}
	for up := 1; up <= levels; up++ {
		if dir = path.Dir(dir); dir == in {
			return up
		}
	}
	return levels + 1
}

// A seat is a reference from the files of a directory.
type seat struct {
	lookup
	dir string
}

// nearest returns the documents that provide an object, for a reference in a file: the nearest ones.
func (x *index) nearest(l lookup, file string) []*document {
	key := seat{l, directory(file)}
	if found, cached := x.nearby[key]; cached {
		return found
	}
	var found []*document
	entries, shortest := map[string]bool{}, 0
	x.addEntries(key.dir, entries)
	for _, p := range x.named[[2]string{l.kind, l.name}] {
		if l.namespace != "" && p.namespace != "" && l.namespace != p.namespace {
			continue
		}
		far := distance(key.dir, entries, p.document.file)
		if found == nil || far < shortest {
			found, shortest = nil, far
		}
		if far == shortest {
			found = append(found, p.document)
		}
	}
	for _, d := range found {
		x.used[d] = true
	}
	x.nearby[key] = found
	return found
}
