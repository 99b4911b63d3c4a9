// Package crd holds the fields that the CRDs of KEDA's releases have: those of ScaledJob, which has
// the Jobs and pods of the release's Kubernetes, TriggerAuthentication and
// ClusterTriggerAuthentication.
//
// The table fields.txt is generated from the CRDs of KEDA 2.2 to 2.21 by test/conformance/triggers; the
// module proxy does not serve 2.0, 2.1 and 2.6. A line is a field, below that of its object. Its
// words are the releases (in:2.5-2.21) if they are fewer than those of its object, and facts: the
// type (of objects none), required, some (a list may not be empty), open (any field is kept) and
// the values that it allows. A fact without releases holds in all releases with the field.
package crd

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

//go:embed fields.txt
var text string

// The minor releases of the table.
const (
	oldest = 2
	unread = 6 // not in the table
)

// A Field is a field of an object in all releases. nil is a field that no release has.
type Field struct {
	fields map[string]*Field
	names  []string          // of fields, sorted
	in     string            // releases
	facts  map[string]string // releases of each
	closed bool              // a fact is a value
}

var kinds = sync.OnceValue(func() *Field {
	above := []*Field{{}}
	for line := range strings.Lines(text) {
		name := strings.TrimLeft(line, " ")
		above = above[:1+len(line)-len(name)]
		words, parent := strings.Fields(name), above[len(above)-1]
		f := &Field{in: parent.in, facts: map[string]string{}}
		for _, word := range words[1:] {
			fact, releases, _ := strings.Cut(word, ":")
			if fact == "in" {
				f.in = releases
			} else {
				f.facts[fact] = releases
				f.closed = f.closed || strings.HasPrefix(fact, "=")
			}
		}
		if parent.fields == nil {
			parent.fields = map[string]*Field{}
		}
		parent.fields[words[0]] = f
		i, _ := slices.BinarySearch(parent.names, words[0])
		parent.names = slices.Insert(parent.names, i, words[0])
		above = append(above, f)
	}
	return above[0]
})

// Kind returns the object of a kind, or nil.
func Kind(kind string) *Field { return kinds().Field(kind) }

// Field returns a field of an object, or of the objects in a list or map.
func (f *Field) Field(name string) *Field {
	if f == nil {
		return nil
	}
	return f.fields[name]
}

// Names returns the fields of an object, sorted. The caller must not modify the list.
func (f *Field) Names() []string { return f.names }

// In reports whether a release such as "2.18.3" has the field. Releases before 2.2 have all fields,
// and 2.6 has the fields of 2.5 and of 2.7.
func (f *Field) In(release string) bool {
	n := triggers.Minor(release)
	return n < oldest || (f != nil && (within(n, f.in) || (n == unread && (within(n-1, f.in) || within(n+1, f.in)))))
}

// Releases describes the releases that have the field.
func (f *Field) Releases() string {
	first, last, _ := strings.Cut(f.in, "-")
	if strings.HasSuffix(Kind("ScaledJob").in, "-"+last) {
		return first + " or later"
	}
	return strings.NewReplacer("-", " to ", ",", ", or ").Replace(f.in)
}

// Required reports whether a release requires the field.
func (f *Field) Required(release string) bool { return f.holds(release, "required") }

// NeedsItem reports whether a release rejects an empty list.
func (f *Field) NeedsItem(release string) bool { return f.holds(release, "some") }

// Open reports whether a release keeps fields that the object does not have.
func (f *Field) Open(release string) bool { return f.holds(release, "open") }

// Allows reports whether a release allows a value.
func (f *Field) Allows(value, release string) bool {
	values := f.Enum(release)
	return values == nil || slices.Contains(values, value)
}

// Closed reports whether any release limits the field to certain values.
func (f *Field) Closed() bool { return f.closed }

// Enum returns the values that a release allows, sorted, or nil for any.
func (f *Field) Enum(release string) (values []string) {
	for fact := range f.facts {
		if value, ok := strings.CutPrefix(fact, "="); ok && f.holds(release, fact) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// holds takes releases before 2.2 for 2.2.
func (f *Field) holds(release, fact string) bool {
	releases, ok := f.facts[fact]
	if !ok {
		return false
	}
	n := max(oldest, triggers.Minor(release))
	return within(n, releases) && within(n, f.in)
}

// within reports whether a minor release is within releases such as "2.2-2.5,2.8-2.21" or "2.9"; ""
// are all.
func within(n int, releases string) bool {
	if releases == "" {
		return true
	}
	for span := range strings.SplitSeq(releases, ",") {
		first, last, isRange := strings.Cut(span, "-")
		if !isRange {
			last = first
		}
		if triggers.Minor(first) <= n && n <= triggers.Minor(last) {
			return true
		}
	}
	return false
}

// Type returns a Go type for the objects of a field, with the fields of all releases.
func (f *Field) Type() reflect.Type {
	var fields []reflect.StructField
	for _, name := range f.Names() {
		t := f.fields[name].value()
		if name == "metadata" {
			t = reflect.TypeFor[metav1.ObjectMeta]()
		}
		fields = append(fields, reflect.StructField{Name: "F" + name, Type: t, Tag: reflect.StructTag(`json:"` + name + `"`)})
	}
	return reflect.StructOf(fields)
}

func (f *Field) value() reflect.Type {
	for name, t := range map[string]reflect.Type{"string": reflect.TypeFor[string](), "integer": reflect.TypeFor[int32](), "boolean": reflect.TypeFor[bool](),
		"[]string": reflect.TypeFor[[]string](), "map[string]string": reflect.TypeFor[map[string]string]()} {
		if _, ok := f.facts[name]; ok {
			return t
		}
	}
	if _, ok := f.facts["[]object"]; ok {
		return reflect.SliceOf(f.Type())
	}
	return reflect.PointerTo(f.Type())
}
