package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A home is a field that a misplaced key may be meant for.
type home struct {
	path  tree.Path
	taken bool // it has a value
}

// optional are the objects below an existing one to which a key may belong although the document lacks them.
var optional = []string{"metadata", "spec", "scalingStrategy", "rollout", "jobTargetRef", "template", "resources", "limits", "securityContext"}

// A parent is a place of the schema in the document: a struct, or a map of free keys.
type parent struct {
	kind reflect.Type
	node *yaml.Node // nil if the document lacks it
	path tree.Path
}

// walk collects the objects of the schema that the document has or that are optional.
func (r *reader) walk(t reflect.Type, n *yaml.Node, path tree.Path) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && n != nil && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			r.walk(t.Elem(), item, path.Step(i))
		}
	case t.Kind() == reflect.Map:
		r.parents = append(r.parents, parent{t, n, path})
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[resource.Quantity]():
		r.parents = append(r.parents, parent{t, n, path})
		for name, index := range field.Names(t) {
			_, child := r.keys.Child(n, name)
			if child != nil || (n != nil && slices.Contains(optional, name)) || name == "limits" { // of resources that are missing, too
				r.walk(t.FieldByIndex(index).Type, child, path.Step(name))
			}
		}
	}
}

// homes returns the fields of a key in all objects.
func (r *reader) homes(key string, value *yaml.Node) (homes []home) {
	if r.parents == nil {
		r.walk(r.schema, r.root, nil)
	}
	for _, o := range r.parents {
		fitting := false
		if o.kind.Kind() == reflect.Map {
			fitting = r.takes(o.kind, o.path, key) && fits(o.kind.Elem(), value)
		} else if index, found := field.Names(o.kind)[key]; found {
			fitting = fits(o.kind.FieldByIndex(index).Type, value) && r.allows(o.path.Step(key), value)
		}
		if fitting {
			_, child := r.keys.Child(o.node, key)
			homes = append(homes, home{o.path.Step(key), child != nil && child.ShortTag() != "!!null"})
		}
	}
	return homes
}

// takes reports whether a map of the schema has a key of this name: the metadata of a trigger, and limits.
func (r *reader) takes(t reflect.Type, path tree.Path, key string) bool {
	if len(path) == 0 {
		return false
	}
	switch path[len(path)-1] {
	case "metadata":
		return len(path) == 4 && path[1] == "triggers" && triggers.HasKey(r.text(path[:3].Step("type")...), key)
	case "limits":
		return t.Elem() == reflect.TypeFor[resource.Quantity]() && (strings.Contains(key, "/") || slices.Contains(standard, key))
	}
	return false
}

// fits reports whether a field of a type can hold a value.
func fits(t reflect.Type, value *yaml.Node) bool {
	unknown, wrong := tree.Decode(value, reflect.New(t).Interface(), field.Decoder{Form: manifest.Form})
	return len(unknown)+len(wrong) == 0
}

// allows reports whether a field of a few values has this one.
func (r *reader) allows(path tree.Path, value *yaml.Node) bool {
	f := r.crd(path)
	return f == nil || f.Allows(value.Value, keda.Newest().Release())
}

// belongs returns the places of a key that its object does not have, the nearest only, or a fix that deletes it if
// each of them has a value. It returns "" if the key is legal nowhere.
func (r *reader) belongs(parent tree.Path, key string) string {
	value := r.node(parent.Step(key)...)
	if value == nil {
		return ""
	}
	readBySomeRelease := func(h home) bool { return slices.Equal(h.path, parent.Step(key)) }
	homes := slices.DeleteFunc(r.homes(key, value), readBySomeRelease)
	if len(homes) == 0 && value.Kind == yaml.ScalarNode { // quotes that the other place does not need
		plain := *value
		plain.Style = 0
		homes = slices.DeleteFunc(r.homes(key, &plain), readBySomeRelease)
	}
	free := slices.DeleteFunc(slices.Clone(homes), func(h home) bool { return h.taken })
	if len(free) == 0 && len(homes) > 0 {
		nearest := nearestHomes(parent, homes)[0]
		if strings.HasPrefix(parent.String()+".", nearest+".") { // it is within itself
			r.moves(nearest, value)
			return "Move what is below it to " + nearest
		}
		return fmt.Sprintf("Delete it; it belongs in %s, which already has a value", nearest)
	}
	if len(free) == 0 {
		return ""
	}
	paths := nearestHomes(parent, free)
	for _, path := range paths {
		r.c.moved[path] = true
	}
	return "Move it to " + strings.Join(paths, " or ")
}

// moves notes all that is below a key as fields of an object: that they are missing there is no second finding.
func (r *reader) moves(to string, value *yaml.Node) {
	for key, below := range tree.Entries(value) {
		r.c.moved[to+"."+key.Value] = true
		r.moves(to+"."+key.Value, below)
	}
}

// nearestHomes returns the paths with the fewest steps from an object. A step down counts twice: an object that is
// around the key is nearer than one beside it.
func nearestHomes(from tree.Path, homes []home) (paths []string) {
	shortest := 0
	for _, h := range homes {
		up, down := steps(from, h.path[:len(h.path)-1])
		cost := up + 2*down
		if paths == nil || cost < shortest {
			shortest, paths = cost, nil
		}
		if cost == shortest {
			paths = append(paths, h.path.String())
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// steps counts the keys from an object up to one that both are in, and down to the other.
func steps(from, target tree.Path) (up, down int) {
	common := 0
	for common < len(from) && common < len(target) && from[common] == target[common] {
		common++
	}
	return keysIn(from[common:]), keysIn(target[common:])
}

func keysIn(path tree.Path) (n int) {
	for _, step := range path {
		if _, isKey := step.(string); isKey {
			n++
		}
	}
	return n
}
