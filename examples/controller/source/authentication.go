package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
)

// A Resolver reads the objects of the cluster that a trigger uses: the Secrets and
// ConfigMaps of a container's environment, and TriggerAuthentications. Dynamic may be nil
// if no trigger has an authenticationRef, and Client if no trigger needs the cluster.
type Resolver struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// ClusterNamespace has the Secrets and ConfigMaps of
	// ClusterTriggerAuthentications: KEDA's own namespace, "keda" if it is empty.
	ClusterNamespace string
}

// Resolve returns trigger index of s with the current values of its parameters. After a
// change of a Secret, call Resolve and Open again. The error joins all problems: a
// [*field.Error] for each field, and the errors of the API server.
func (r *Resolver) Resolve(ctx context.Context, s *scaledjob.ScaledJob, index int) (Params, error) {
	if index < 0 || index >= len(s.Spec.Triggers) {
		return Params{}, &field.Error{Path: fmt.Sprintf("spec.triggers[%d]", index), Found: "nothing", Fix: fmt.Sprintf("one of %d triggers", len(s.Spec.Triggers))}
	}
	t := s.Spec.Triggers[index]
	l := lookup{resolver: r, job: s, params: Params{Type: t.Type, Index: index, Namespace: s.Namespace, Metadata: maps.Clone(t.Metadata)}}
	l.named(ctx)
	l.variables(ctx)
	if t.AuthenticationRef != nil {
		l.authentication(ctx, *t.AuthenticationRef)
	}
	if len(l.problems) > 0 {
		return Params{}, errors.Join(l.problems...)
	}
	return l.params, nil
}

// A lookup resolves a trigger.
type lookup struct {
	resolver *Resolver
	job      *scaledjob.ScaledJob
	params   Params
	problems []error
	known    map[string]variables // by container
}

func (l *lookup) failed(path string, err error) {
	if field.All(err) == nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	l.problems = append(l.problems, err)
}

// namesVariable are the parameters whose value may itself be the name of a variable, as in
// KEDA 1 and in KEDA's samples.
var namesVariable = map[string]string{"rabbitmq": "host", "redis": "address"}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// named replaces a value that is the name of a variable by its FromEnv form.
func (l *lookup) named(ctx context.Context) {
	key := namesVariable[l.params.Type]
	name := strings.TrimSpace(l.params.Metadata[key])
	if key == "" || !variableName.MatchString(name) {
		return
	}
	switch value, err := l.variable(ctx, "", name); {
	case err != nil:
		l.failed(l.params.path()+".metadata."+key, err)
	case value != "":
		delete(l.params.Metadata, key)
		l.params.Metadata[key+fromEnv] = name
	}
}

// variables resolves the variables that the metadata names. [Open] reports a variable that
// is not set, because it knows whether the parameter is required.
func (l *lookup) variables(ctx context.Context) {
	for _, key := range slices.Sorted(maps.Keys(l.params.Metadata)) {
		name := l.params.Metadata[key]
		parameter, ok := strings.CutSuffix(key, fromEnv)
		if !ok || name == "" || strings.TrimSpace(l.params.Metadata[parameter]) != "" {
			continue
		}
		value, err := l.variable(ctx, "", name)
		if err != nil {
			l.failed(l.params.path()+".metadata."+key, err)
			continue
		}
		if l.params.Env == nil {
			l.params.Env = map[string]string{}
		}
		l.params.Env[name] = value
	}
}

// variable returns a variable of the named container, or "" if it is not set. The default
// container is that of spec.envSourceContainerName, or else the first.
func (l *lookup) variable(ctx context.Context, in, name string) (string, error) {
	if in == "" {
		in = l.job.Spec.EnvSourceContainerName
	}
	if _, ok := l.known[in]; !ok {
		c, err := container(l.job, in)
		if err != nil {
			return "", err
		}
		if l.known == nil {
			l.known = map[string]variables{}
		}
		l.known[in] = objects{l.resolver.Client, l.job.Namespace}.environment(ctx, c)
	}
	value, err := l.known[in].value(name)
	if err != nil {
		return "", fmt.Errorf("variable %s: %w", name, err)
	}
	return value, nil
}

