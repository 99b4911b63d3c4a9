package lint

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

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

// typeAt returns the type of a path's value, or nil.
func typeAt(t reflect.Type, path tree.Path) reflect.Type {
	for _, step := range path {
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			index, found := field.Names(t)[fmt.Sprint(step)]
			if !found {
				return nil
			}
			t = t.FieldByIndex(index).Type
		default:
			return nil
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// rewritten returns what the author of a value of the wrong type meant, in the form of the field's type, or "".
func rewritten(t reflect.Type, path tree.Path, n *yaml.Node) string {
	if t == nil || n == nil || (n.Value == "" && n.Kind == yaml.ScalarNode) {
		return ""
	}
	key := fmt.Sprint(path[len(path)-1])
	scalar := n.Kind == yaml.ScalarNode
	switch {
	case t == reflect.TypeFor[resource.Quantity]() && scalar:
		comma := "."
		if thousands.MatchString(n.Value) {
			comma = ""
		}
		plain := strings.Replace(n.Value, ",", comma, 1)
		if plain != n.Value && !ambiguous.MatchString(n.Value) && fits(t, &yaml.Node{Kind: yaml.ScalarNode, Value: plain}) {
			return plain
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.MappingNode && fits(t.Elem(), n):
		return "a list, with - before the first key"
	case t.Kind() == reflect.Slice && n.Kind == yaml.MappingNode && key == "env":
		return "a list of items with name and value"
	case t.Kind() == reflect.Slice && scalar && t.Elem().Kind() == reflect.String:
		return listOfWords(key, n.Value)
	case t.Kind() == reflect.Slice && scalar:
		return wrapped("a list, such as [{%s: %s}]", t.Elem(), n)
	case t.Kind() == reflect.Struct && scalar:
		return wrapped("{%s: %s}", t, n)
	case (t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64) && scalar && (key == "pollingInterval" || strings.Contains(key, "Seconds")):
		if d, err := time.ParseDuration(n.Value); err == nil && d > 0 && d%time.Second == 0 {
			return fmt.Sprintf("%d (seconds), without a unit", int(d.Seconds()))
		}
	}
	return ""
}

// In thousands, of units that nobody divides, a comma separates thousands. In the ambiguous ones it may be a decimal comma.
var (
	thousands = regexp.MustCompile(`^[1-9][0-9]*,[0-9]{3}(?:m|k|Ki|M|Mi)$`)
	ambiguous = regexp.MustCompile(`^[1-9][0-9]*,[0-9]{3}(?:[^mkKM0-9].*)?$`)
)

// listOfWords splits a text at its spaces, unless it may need a shell.
func listOfWords(key, text string) string {
	switch {
	case !strings.ContainsAny(text, "\"'`\\\n$|&;<>(){}*?#~"):
		return `a list, such as ["` + strings.Join(strings.Fields(text), `", "`) + `"]`
	case key == "command":
		return `a list, such as ["sh", "-c", "…"]`
	}
	return "a list, with - before each item"
}

// onlyField is the field that says all, by the name of the type.
var onlyField = map[string]string{
	"AuthenticationRef": "name", "ConfigMapEnvSource": "name", "ConfigMapVolumeSource": "name", "LocalObjectReference": "name", "SecretEnvSource": "name",
	"Rollout": "strategy", "ScalingStrategy": "strategy",
}

// wrapped puts a value below the field of an object that it is meant for, or returns "".
func wrapped(format string, t reflect.Type, n *yaml.Node) string {
	name := onlyField[t.Name()]
	if name == "" || !fits(t.FieldByIndex(field.Names(t)[name]).Type, n) {
		return ""
	}
	return fmt.Sprintf(format, name, n.Value)
}
