package lint

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
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
	all := j.authentications()
	i, found := slices.BinarySearchFunc(all, trigger, func(a authentication, trigger int) int { return a.trigger - trigger })
	if found && all[i].document != nil {
		in.AnyIdentity, in.PodIdentity = false, all[i].document.text("spec", "podIdentity", "provider")
		in.Authentication = func(parameter string) triggers.Value { return j.parameter(all[i], parameter) }
	}
	return in
}

// environment returns the value of a variable of the container that KEDA reads. A variable
// that is missing is a finding of another rule, and here may have a value.
func (j *job) environment(name string) triggers.Value {
	v, _, _ := j.variable(name)
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
	complete = true
	for _, from := range container.EnvFrom {
		kind, of := "", ""
		switch {
		case from.ConfigMapRef != nil:
			kind, of = "ConfigMap", from.ConfigMapRef.Name
		case from.SecretRef != nil:
			kind, of = "Secret", from.SecretRef.Name
		default:
			continue
		}
		d, _ := j.all.find(j.lookup(kind, of))
		if d == nil {
			complete = false
			continue
		}
		key, ok := strings.CutPrefix(name, from.Prefix)
		found, known := d.holds(key)
		complete = complete && known
		if ok && known && found {
			return j.keyValue(kind, j.manifest.Namespace, of, key), true, true
		}
	}
	return maybe, false, complete
}

// findVariables returns the variables of the container that KEDA reads, the first of each name.
func (j *job) findVariables() map[string]*corev1.EnvVar {
	all, container := map[string]*corev1.EnvVar{}, j.envSource()
	if container == nil {
		return all
	}
	for i := range slices.Backward(container.Env) {
		all[container.Env[i].Name] = &container.Env[i]
	}
	return all
}

func (j *job) variableValue(env *corev1.EnvVar) triggers.Value {
	switch from := env.ValueFrom; {
	case from == nil && strings.Contains(env.Value, "$("):
		return triggers.Value{State: triggers.Given} // KEDA inserts other variables
	case from == nil:
		return literal(env.Value)
	case from.SecretKeyRef != nil:
		return j.keyValue("Secret", j.manifest.Namespace, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.ConfigMapKeyRef != nil:
		return j.keyValue("ConfigMap", j.manifest.Namespace, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	}
	return triggers.Value{State: triggers.Maybe}
}

// encrypted is the field that SOPS adds to an object. It decrypts the object and deletes the
// field before the API server reads it.
const encrypted = "sops"

// substituted matches texts that a tool replaces before the API server reads them: SOPS,
// 1Password, vals, Vault's injectors, envsubst, templates and argocd-vault-plugin.
var substituted = regexp.MustCompile(`^(ENC\[|op://|ref\+|vault:)|\$\{|\{\{|<[^>]+>`)

func literal(text string) triggers.Value {
	switch {
	case strings.TrimSpace(text) == "":
		return triggers.Value{}
	case substituted.MatchString(strings.TrimSpace(text)):
		return triggers.Value{State: triggers.Given}
	}
	return triggers.Value{State: triggers.Known, Text: strings.TrimSpace(text)}
}

// keyValue returns the value of a key of a Secret or ConfigMap. A missing key is a finding of
// another rule, and here may have a value.
func (j *job) keyValue(kind, namespace, name, key string) triggers.Value {
	maybe := triggers.Value{State: triggers.Maybe}
	d, _ := j.all.find(lookup{kind, namespace, name})
	if d == nil || d.kind() != kind || key == "" {
		return maybe
	}
	if d.node(encrypted) != nil {
		return triggers.Value{State: triggers.Given}
	}
	if n := d.node("stringData", key); kind == "Secret" && n != nil && n.Kind == yaml.ScalarNode {
		return literal(n.Value)
	}
	n := d.node("data", key)
	if n == nil || n.Kind != yaml.ScalarNode {
		return maybe
	}
	if kind == "ConfigMap" {
		return literal(n.Value)
	}
	text, err := base64.StdEncoding.DecodeString(n.Value)
	if err != nil || len(text) == 0 {
		return triggers.Value{State: triggers.Given} // a placeholder
	}
	return literal(string(text))
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
			return triggers.Value{State: triggers.Given}
		}
	}
	at := tree.Path(j.all.parameterPlace(d, name))
	if at == nil {
		return triggers.Value{}
	}
	object, key := d.text(at.With("name")...), d.text(at.With("key")...)
	switch {
	case at[1] == "secretTargetRef":
		return j.keyValue("Secret", namespace, object, key)
	case at[1] == "configMapTargetRef":
		return j.keyValue("ConfigMap", namespace, object, key)
	case at[1] != "env":
		return triggers.Value{State: triggers.Given}
	case d.text(at.With("containerName")...) != "":
		return triggers.Value{State: triggers.Maybe}
	}
	return j.environment(object)
}
