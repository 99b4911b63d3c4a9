package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// A reference is the use of an object in another. key is "" if the whole object is used.
type reference struct {
	lookup
	key       string
	at, keyAt place
	effect    string // of a document that is missing
	where     string // the namespace in words
}

// referring are the fields that refer to an object, with its kind and the field with its name.
var referring = map[string]struct{ kind, name string }{
	"secretRef": {"Secret", "name"}, "secretKeyRef": {"Secret", "name"}, "secret": {"Secret", "secretName"},
	"configMapRef": {"ConfigMap", "name"}, "configMapKeyRef": {"ConfigMap", "name"}, "configMap": {"ConfigMap", "name"},
}

// findReferences returns the required references of the containers' environments, of the volumes and of
// the TriggerAuthentications in use.
func (j *job) findReferences() []reference {
	const starts = "pods start only after it exists"
	var all []reference
	containers := j.template.Template.Spec.Containers
	for i := range containers {
		text := starts
		if &containers[i] == j.envSource() {
			text = "KEDA reads the container's environment and polls only after it exists"
		}
		for _, field := range []string{"env", "envFrom"} {
			all = append(all, j.referencesBelow(text, j.pod("containers", i, field))...)
		}
	}
	all = append(all, j.referencesBelow(starts, j.pod("volumes"))...)
	for i, t := range j.spec.Triggers {
		if kind := t.Metadata["resourceKind"]; t.Type == "kubernetes-resource" && (kind == "Secret" || kind == "ConfigMap") {
			all = append(all, reference{j.lookup(kind, t.Metadata["resourceName"]), t.Metadata["key"],
				j.trigger(i, "metadata", "resourceName"), j.trigger(i, "metadata", "key"), "each poll fails", ownNamespace})
		}
	}
	for _, a := range j.authentications() {
		namespace, where := j.namespaceOf(a)
		if !j.all.first(a, "references in "+namespace) {
			continue
		}
		for field, kind := range map[string]string{"secretTargetRef": "Secret", "configMapTargetRef": "ConfigMap"} {
			for i := range a.document.length("spec", field) {
				at := tree.Path{"spec", field, i}
				name, key := at.With("name"), at.With("key")
				all = append(all, reference{lookup{kind, namespace, a.document.text(name...)}, a.document.text(key...),
					a.document.at(name...), a.document.at(key...), "KEDA reads an empty value", where})
			}
		}
	}
	return all
}

// referencesBelow returns the references in a part of the pod, other than optional ones.
func (j *job) referencesBelow(effect string, at tree.Path) (all []reference) {
	n := j.node(at...)
	if n != nil && n.Kind == yaml.SequenceNode {
		for i := range n.Content {
			all = append(all, j.referencesBelow(effect, at.With(i))...)
		}
	}
	for key, value := range tree.Entries(n) {
		to, refers := referring[key.Value]
		if at := at.With(key.Value); !refers || value.Kind != yaml.MappingNode {
			all = append(all, j.referencesBelow(effect, at)...)
		} else if optional, _ := tree.Plain(j.node(at.With("optional")...)).(bool); !optional {
			if slices.Contains(at, any("projected")) {
				to.name = "name"
			}
			name := at.With(to.name)
			add := func(key tree.Path) {
				all = append(all, reference{j.lookup(to.kind, j.text(name...)), j.text(key...), j.at(name...), j.at(key...), effect, ownNamespace})
			}
			add(at.With("key"))
			for i := range j.length(at.With("items")...) {
				add(at.With("items").With(i).With("key"))
			}
		}
	}
	return all
}

// length returns the length of a list, or 0 if the node is not a list.
func (d *document) length(steps ...any) int {
	if n := d.node(steps...); n != nil && n.Kind == yaml.SequenceNode {
		return len(n.Content)
	}
	return 0
}

