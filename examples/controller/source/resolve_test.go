package source_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/field"
)

func job(trigger scaledjob.ScaleTrigger, containers ...corev1.Container) *scaledjob.ScaledJob {
	s := &scaledjob.ScaledJob{ObjectMeta: metav1.ObjectMeta{Namespace: "mail", Name: "sender"}}
	s.Spec.Triggers = []scaledjob.ScaleTrigger{trigger}
	s.Spec.JobTargetRef = &batchv1.JobSpec{}
	s.Spec.JobTargetRef.Template.Spec.Containers = containers
	return s
}

// The host of KEDA's sample is a variable's name. What the container does not have
// is no name, and a variable that cannot be known is no host either.
func TestNamedVariable(t *testing.T) {
	client := fake.NewClientset(secret("mail", "s", values{"RabbitMqHost": "amqp://a:b@c/"}))
	for name, c := range map[string]struct {
		kind, key, text string
		from            corev1.EnvFromSource
		want            values // metadata; nil is an error
	}{
		"host":              {"rabbitmq", "host", "RabbitMqHost", secretEnv("", "s", false), values{"hostFromEnv": "RabbitMqHost"}},
		"address":           {"redis", "address", "RabbitMqHost", secretEnv("", "s", false), values{"addressFromEnv": "RabbitMqHost"}},
		"not a variable":    {"rabbitmq", "host", "Other", secretEnv("", "s", false), values{"host": "Other"}},
		"a URL":             {"rabbitmq", "host", "amqp://c/", secretEnv("", "gone", false), values{"host": "amqp://c/"}},
		"a name for others": {"redis", "host", "RabbitMqHost", secretEnv("", "s", false), values{"host": "RabbitMqHost"}},
		"unknown":           {"rabbitmq", "host", "RabbitMqHost", secretEnv("", "gone", false), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := job(scaledjob.ScaleTrigger{Type: c.kind, Metadata: values{c.key: c.text}}, corev1.Container{EnvFrom: []corev1.EnvFromSource{c.from}})
			p, err := (&source.Resolver{Client: client}).Resolve(t.Context(), s, 0)
			if c.want == nil {
				require.ErrorContains(t, err, "spec.triggers[0].metadata.host: variable RabbitMqHost: ")
				return
			}
			require.NoError(t, err)
			require.Equal(t, map[string]string(c.want), p.Metadata)
			require.Equal(t, c.text, s.Spec.Triggers[0].Metadata[c.key], "the ScaledJob is as it was")
		})
	}
}

// named is metadata that asks for the variables.
func named(variables ...string) values {
	m := values{}
	for _, v := range variables {
		m[v+"FromEnv"] = v
	}
	return m
}

func selector(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

func secretKey(name, key string, optional bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: selector(name), Key: key, Optional: &optional}}
}

func configMapKey(name, key string, optional bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: selector(name), Key: key, Optional: &optional}}
}

func secretEnv(prefix, name string, optional bool) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, SecretRef: &corev1.SecretEnvSource{LocalObjectReference: selector(name), Optional: &optional}}
}

func configMapEnv(prefix, name string, optional bool) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: selector(name), Optional: &optional}}
}

