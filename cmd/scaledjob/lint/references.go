package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// A reference is the use of an object in another. key is "" if the whole object is used.
type reference struct {
	lookup
	key             string
	position, keyAt place
	effect          string // of a document that is missing
	location        string // the namespace in words
	file            string // that refers to it
}

// referring are the fields that refer to an object, with its kind and the field with its name.
var referring = map[string]struct{ kind, name string }{
	"secretRef": {"Secret", "name"}, "secretKeyRef": {"Secret", "name"}, "secret": {"Secret", "secretName"},
	"configMapRef": {"ConfigMap", "name"}, "configMapKeyRef": {"ConfigMap", "name"}, "configMap": {"ConfigMap", "name"},
}

const podsWait = "Pods start only after it exists"

// findReferences returns the required references of the containers' environments, of the volumes and of
// the TriggerAuthentications in use.
func (j *job) findReferences() []reference {
	var references []reference
	containers := j.template.Template.Spec.Containers
	for i := range containers {
		text := podsWait
		if &containers[i] == j.envSource() {
			text = "KEDA polls only after it exists, because it reads the container's environment"
		}
		for _, field := range []string{"env", "envFrom"} {
			references = append(references, j.referencesBelow(text, j.pod("containers", i, field))...)
		}
	}
	references = append(references, j.referencesBelow(podsWait, j.pod("volumes"))...)
	for i, t := range j.spec.Triggers {
		if kind := t.Metadata["resourceKind"]; t.Type == "kubernetes-resource" && (kind == "Secret" || kind == "ConfigMap") {
			references = append(references, reference{j.lookup(kind, t.Metadata["resourceName"]), t.Metadata["key"],
				j.trigger(i, "metadata", "resourceName"), j.trigger(i, "metadata", "key"), "Each poll fails", ownNamespace, j.file})
		}
	}
	for _, a := range j.authentications() {
		namespace, location := j.namespaceOf(a)
		if !j.objects.first(a, "references in "+namespace) {
			continue
		}
		for field, kind := range map[string]string{"secretTargetRef": "Secret", "configMapTargetRef": "ConfigMap"} {
			for i := range a.document.length("spec", field) {
				path := tree.Path{"spec", field, i}
				name, key := path.Step("name"), path.Step("key")
				references = append(references, reference{lookup{kind, namespace, a.document.text(name...)}, a.document.text(key...),
					a.document.place(name...), a.document.place(key...), "KEDA reads an empty value", location, a.document.file})
			}
		}
	}
	return references
}

// referencesBelow returns the references in a part of the pod, other than optional ones.
func (j *job) referencesBelow(effect string, path tree.Path) (references []reference) {
	n := j.node(path...)
	if n != nil && n.Kind == yaml.SequenceNode {
		for i := range n.Content {
			references = append(references, j.referencesBelow(effect, path.Step(i))...)
		}
	}
	for key, value := range tree.Entries(n) {
		target, refers := referring[key.Value]
		if path := path.Step(key.Value); !refers || value.Kind != yaml.MappingNode {
			references = append(references, j.referencesBelow(effect, path)...)
		} else if optional, _ := tree.Plain(j.node(path.Step("optional")...)).(bool); !optional {
			if slices.Contains(path, any("projected")) {
				target.name = "name"
			}
			name := path.Step(target.name)
			add := func(key tree.Path) {
				references = append(references, reference{j.lookup(target.kind, j.text(name...)), j.text(key...), j.place(name...), j.place(key...), effect, ownNamespace, j.file})
			}
			add(path.Step("key"))
			for i := range j.length(path.Step("items")...) {
				add(path.Step("items").Step(i).Step("key"))
			}
		}
	}
	return references
}

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
func (j *job) namespaceOf(a authentication) (namespace, location string) {
	if a.lookup.kind == "ClusterTriggerAuthentication" {
		return "", "the namespace of KEDA's operator"
	}
	return j.manifest.Namespace, ownNamespace
}

func (j *job) lookup(kind, name string) lookup { return lookup{kind, j.manifest.Namespace, name} }

