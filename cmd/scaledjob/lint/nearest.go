package lint

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// elsewhere is the distance of a file that is neither in the directory of another nor above it.
const elsewhere = 1 << 20

// A directories holds which files count as those of a directory: what its kustomization lists.
type directories map[string][]string

// directoriesOf reads the resources of all kustomizations.
func directoriesOf(objects documents) directories {
	lists := directories{}
	for _, d := range objects {
		if !d.isKustomization() {
			continue
		}
		dir := directory(d.file)
		for _, field := range []string{"resources", "components", "bases"} {
			list := d.node(field)
			if list == nil || list.Kind != yaml.SequenceNode {
				continue
			}
			for _, item := range list.Content {
				if item.Kind == yaml.ScalarNode && !strings.Contains(item.Value, "://") {
					lists[dir] = append(lists[dir], path.Join(dir, item.Value))
				}
			}
		}
	}
	return lists
}

// isKustomization reports whether a document is one by its kind or by the name of its file.
func (d *document) isKustomization() bool {
	name := path.Base(filepath.ToSlash(d.file))
	return d.kind() == "Kustomization" || strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml") == "kustomization" || name == "Kustomization"
}

func directory(file string) string { return path.Dir(filepath.ToSlash(file)) }

// entries returns the files and directories that count as a directory: itself, and what its kustomization and those of
// its resources list.
func (l directories) entries(dir string) []string {
	entries := []string{dir}
	for i := 0; i < len(entries); i++ {
		for _, entry := range l[entries[i]] {
			if !slices.Contains(entries, entry) {
				entries = append(entries, entry)
			}
		}
	}
	return entries
}

// distance returns how far a file is from a directory: 0 in its own files, the levels of a directory above, or elsewhere.
func distance(dir string, entries []string, file string) int {
	file = filepath.ToSlash(file)
	in := path.Dir(file)
	if slices.Contains(entries, in) || slices.Contains(entries, file) {
		return 0
	}
	for up, parent := 1, path.Dir(dir); up <= strings.Count(dir, "/")+1; up, parent = up+1, path.Dir(parent) {
		if parent == in {
			return up
		}
	}
	return elsewhere
}

// anyNamespace is the namespace of a reference that may be to each.
const anyNamespace = "*"

// A seat is a reference from the files of a directory.
type seat struct {
	lookup
	dir string
}

// A group is the documents that are equally near to a directory.
type group struct {
	documents []*document
	distance  int
}

// nearest returns the documents that provide an object, for a reference in a file: the nearest ones. others reports
// whether the files hold other objects of the kind.
func (x *index) nearest(l lookup, file string) (found []*document, others bool) {
	dir := directory(file)
	if l.namespace == "" {
		l.namespace = anyNamespace
	}
	near := x.group(l, dir)
	if l.namespace != anyNamespace {
		switch unset := x.group(lookup{l.kind, "", l.name}, dir); {
		case len(near.documents) == 0 || (len(unset.documents) > 0 && unset.distance < near.distance):
			near = unset
		case unset.distance == near.distance:
			near.documents = slices.Concat(near.documents, unset.documents)
		}
	}
	for _, d := range near.documents {
		x.used[d] = true
	}
	return near.documents, len(x.names[l.kind]) > 0
}

// group returns the nearest documents of a namespace; "" has those without one.
func (x *index) group(l lookup, dir string) group {
	key := seat{l, dir}
	if g, cached := x.groups[key]; cached {
		return g
	}
	g := group{distance: elsewhere + 1}
	own, cached := x.own[dir]
	if !cached {
		own = x.directories.entries(dir)
		x.own[dir] = own
	}
	for _, d := range x.provided[l] {
		switch far := distance(dir, own, d.file); {
		case far < g.distance:
			g = group{[]*document{d}, far}
		case far == g.distance:
			g.documents = append(g.documents, d)
		}
	}
	x.groups[key] = g
	return g
}

// object returns the document that provides an object, of several that are equally near the first.
func (j *job) object(l lookup) (found *document, others bool) {
	documents, others := j.objects.nearest(l, j.file)
	if len(documents) == 0 {
		return nil, others
	}
	return documents[0], true
}