func TestEnvironment(t *testing.T) {
	client := fake.NewClientset(
		secret("mail", "s", values{"A": "secret", "PASS": password}),
		configMap("mail", "c", values{"A": "config", "B": "config"}),
		secret("other", "elsewhere", values{"A": "x"}))
	field := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}
	const unset = "(unset)"
	for name, c := range map[string]struct {
		env  []corev1.EnvVar
		from []corev1.EnvFromSource
		want string // of A, "" for an error
	}{
		"literal":                     {env: []corev1.EnvVar{{Name: "A", Value: "a"}}, want: "a"},
		"none":                        {want: unset},
		"empty":                       {env: []corev1.EnvVar{{Name: "A"}}, want: unset},
		"secret":                      {env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("s", "A", false)}}, want: "secret"},
		"config map":                  {env: []corev1.EnvVar{{Name: "A", ValueFrom: configMapKey("c", "A", false)}}, want: "config"},
		"no secret":                   {env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("gone", "A", false)}}},
		"another namespace":           {env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("elsewhere", "A", false)}}},
		"no key":                      {env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("s", "Z", false)}}},
		"no config map":               {env: []corev1.EnvVar{{Name: "A", ValueFrom: configMapKey("gone", "A", false)}}},
		"optional secret":             {env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("gone", "A", true)}}, want: unset},
		"optional key":                {env: []corev1.EnvVar{{Name: "A", ValueFrom: configMapKey("c", "Z", true)}}, want: unset},
		"optional over another":       {env: []corev1.EnvVar{{Name: "A", ValueFrom: configMapKey("c", "Z", true)}}, from: []corev1.EnvFromSource{secretEnv("", "s", false)}, want: "secret"},
		"field":                       {env: []corev1.EnvVar{{Name: "A", ValueFrom: field}}},
		"field elsewhere":             {env: []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "B", ValueFrom: field}}, want: "a"},
		"a reference to a field":      {env: []corev1.EnvVar{{Name: "B", ValueFrom: field}, {Name: "A", Value: "$(B):1"}}},
		"later over earlier":          {env: []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "A", Value: "b"}}, want: "b"},
		"envFrom":                     {from: []corev1.EnvFromSource{secretEnv("", "s", false)}, want: "secret"},
		"later envFrom":               {from: []corev1.EnvFromSource{secretEnv("", "s", false), configMapEnv("", "c", false)}, want: "config"},
		"prefix":                      {from: []corev1.EnvFromSource{secretEnv("", "s", false), configMapEnv("X", "c", false)}, want: "secret"},
		"env over envFrom":            {env: []corev1.EnvVar{{Name: "A", Value: "a"}}, from: []corev1.EnvFromSource{secretEnv("", "s", false)}, want: "a"},
		"no envFrom":                  {from: []corev1.EnvFromSource{configMapEnv("", "c", false), secretEnv("", "gone", false)}},
		"no envFrom, optional":        {from: []corev1.EnvFromSource{configMapEnv("", "c", false), secretEnv("", "gone", true)}, want: "config"},
		"no envFrom, and env":         {env: []corev1.EnvVar{{Name: "A", Value: "a"}}, from: []corev1.EnvFromSource{secretEnv("", "gone", false)}, want: "a"},
		"reference":                   {env: []corev1.EnvVar{{Name: "B", Value: "b"}, {Name: "A", Value: "<$(B)>"}}, want: "<b>"},
		"reference to envFrom":        {env: []corev1.EnvVar{{Name: "A", Value: "<$(B)>"}}, from: []corev1.EnvFromSource{configMapEnv("", "c", false)}, want: "<config>"},
		"reference to a later one":    {env: []corev1.EnvVar{{Name: "A", Value: "<$(B)>"}, {Name: "B", Value: "b"}}, want: "<$(B)>"},
		"escaped":                     {env: []corev1.EnvVar{{Name: "B", Value: "b"}, {Name: "A", Value: "$$(B) $$$(B)"}}, want: "$(B) $b"},
		"a dollar":                    {env: []corev1.EnvVar{{Name: "A", Value: "a$b$"}}, want: "a$b$"},
		"not closed":                  {env: []corev1.EnvVar{{Name: "A", Value: "a$(b"}}, want: "a$(b"},
		"a reference is not resolved": {env: []corev1.EnvVar{{Name: "C", Value: "$$(A)"}, {Name: "A", Value: "$(C)"}}, want: "$(A)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := job(scaledjob.ScaleTrigger{Type: "redis", Metadata: named("A")}, corev1.Container{Env: c.env, EnvFrom: c.from})
			p, err := (&source.Resolver{Client: client}).Resolve(t.Context(), s, 0)
			switch c.want {
			case "":
				require.ErrorContains(t, err, "spec.triggers[0].metadata.AFromEnv")
				require.NotContains(t, err.Error(), password)
			case unset:
				require.NoError(t, err)
				require.Empty(t, p.Env["A"])
			default:
				require.NoError(t, err)
				require.Equal(t, c.want, p.Env["A"])
			}
		})
	}
}

func TestEnvironmentOfContainer(t *testing.T) {
	first := corev1.Container{Name: "first", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}
	second := corev1.Container{Name: "second", Env: []corev1.EnvVar{{Name: "A", Value: "2"}}}
	s := job(scaledjob.ScaleTrigger{Metadata: named("A")}, first, second)
	var r source.Resolver
	for name, want := range map[string]string{"": "1", "first": "1", "second": "2"} {
		s.Spec.EnvSourceContainerName = name
		p, err := r.Resolve(t.Context(), s, 0)
		require.NoError(t, err)
		require.Equal(t, want, p.Env["A"])
	}
	s.Spec.EnvSourceContainerName = "third"
	_, err := r.Resolve(t.Context(), s, 0)
	require.ErrorContains(t, err, `"third"`)
	s.Spec.EnvSourceContainerName = ""
	s.Spec.JobTargetRef = nil
	_, err = r.Resolve(t.Context(), s, 0)
	require.Len(t, field.All(err), 1)
	s.Spec.Triggers[0].Metadata["A"] = "literal" // so that the variable is not needed
	_, err = r.Resolve(t.Context(), s, 0)
	require.NoError(t, err)
	_, err = r.Resolve(t.Context(), s, 1)
	require.Len(t, field.All(err), 1)
	_, err = r.Resolve(t.Context(), s, -1)
	require.Len(t, field.All(err), 1)
}

func TestUnreadableIsNotAbsent(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("no"))
	})
	s := job(scaledjob.ScaleTrigger{Metadata: named("A")}, corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("s", "A", true)}}})
	_, err := (&source.Resolver{Client: client}).Resolve(t.Context(), s, 0)
	var status *apierrors.StatusError
	require.ErrorAs(t, err, &status)
	require.True(t, apierrors.IsForbidden(status))
}

func kedaClient(objects ...*unstructured.Unstructured) dynamic.Interface {
	g := scaledjob.GroupVersionKind.GroupVersion()
	var all []runtime.Object
	for _, o := range objects {
		all = append(all, o)
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		g.WithResource("triggerauthentications"):        "TriggerAuthenticationList",
		g.WithResource("clustertriggerauthentications"): "ClusterTriggerAuthenticationList",
	}, all...)
}