// missing returns the check for references to a kind: one finding for each object. It is a note if no object of the
// kind is given.
func missing(kind string) func(*job) {
	return func(j *job) {
		uses := map[lookup]int{}
		for _, r := range j.references() {
			uses[r.lookup]++
		}
		for _, r := range j.references() {
			if r.kind != kind || r.name == "" || uses[r.lookup] == 0 {
				continue
			}
			if near := j.objects.nearest(r.lookup, r.file); near != nil {
				j.outOfReach(r, near)
				uses[r.lookup] = 0
				continue
			}
			if len(validation.IsDNS1123Subdomain(r.name)) > 0 {
				rule, result := j.rule, r.effect
				if r.effect == podsWait {
					rule.Severity, result = Error, "The pods never start"
				}
				if !strings.Contains(r.position.path, ".env") { // of which template-rejected is
					j.add(rule, r.position, "Write lower-case letters, digits, dots and -", effect{text: fmt.Sprintf("no %s can have this name. %s", kind, result)})
				}
				uses[r.lookup] = 0
				continue
			}
			add, fix := j.note, fmt.Sprintf("Create a %s of this name in %s, or lint its manifest too", kind, r.location)
			if j.objects.providers[kind] != nil {
				add, fix = j.find, j.objects.want(r.lookup)
			}
			text := fmt.Sprintf("no file defines this %s. %s", kind, r.effect)
			if n := uses[r.lookup]; n > 1 {
				text = fmt.Sprintf("no file defines this %s, which %d fields name. %s", kind, n, r.effect)
			}
			add(r.position, fix, effect{text: text})
			uses[r.lookup] = 0
		}
	}
}

// outOfReach finds an object of a ClusterTriggerAuthentication in the namespace of the workload, in which no operator runs.
func (j *job) outOfReach(r reference, documents []*document) {
	namespace := j.manifest.Namespace
	elsewhere := func(d *document) bool { return d.text("metadata", "namespace") != namespace }
	ofOperator := r.namespace == "" && r.location != ownNamespace
	if !ofOperator || strings.Contains(namespace, "keda") {
		return
	}
	if namespace != "" && !slices.ContainsFunc(documents, elsewhere) {
		j.find(r.position, "Create it in the namespace of KEDA's operator, or use a TriggerAuthentication",
			effect{text: fmt.Sprintf("KEDA looks for the %s in the namespace of its operator, and the files have it in %s. %s", r.kind, namespace, r.effect)})
	}
}

func missingKey(j *job) {
	for _, r := range j.references() {
		near := j.objects.nearest(r.lookup, r.file)
		provides := func(d *document) bool {
			found, listed := d.holds(r.key)
			return found || !listed
		}
		if r.key == "" || len(near) == 0 || slices.ContainsFunc(near, provides) {
			continue
		}
		fix := fmt.Sprintf("Write a key of the %s %s", r.kind, r.name)
		if meant := j.near(r.key, near[0].keysOf()); meant != "" {
			fix = "Write " + meant
		}
		j.find(r.keyAt, fix, effect{text: "the " + r.kind + " has no such key, so the value is empty or pods do not start"})
	}
}

// An authentication is a trigger's, and the document that is meant, if given.
type authentication struct {
	trigger  int
	lookup   lookup
	document *document
	several  bool // documents are equally near, so that none is known to be meant
	// otherKind is the kind of the document with this name, if it is the wrong one.
	otherKind string
}

func (j *job) findAuthentications() []authentication {
	var authentications []authentication
	for i, t := range j.spec.Triggers {
		if t.AuthenticationRef == nil || t.AuthenticationRef.Name == "" {
			continue
		}
		a := authentication{trigger: i, lookup: j.lookup("TriggerAuthentication", t.AuthenticationRef.Name)}
		if t.AuthenticationRef.Kind == "ClusterTriggerAuthentication" {
			a.lookup = lookup{kind: "ClusterTriggerAuthentication", name: t.AuthenticationRef.Name}
		}
		near := j.objects.nearest(a.lookup, j.file)
		if a.several = len(near) > 1; len(near) == 1 {
			a.document = near[0]
		}
		for _, kind := range authenticationKinds {
			if near == nil && kind != a.lookup.kind && j.objects.nearest(lookup{kind: kind, name: a.lookup.name}, j.file) != nil {
				a.otherKind = kind
			}
		}
		authentications = append(authentications, a)
	}
	return authentications
}

