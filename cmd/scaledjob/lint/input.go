package lint

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// input is a trigger with all that its scaler can read of the documents.
func (j *job) input(trigger int) triggers.Input {
	t := j.spec.Triggers[trigger]
	in := triggers.Input{Metadata: t.Metadata, Environment: j.environment}
	if t.AuthenticationRef == nil {
		return in
	}
	in.AnyIdentity = true
	in.Authentication = func(string) triggers.Value { return triggers.Value{State: triggers.Maybe} }
	authentications := j.authentications()
	i, found := slices.BinarySearchFunc(authentications, trigger, func(a authentication, trigger int) int { return a.trigger - trigger })
	if found && authentications[i].document != nil {
		in.AnyIdentity, in.PodIdentity = false, authentications[i].document.text("spec", "podIdentity", "provider")
		in.Authentication = func(parameter string) triggers.Value { return j.parameter(authentications[i], parameter) }
	}
	return in
}

// environment returns the value of a variable of the container that KEDA reads. A variable
// that is missing is a finding of another rule, and here may have a value.
func (j *job) environment(name string) triggers.Value {
	v, _, _ := j.variable(name)
	v.Secret = true // it may hold one
	return v
}

// variable returns the value of a variable of the container that KEDA reads, whether KEDA can read it,
// and whether all documents are given that may have it.
func (j *job) variable(name string) (v triggers.Value, provided, complete bool) {
	maybe := triggers.Value{State: triggers.Maybe}
	container := j.envSource()
	if container == nil {
		return maybe, false, false
	}
	if env := j.variablesOf()[name]; env != nil {
		// The rest is known only when a pod runs.
		from := env.ValueFrom
		return j.variableValue(env), from == nil || from.SecretKeyRef != nil || from.ConfigMapKeyRef != nil, true
	}
	sources := j.sources()
	key, found := sources.keys[name]
	switch {
	case !found:
		return maybe, false, sources.absent < 0
	case sources.absent > key.source:
		return maybe, true, true
	}
	return j.keyValue(j.file, key.kind, key.namespace, key.lookup.name, key.name), true, true
}

// A sourceKey is a key of an object of envFrom.
type sourceKey struct {
	lookup
	source int // of envFrom
	name   string
}

// sources are the variables of a container's envFrom.
type sources struct {
	keys   map[string]sourceKey // by variable; a later source overwrites the others
	absent int                  // the last source that is not given; -1 if all are
}

// findSources returns the sources of the container that KEDA reads.
func (j *job) findSources() sources {
	found := sources{map[string]sourceKey{}, -1}
	for i, from := range j.envSource().EnvFrom {
		var l lookup
		switch {
		case from.ConfigMapRef != nil:
			l = j.lookup("ConfigMap", from.ConfigMapRef.Name)
		case from.SecretRef != nil:
			l = j.lookup("Secret", from.SecretRef.Name)
		default:
			continue
		}
		near := j.objects.nearest(l, j.file)
		if len(near) != 1 || near[0].kind() != l.kind {
			found.absent = i
			continue
		}
		for _, key := range near[0].keysOf() {
			found.keys[from.Prefix+key] = sourceKey{l, i, key}
		}
	}
	return found
}

// environmentID is the same for containers with the same variables.
func (j *job) environmentID() string {
	container := j.envSource()
	from, _ := json.Marshal(container.EnvFrom)
	return fmt.Sprintf("%s %s %s %s %v", container.Name, from, j.manifest.Namespace, directory(j.file), slices.Sorted(maps.Keys(j.variablesOf())))
}

// findVariables returns the variables of the container that KEDA reads. The last of a name overwrites the others.
func (j *job) findVariables() map[string]*corev1.EnvVar {
	variables, container := map[string]*corev1.EnvVar{}, j.envSource()
	if container == nil {
		return variables
	}
	for i := range container.Env {
		variables[container.Env[i].Name] = &container.Env[i]
	}
	return variables
}