func keda(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(scaledjob.GroupVersionKind.GroupVersion().WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func target(parameter, name, key string) []any {
	return []any{map[string]any{"parameter": parameter, "name": name, "key": key}}
}

func TestAuthentication(t *testing.T) {
	r := source.Resolver{
		Client: fake.NewClientset(
			secret("mail", "s", values{"password": password}), configMap("mail", "c", values{"user": "u"}),
			secret("keda", "s", values{"password": "of keda"}), secret("system", "s", values{"password": "of system"})),
		Dynamic: kedaClient(
			keda("TriggerAuthentication", "mail", "all", map[string]any{
				"podIdentity":        map[string]any{"provider": "none"},
				"secretTargetRef":    target("password", "s", "password"),
				"configMapTargetRef": target("username", "c", "user"),
				"env": []any{
					map[string]any{"parameter": "host", "name": "HOST"},
					map[string]any{"parameter": "port", "name": "HOST", "containerName": "second"},
					map[string]any{"parameter": "password", "name": "HOST"},
				},
			}),
			keda("TriggerAuthentication", "mail", "vault", map[string]any{"hashiCorpVault": map[string]any{"address": "x"}, "podIdentity": map[string]any{"provider": "aws"}, "secretTargetRef": target("password", "s", "password")}),
			keda("TriggerAuthentication", "mail", "gone", map[string]any{"secretTargetRef": append(target("password", "gone", "a"), target("username", "s", "gone")...)}),
			keda("TriggerAuthentication", "mail", "odd", map[string]any{"secretTargetRef": "s"}),
			keda("TriggerAuthentication", "other", "elsewhere", map[string]any{}),
			keda("ClusterTriggerAuthentication", "", "cluster", map[string]any{"secretTargetRef": target("password", "s", "password")}),
		),
	}
	first := corev1.Container{Name: "first", Env: []corev1.EnvVar{{Name: "HOST", Value: "h1"}}}
	second := corev1.Container{Name: "second", Env: []corev1.EnvVar{{Name: "HOST", Value: "h2"}}}
	resolve := func(r source.Resolver, ref scaledjob.AuthenticationRef) (source.Params, error) {
		return r.Resolve(t.Context(), job(scaledjob.ScaleTrigger{Type: "redis", Metadata: values{"a": "b"}, AuthenticationRef: &ref}, first, second), 0)
	}

	p, err := resolve(r, scaledjob.AuthenticationRef{Name: "all"})
	require.NoError(t, err)
	require.Equal(t, source.Params{Type: "redis", Namespace: "mail", Metadata: values{"a": "b"},
		Authentication: values{"password": password, "username": "u", "host": "h1", "port": "h2"}}, p)

	cluster := scaledjob.AuthenticationRef{Name: "cluster", Kind: "ClusterTriggerAuthentication"}
	p, err = resolve(r, cluster)
	require.NoError(t, err)
	require.Equal(t, "of keda", p.Authentication["password"])
	system := r
	system.ClusterNamespace = "system"
	p, err = resolve(system, cluster)
	require.NoError(t, err)
	require.Equal(t, "of system", p.Authentication["password"])

	for name, c := range map[string]struct {
		ref   scaledjob.AuthenticationRef
		wants []string
	}{
		"providers":         {scaledjob.AuthenticationRef{Name: "vault"}, []string{"TriggerAuthentication vault: spec.hashiCorpVault", "TriggerAuthentication vault: spec.podIdentity"}},
		"no secret, no key": {scaledjob.AuthenticationRef{Name: "gone"}, []string{"authenticationRef: parameter password: Secret mail/gone", `parameter username: Secret mail/s: key "gone"`}},
		"not a list":        {scaledjob.AuthenticationRef{Name: "odd"}, []string{"TriggerAuthentication odd"}},
		"another namespace": {scaledjob.AuthenticationRef{Name: "elsewhere"}, []string{"TriggerAuthentication elsewhere", "not found"}},
		"kind":              {scaledjob.AuthenticationRef{Name: "all", Kind: "Secret"}, []string{"spec.triggers[0].authenticationRef.kind"}},
		"no name":           {scaledjob.AuthenticationRef{}, []string{"spec.triggers[0].authenticationRef.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolve(r, c.ref)
			require.Error(t, err)
			require.Empty(t, p)
			for _, want := range c.wants {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), password)
		})
	}
	r.Dynamic = nil
	_, err = resolve(r, scaledjob.AuthenticationRef{Name: "all"})
	require.ErrorContains(t, err, "Dynamic")
}

func TestResolveLeavesTheScaledJobAlone(t *testing.T) {
	m := values{"a": "b"}
	s := job(scaledjob.ScaleTrigger{Metadata: m})
	p, err := (&source.Resolver{}).Resolve(t.Context(), s, 0)
	require.NoError(t, err)
	p.Metadata["a"] = "changed"
	require.True(t, maps.Equal(values{"a": "b"}, m))
}