// envSource returns the container with the environment that KEDA reads, or nil.
func (j *job) envSource() *corev1.Container {
	containers := j.template.Template.Spec.Containers
	for i := range containers {
		if name := j.spec.EnvSourceContainerName; name == "" || containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

const ownNamespace = "the namespace"

// namespaceOf returns the namespace of the objects that an authentication refers to. KEDA
// reads those of a ClusterTriggerAuthentication in its operator's namespace, which no
// manifest shows.
func (j *job) namespaceOf(a authentication) (namespace, where string) {
	if a.lookup.kind == "ClusterTriggerAuthentication" {
		return "", "the namespace of KEDA's operator"
	}
	return j.manifest.Namespace, ownNamespace
}

func (j *job) lookup(kind, name string) lookup { return lookup{kind, j.manifest.Namespace, name} }

// missing returns the check for references to a kind. It is a note if no object of the kind is given.
func missing(kind string) func(*job) {
	return func(j *job) {
		for _, r := range j.references() {
			d, others := j.all.find(r.lookup)
			if r.kind != kind || r.name == "" || d != nil {
				continue
			}
			add, fix := j.note, fmt.Sprintf("Create a %s of this name in %s, or lint its manifest too", kind, r.where)
			if others {
				add, fix = j.find, j.all.want(r.lookup)
			}
			add(r.at, fix, effect{text: fmt.Sprintf("no document has this %s: %s", kind, r.effect)})
		}
	}
}

func missingKey(j *job) {
	for _, r := range j.references() {
		d, _ := j.all.find(r.lookup)
		if d == nil || r.key == "" {
			continue
		}
		found, known := d.holds(r.key)
		j.when(known && !found, r.keyAt, fmt.Sprintf("Write a key of the %s %s", r.kind, r.name), "the key does not exist: the value is empty, or pods do not start")
	}
}

// An authentication is a trigger's, and the document that is meant, if given.
type authentication struct {
	trigger  int
	lookup   lookup
	document *document
	others   bool // are given
	// otherKind is the kind of the document with this name, if it is the wrong one.
	otherKind string
}

// findAuthentications returns the authentications that the triggers use.
func (j *job) findAuthentications() []authentication {
	var all []authentication
	for i, t := range j.spec.Triggers {
		if t.AuthenticationRef == nil || t.AuthenticationRef.Name == "" {
			continue
		}
		a := authentication{trigger: i, lookup: j.lookup("TriggerAuthentication", t.AuthenticationRef.Name)}
		if t.AuthenticationRef.Kind == "ClusterTriggerAuthentication" {
			a.lookup = lookup{kind: "ClusterTriggerAuthentication", name: t.AuthenticationRef.Name}
		}
		if a.document, a.others = j.all.find(a.lookup); a.document == nil {
			for _, kind := range authenticationKinds {
				if d, _ := j.all.find(lookup{kind: kind, name: a.lookup.name}); d != nil && kind != a.lookup.kind {
					a.otherKind = kind
				}
			}
		}
		all = append(all, a)
	}
	return all
}

func missingAuthentication(j *job) {
	for _, a := range j.authentications() {
		if a.document != nil {
			continue
		}
		kind, there := a.lookup.kind, ""
		add, at, fix := j.note, j.trigger(a.trigger, "authenticationRef", "name"), fmt.Sprintf("Create a %s of this name, or lint its manifest too", kind)
		switch {
		case a.otherKind != "":
			add, at, fix = j.find, j.trigger(a.trigger, "authenticationRef", "kind"), "Write kind: "+a.otherKind
			there = fmt.Sprintf(", and there is a %s of this name", a.otherKind)
		case a.others:
			add, fix = j.find, j.all.want(a.lookup)
		}
		add(at, fix, effect{text: fmt.Sprintf("no document has this %s%s: KEDA continues without it, and the trigger fails", kind, there)})
	}
}

var authenticationKinds = []string{"TriggerAuthentication", "ClusterTriggerAuthentication"}

func authenticationKindUnknown(j *job, i int, t *manifest.ScaleTrigger) {
	if ref := t.AuthenticationRef; ref != nil && ref.Kind != "" && !slices.Contains(authenticationKinds, ref.Kind) {
		j.find(j.trigger(i, "authenticationRef", "kind"), oneOf(ref.Kind, authenticationKinds),
			effect{text: "KEDA continues without it and the trigger fails, or the API server rejects it"})
	}
}

// A variable is a reference to a variable of a container: the one that KEDA reads, or the one with a name.
type variable struct {
	container, name string
	at              func() place
}

// wanted holds the variables of an authentication, by name. A variable that a ScaledJob lacks is reported and removed.
// A noted one has a note: a ScaledJob may have it from an object that is not given. The containers are the places
// of their names.
type wanted struct {
	fresh, noted map[string][]variable
	containers   map[string][]place
	// unchecked are the names that no ScaledJob with the same sources has looked up in these, since it has a
	// variable of the name itself.
	unchecked map[string]map[string]bool
}

func (x *index) variables(d *document) *wanted {
	if x.wanted[d] == nil {
		w := &wanted{map[string][]variable{}, map[string][]variable{}, map[string][]place{}, map[string]map[string]bool{}}
		for i := range d.length("spec", "env") {
			container, name := d.text("spec", "env", i, "containerName"), d.text("spec", "env", i, "name")
			if container != "" {
				w.containers[container] = append(w.containers[container], d.at("spec", "env", i, "containerName"))
			}
			w.fresh[name] = append(w.fresh[name], variable{container, name, func() place { return d.at("spec", "env", i, "name") }})
		}
		x.wanted[d] = w
	}
	return x.wanted[d]
}

// unset reports a variable that the container does not have, or may not have, and returns the severity.
func (j *job) unset(v variable, container *corev1.Container) Severity {
	_, provided, complete := j.variable(v.name)
	switch {
	case provided || (v.container != "" && v.container != container.Name):
		return 0
	case complete:
		j.find(v.at(), "Write a variable of the container "+container.Name, effect{text: "the container has no such variable: KEDA reads an empty value"})
		return Error
	}
	j.note(v.at(), "Check that one of the envFrom has the variable, or lint its manifest too",
		effect{text: "no document has this variable: an envFrom must provide it, and its manifest is not given"})
	return Note
}

func missingEnvironment(j *job) {
	container := j.envSource()
	if container == nil {
		return
	}
	for i, t := range j.spec.Triggers {
		for key, name := range t.Metadata {
			if strings.HasSuffix(key, "FromEnv") && name != "" {
				j.unset(variable{name: name, at: func() place { return j.trigger(i, "metadata", key) }}, container)
			}
		}
	}
	for _, d := range j.authenticationDocuments() {
		w := j.all.variables(d)
		from := container.Name + j.sources().names
		unchecked, seen := w.unchecked[from]
		own := map[string]bool{} // variables of the container, which the sources need not have
		for name := range j.variablesOf() {
			own[name] = len(w.fresh[name])+len(w.noted[name]) > 0
			j.recheck(w, name, container)
		}
		if !seen {
			unchecked = map[string]bool{}
			for name := range w.fresh {
				unchecked[name] = true
			}
			if j.sources().absent < 0 { // or else they get the same note
				for name := range w.noted {
					unchecked[name] = true
				}
			}
			w.unchecked[from] = unchecked
		}
		for name := range unchecked {
			if !own[name] {
				j.recheck(w, name, container)
				delete(unchecked, name)
			}
		}
	}
}

// recheck reports the variables of a name that the container does not have, or may not have.
func (j *job) recheck(w *wanted, name string, container *corev1.Container) {
	if len(w.fresh[name])+len(w.noted[name]) == 0 {
		return
	}
	var fresh, noted []variable
	for _, v := range w.fresh[name] {
		switch j.unset(v, container) {
		case 0:
			fresh = append(fresh, v)
		case Note:
			noted = append(noted, v)
		}
	}
	for _, v := range w.noted[name] {
		if j.unset(v, container) != Error {
			noted = append(noted, v)
		}
	}
	for of, left := range map[*map[string][]variable][]variable{&w.fresh: fresh, &w.noted: noted} {
		if delete(*of, name); len(left) > 0 {
			(*of)[name] = left
		}
	}
}

// authenticationDocuments are the documents of the triggers' authentications, each once.
func (j *job) authenticationDocuments() (all []*document) {
	seen := map[*document]bool{nil: true}
	for _, a := range j.authentications() {
		if !seen[a.document] {
			all = append(all, a.document)
		}
		seen[a.document] = true
	}
	return all
}

// parameterLists are the lists of parameters in an authentication. The first that has a parameter counts.
var parameterLists = append([][]any{{"spec", "secretTargetRef"}, {"spec", "configMapTargetRef"}, {"spec", "env"}}, providers...)

// parameterPlaces are the items of these lists in a document.
func parameterPlaces(d *document) (all [][]any) {
	for _, list := range parameterLists {
		for i := range d.length(list...) {
			all = append(all, append(slices.Clone(list), i))
		}
	}
	return all
}

// parameterPlace returns the item that gives a parameter, or nil.
func (x *index) parameterPlace(d *document, name string) []any {
	if x.places[d] == nil {
		x.places[d] = map[string][]any{}
		for _, steps := range slices.Backward(parameterPlaces(d)) {
			x.places[d][d.text(append(steps, "parameter")...)] = steps
		}
	}
	return x.places[d][name]
}

func authenticationParameterUnknown(j *job) {
	for _, a := range j.authentications() {
		if !j.all.first(a, "parameters") {
			continue
		}
		var known []string
		types, open := slices.Sorted(maps.Keys(j.all.users[a.lookup.name])), false // of triggers in any document
		for _, name := range types {
			names, all := triggers.AuthenticationParameters(name)
			known, open = append(known, names...), open || all
		}
		slices.Sort(known)
		known = slices.Compact(known)
		for _, item := range parameterPlaces(a.document) {
			steps := append(item, "parameter")
			name := a.document.text(steps...)
			if name == "" || open || slices.Contains(known, name) {
				continue
			}
			fix := "Delete it"
			if near := nearest(name, known); near != "" {
				fix = "Write " + near
			} else if len(known) > 0 {
				fix = "Delete it, or write one that KEDA reads: " + strings.Join(known, ", ")
			}
			j.find(a.document.at(steps...), fix, effect{text: fmt.Sprintf("%s takes no parameter of this name from a TriggerAuthentication, and KEDA ignores it", strings.Join(types, " and "))})
		}
	}
}

// nameMisspelled finds the name of an object if a document has a similar name.
func nameMisspelled(j *job) {
	check := func(kind, name string, steps ...any) {
		key := [2]string{kind, name}
		if j.all.find(j.lookup(kind, name)); name == "" || len(j.all.named[key]) > 0 {
			return
		}
		near, known := j.all.similar[key]
		if !known {
			near = j.near(name, j.all.names[kind])
			j.all.similar[key] = near
		}
		j.when(near != "", j.at(j.pod(steps...)...), "Write "+near, fmt.Sprintf("no document has this %s: pods start only after it exists", kind))
	}
	pod := &j.template.Template.Spec
	check("ServiceAccount", pod.ServiceAccountName, "serviceAccountName")
	for i, s := range pod.ImagePullSecrets {
		check("Secret", s.Name, "imagePullSecrets", i, "name")
	}
	for i, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil {
			check("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, "volumes", i, "persistentVolumeClaim", "claimName")
		}
	}
}