func missingAuthentication(j *job) {
	for _, a := range j.authentications() {
		needless := j.readsMetadata(a.trigger)
		if a.document != nil || a.several || (needless && a.otherKind == "" && !j.resembles(a.lookup)) {
			continue
		}
		kind, hint, result := a.lookup.kind, "", "KEDA continues without it, and the trigger fails"
		if needless {
			result = "KEDA continues without it"
		}
		add, position, fix := j.note, j.trigger(a.trigger, "authenticationRef", "name"), fmt.Sprintf("Create a %s of this name, or lint its manifest too", kind)
		switch {
		case a.otherKind != "":
			add, position, fix = j.find, j.trigger(a.trigger, "authenticationRef", "kind"), "Write kind: "+a.otherKind
			hint = fmt.Sprintf(", but one defines a %s of this name", a.otherKind)
		case j.objects.providers[kind] != nil:
			add, fix = j.find, j.objects.want(a.lookup)
		}
		add(position, fix, effect{text: fmt.Sprintf("no file defines this %s%s. %s", kind, hint, result)})
	}
}

// resembles reports whether another namespace has the object, or its own one of a similar name.
func (j *job) resembles(l lookup) bool {
	return j.objects.named[[2]string{l.kind, l.name}] != nil || j.near(l.name, j.objects.names(l.kind, "")) != ""
}

// readsMetadata reports whether the metadata has a credential and all that the trigger needs, so that a
// TriggerAuthentication adds nothing.
func (j *job) readsMetadata(trigger int) bool {
	t, newest := j.spec.Triggers[trigger], keda.Newest().Release()
	in := triggers.Input{Metadata: t.Metadata, Environment: j.environment}
	return triggers.HasCredential(t.Type, newest, in) && !slices.ContainsFunc(triggers.Check(t.Type, newest, in), func(p triggers.Problem) bool { return !p.Warning })
}

var authenticationKinds = []string{"TriggerAuthentication", "ClusterTriggerAuthentication"}

func authenticationKindUnknown(j *job, i int, t *manifest.ScaleTrigger) {
	if ref := t.AuthenticationRef; ref != nil && ref.Kind != "" && !slices.Contains(authenticationKinds, ref.Kind) {
		j.find(j.trigger(i, "authenticationRef", "kind"), oneOf(ref.Kind, authenticationKinds),
			effect{affected: not(from("2.20.0")), text: "KEDA continues without it, and the trigger fails"}, effect{affected: from("2.20.0"), text: refusal})
	}
}

// unset finds a variable that the container does not have. It may come from an envFrom whose object is not given, which
// has a note of its own.
func (j *job) unset(name string, container *corev1.Container, position func() place) {
	if _, provided, complete := j.variable(name); !provided && complete {
		where, fix := position(), j.variableFix(name, container)
		if where.hidden {
			fix = strings.Replace(fix, "Add "+name, "Add the variable", 1)
		}
		j.find(where, fix, effect{text: "the container " + container.Name + " has no such variable, so KEDA reads an empty value"})
	}
}

// variableFix names the container that has the variable, the variable that was meant, or those of the container.
func (j *job) variableFix(name string, container *corev1.Container) string {
	for _, other := range j.template.Template.Spec.Containers {
		if slices.ContainsFunc(other.Env, func(e corev1.EnvVar) bool { return e.Name == name }) {
			return fmt.Sprintf("Write spec.jobTargetRef.envSourceContainerName: %s, or give %s the variable", other.Name, container.Name)
		}
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(j.variablesOf())), func(name string) bool { return name == "" })
	near := j.near(name, names)
	switch {
	case near != "":
		return "Write " + near
	case len(names) == 0 || len(names) > maxNames || len(container.EnvFrom) > 0:
		return fmt.Sprintf("Add %s to the env of the container %s, or name a variable that it has", name, container.Name)
	}
	return fmt.Sprintf("Write a variable of the container %s: %s", container.Name, few(names))
}