var kinds = map[string]schema.GroupVersionResource{
	"TriggerAuthentication":        scaledjob.GroupVersionKind.GroupVersion().WithResource("triggerauthentications"),
	"ClusterTriggerAuthentication": scaledjob.GroupVersionKind.GroupVersion().WithResource("clustertriggerauthentications"),
}

// A triggerAuthentication holds the fields of KEDA's resource that are read.
type triggerAuthentication struct {
	Env                []authenticationVariable `json:"env"`
	ConfigMapTargetRef []authenticationTarget   `json:"configMapTargetRef"`
	SecretTargetRef    []authenticationTarget   `json:"secretTargetRef"`
}

type authenticationVariable struct {
	Parameter     string `json:"parameter"`
	Name          string `json:"name"`
	ContainerName string `json:"containerName"`
}

type authenticationTarget struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Key       string `json:"key"`
}

// authentication adds the parameters of the TriggerAuthentication. Secrets take precedence
// over ConfigMaps, and both over the environment.
func (l *lookup) authentication(ctx context.Context, ref scaledjob.AuthenticationRef) {
	path := l.params.path() + ".authenticationRef"
	kind := cmp.Or(ref.Kind, "TriggerAuthentication")
	if _, ok := kinds[kind]; !ok {
		l.failed(path, &field.Error{Path: path + ".kind", Found: fmt.Sprintf("%q", kind), Fix: strings.Join(slices.Sorted(maps.Keys(kinds)), " or ")})
		return
	}
	if ref.Name == "" {
		l.failed(path, &field.Error{Path: path + ".name", Found: "nothing", Fix: "the name of a " + kind})
		return
	}
	l.params.Authentication = map[string]string{}
	spec, err := l.triggerAuthentication(ctx, kind, ref.Name)
	if err != nil {
		l.failed(path, err)
		return
	}
	for _, v := range spec.Env {
		value, err := l.variable(ctx, v.ContainerName, v.Name)
		l.parameter(path, v.Parameter, value, err)
	}
	in := objects{l.resolver.Client, l.job.Namespace}
	if kind != "TriggerAuthentication" {
		in.namespace = cmp.Or(l.resolver.ClusterNamespace, "keda")
	}
	for _, t := range spec.ConfigMapTargetRef {
		value, err := in.value(ctx, "ConfigMap", t.Name, t.Key)
		l.parameter(path, t.Parameter, value, err)
	}
	for _, t := range spec.SecretTargetRef {
		value, err := in.value(ctx, "Secret", t.Name, t.Key)
		l.parameter(path, t.Parameter, value, err)
	}
}

func (l *lookup) parameter(path, name, value string, err error) {
	if err != nil {
		l.failed(path+": parameter "+name, err)
		return
	}
	l.params.Authentication[name] = value
}

// triggerAuthentication reads the resource. An unknown provider is an error: without its
// values a trigger would send requests without credentials.
func (l *lookup) triggerAuthentication(ctx context.Context, kind, name string) (a triggerAuthentication, err error) {
	if l.resolver.Dynamic == nil {
		return a, errors.New("the Resolver has no Dynamic client to read it")
	}
	var of dynamic.ResourceInterface = l.resolver.Dynamic.Resource(kinds[kind])
	if kind == "TriggerAuthentication" {
		of = l.resolver.Dynamic.Resource(kinds[kind]).Namespace(l.job.Namespace)
	}
	object, err := of.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return a, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	spec, _ := object.Object["spec"].(map[string]any)
	if err := providers(kind+" "+name, spec); err != nil {
		return a, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &a); err != nil {
		return a, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return a, nil
}

// providers is an error for each that is not known here.
func providers(of string, spec map[string]any) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		identity, _ := spec[key].(map[string]any)
		switch {
		case slices.Contains([]string{"env", "configMapTargetRef", "secretTargetRef"}, key), spec[key] == nil:
		case key == "podIdentity" && identity["provider"] == "none":
		default:
			problems = append(problems, &field.Error{Path: of + ": spec." + key, Found: "a provider that is not supported",
				Fix: "secretTargetRef, configMapTargetRef or env"})
		}
	}
	return errors.Join(problems...)
}