func (j *job) variableValue(env *corev1.EnvVar) triggers.Value {
	switch from := env.ValueFrom; {
	case from == nil && strings.Contains(env.Value, "$("):
		return triggers.Value{State: triggers.Hidden} // KEDA inserts other variables
	case from == nil:
		v := literalOrHidden(env.Value)
		v.Plain = true
		return v
	case from.SecretKeyRef != nil:
		return j.keyValue(j.file, "Secret", j.manifest.Namespace, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.ConfigMapKeyRef != nil:
		return j.keyValue(j.file, "ConfigMap", j.manifest.Namespace, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	}
	return triggers.Value{State: triggers.Maybe}
}

// encrypted is the field that SOPS adds to an object. It decrypts the object and deletes the
// field before the API server reads it.
const encrypted = "sops"

// substituted matches texts that a tool replaces before the API server reads them: SOPS,
// 1Password, vals, Vault's injectors, envsubst, templates and argocd-vault-plugin.
var substituted = regexp.MustCompile(`^(ENC\[|op://|ref\+|vault:)|\$\{|\{\{|<[^>]+>`)

// literalOrHidden returns the value that a text stands for, which is hidden if a tool replaces it.
func literalOrHidden(text string) triggers.Value {
	v := triggers.Literal(text)
	if substituted.MatchString(v.Text) {
		return triggers.Value{State: triggers.Hidden}
	}
	return v
}

// keyValue returns the value of a key of a Secret or ConfigMap. A missing key is a finding of
// another rule, and here may have a value. If several objects are equally near, it is a value that all have.
func (j *job) keyValue(file, kind, namespace, name, key string) (v triggers.Value) {
	near := j.objects.nearest(lookup{kind, namespace, name}, file)
	v = triggers.Value{State: triggers.Maybe}
	for i, d := range near {
		candidate := triggers.Value{State: triggers.Maybe}
		if d.kind() == kind && key != "" {
			candidate = d.value(key)
		}
		if i > 0 && candidate != v {
			v = triggers.Value{State: triggers.Hidden}
			break
		}
		v = candidate
	}
	v.Secret, v.Plain = kind == "Secret", kind == "ConfigMap"
	return v
}

// value returns the value of a key of a Secret or ConfigMap.
func (d *document) value(key string) triggers.Value {
	maybe, kind := triggers.Value{State: triggers.Maybe}, d.kind()
	if d.node(encrypted) != nil {
		return triggers.Value{State: triggers.Hidden}
	}
	if n := d.node("stringData", key); kind == "Secret" && n != nil && n.Kind == yaml.ScalarNode {
		return literalOrHidden(n.Value)
	}
	n := d.node("data", key)
	if n == nil || n.Kind != yaml.ScalarNode {
		return maybe
	}
	if kind == "ConfigMap" {
		return literalOrHidden(n.Value)
	}
	text, err := base64.StdEncoding.DecodeString(n.Value)
	if err != nil || len(text) == 0 {
		return triggers.Value{State: triggers.Hidden} // a placeholder
	}
	return literalOrHidden(string(text))
}

// providers are the lists of a TriggerAuthentication that provide parameters, except the
// lists of Secrets, ConfigMaps and the environment.
var providers = [][]any{
	{"spec", "hashiCorpVault", "secrets"}, {"spec", "azureKeyVault", "secrets"}, {"spec", "gcpSecretManager", "secrets"},
	{"spec", "awsSecretManager", "secrets"}, {"spec", "boundServiceAccountToken"},
}

// derived are the parameters that KEDA makes from a field of a TriggerAuthentication.
var derived = map[string][]string{
	"oauth2":                {"oauthTokenURI", "clientID", "clientSecret", "scopes", "endpointParams"},
	"azureServicePrincipal": {"azureServicePrincipal"},
}

// parameter returns a parameter that a TriggerAuthentication gives.
func (j *job) parameter(a authentication, name string) triggers.Value {
	namespace, _ := j.namespaceOf(a)
	d := a.document
	if d.text("spec", "filePath") != "" {
		return triggers.Value{State: triggers.Maybe}
	}
	for field, names := range derived {
		if d.node("spec", field) != nil && slices.Contains(names, name) {
			return triggers.Value{State: triggers.Hidden}
		}
	}
	path := tree.Path(j.objects.parameterPlace(d, name))
	if path == nil {
		return triggers.Value{}
	}
	object, key := d.text(path.Step("name")...), d.text(path.Step("key")...)
	switch {
	case path[1] == "secretTargetRef":
		return j.keyValue(d.file, "Secret", namespace, object, key)
	case path[1] == "configMapTargetRef":
		return j.keyValue(d.file, "ConfigMap", namespace, object, key)
	case path[1] != "env":
		return triggers.Value{State: triggers.Hidden}
	case d.text(path.Step("containerName")...) != "":
		return triggers.Value{State: triggers.Maybe}
	}
	return j.environment(object)
}