func missingEnvironment(j *job) {
	container := j.envSource()
	if container == nil {
		return
	}
	for i, t := range j.spec.Triggers {
		for key, name := range t.Metadata {
			parameter, isName := strings.CutSuffix(key, "FromEnv")
			provide := j.input(i).Authentication
			elsewhere := provide != nil && provide(parameter).State != triggers.Absent
			if isName && name != "" && !elsewhere && !j.ignored(i, key) {
				j.unset(name, container, func() place { return j.variableName(i, key, name) })
			}
		}
	}
	environment := j.environmentID()
	for _, a := range j.authentications() {
		if !j.objects.first(a, "variables of "+environment) {
			continue
		}
		for i := range a.document.length("spec", "env") {
			first := j.objects.parameterPlace(a.document, a.document.text("spec", "env", i, "parameter"))
			isRead := len(first) < 2 || first[1] == "env" // a Secret has precedence
			if from := a.document.text("spec", "env", i, "containerName"); isRead && (from == "" || from == container.Name) {
				j.unset(a.document.text("spec", "env", i, "name"), container, func() place { return a.document.place("spec", "env", i, "name") })
			}
		}
	}
}

// variableName is the place of the name of a variable. It is not shown if it may be the credential itself.
func (j *job) variableName(trigger int, key, name string) place {
	position := j.trigger(trigger, "metadata", key)
	if triggers.IsCredential(strings.TrimSuffix(key, "FromEnv")) && name != strings.ToUpper(name) {
		position.found, position.hidden = "a hidden value", true
	}
	return position
}

// parameterLists are the lists of parameters in an authentication. The first that has a parameter counts.
var parameterLists = append([][]any{{"spec", "secretTargetRef"}, {"spec", "configMapTargetRef"}, {"spec", "env"}}, providers...)

// parameterPlaces are the items of these lists in a document.
func parameterPlaces(d *document) (places [][]any) {
	for _, list := range parameterLists {
		for i := range d.length(list...) {
			places = append(places, append(slices.Clone(list), i))
		}
	}
	return places
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
		if !j.objects.first(a, "parameters") {
			continue
		}
		var choices []string
		types, open := slices.Sorted(maps.Keys(j.objects.users[a.lookup.name])), false // of triggers in any document
		for _, name := range types {
			names, takesAll := triggers.AuthenticationParameters(name)
			choices, open = append(choices, names...), open || takesAll
		}
		slices.Sort(choices)
		choices = slices.Compact(choices)
		for _, item := range parameterPlaces(a.document) {
			steps := append(item, "parameter")
			name := a.document.text(steps...)
			if name == "" || open || slices.Contains(choices, name) {
				continue
			}
			fix := "Delete it"
			part := name[strings.LastIndex(name, ".")+1:] // of sasl.user
			longer := slices.DeleteFunc(slices.Clone(choices), func(choice string) bool { return len(part) < 4 || !strings.HasPrefix(choice, part) })
			if near := cmp.Or(nearest(name, choices), nearest(part, choices)); near != "" {
				fix = "Write " + near
			} else if len(longer) == 1 {
				fix = "Write " + longer[0]
			} else if len(choices) > 0 && len(choices) <= maxNames {
				fix = "Delete it, or write one that KEDA reads: " + strings.Join(choices, ", ")
			}
			j.find(a.document.place(steps...), fix, effect{text: fmt.Sprintf("%s takes no parameter of this name from a TriggerAuthentication, and KEDA ignores it", strings.Join(types, " and "))})
		}
	}
}

// nameMisspelled finds the name of an object if a document has a similar name.
func nameMisspelled(j *job) {
	check := func(kind, name string, steps ...any) {
		j.objects.nearest(j.lookup(kind, name), j.file) // it is used
		if name == "" || j.objects.named[[2]string{kind, name}] != nil {
			return
		}
		near := j.near(name, j.objects.names(kind, ""))
		j.check(near != "", j.place(j.pod(steps...)...), "Write "+near, fmt.Sprintf("no file defines this %s. Pods start only after it exists", kind))
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
