package source_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/examples/controller/source"
)

func secret(namespace, name string, data values) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func configMap(namespace, name string, data values) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestResource(t *testing.T) {
	data := values{
		"number": " 7\n", "fraction": "1.5", "quantity": "2k", "text": password, "negative": "-1", "nan": "NaN", "trailing": "7 jobs", "empty": "",
		"json": `{"a":{"n":7,"q":"2k","f":1.5,"l":[3,4],"b":true,"t":"` + password + `","null":null}}`,
		"yaml": "a:\n  n: 7\n  q: 2k\n  l: [3, 4]\n", "broken": "{",
	}
	client := fake.NewClientset(configMap("mail", "queue", data), secret("mail", "queue", data), configMap("other", "elsewhere", data))
	const failure = -1
	for name, c := range map[string]struct {
		metadata values
		want     float64
	}{
		"number":             {values{"key": "number"}, 7},
		"fraction":           {values{"key": "fraction"}, 1.5},
		"int64":              {values{"key": "number", "valueType": "int64"}, 7},
		"quantity":           {values{"key": "quantity", "valueType": "quantity"}, 2000},
		"json":               {values{"key": "json", "format": "json", "valueLocation": "a.n"}, 7},
		"json, int64":        {values{"key": "json", "format": "json", "valueLocation": "a.n", "valueType": "int64"}, 7},
		"json, quantity":     {values{"key": "json", "format": "json", "valueLocation": "a.q"}, 2000},
		"json, length":       {values{"key": "json", "format": "json", "valueLocation": "a.l.#"}, 2},
		"yaml":               {values{"key": "yaml", "format": "yaml", "valueLocation": "a.l.1"}, 4},
		"yaml, quantity":     {values{"key": "yaml", "format": "yaml", "valueLocation": "a.q", "valueType": "quantity"}, 2000},
		"no object":          {values{"key": "number", "resourceName": "gone"}, failure},
		"another namespace":  {values{"key": "number", "resourceName": "elsewhere"}, failure},
		"no key":             {values{"key": "gone"}, failure},
		"text":               {values{"key": "text"}, failure},
		"negative":           {values{"key": "negative"}, failure},
		"NaN":                {values{"key": "nan"}, failure},
		"trailing":           {values{"key": "trailing"}, failure},
		"empty":              {values{"key": "empty"}, failure},
		"not whole":          {values{"key": "fraction", "valueType": "int64"}, failure},
		"not a quantity":     {values{"key": "text", "valueType": "quantity"}, failure},
		"json, nowhere":      {values{"key": "json", "format": "json", "valueLocation": "a.z"}, failure},
		"json, null":         {values{"key": "json", "format": "json", "valueLocation": "a.null"}, failure},
		"json, boolean":      {values{"key": "json", "format": "json", "valueLocation": "a.b"}, failure},
		"json, text":         {values{"key": "json", "format": "json", "valueLocation": "a.t"}, failure},
		"json, text, int64":  {values{"key": "json", "format": "json", "valueLocation": "a.q", "valueType": "int64"}, failure},
		"json, not whole":    {values{"key": "json", "format": "json", "valueLocation": "a.f", "valueType": "int64"}, failure},
		"json, broken":       {values{"key": "broken", "format": "json", "valueLocation": "a"}, failure},
		"yaml, broken":       {values{"key": "broken", "format": "yaml", "valueLocation": "a"}, failure},
		"yaml, not a number": {values{"key": "yaml", "format": "yaml", "valueLocation": "a"}, failure},
	} {
		for _, kind := range []string{"ConfigMap", "Secret"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				m := values{"resourceKind": kind, "resourceName": "queue", "targetValue": "1"}
				maps.Copy(m, c.metadata)
				q, err := source.Open(source.Params{Type: "kubernetes-resource", Namespace: "mail", Metadata: m}, client)
				require.NoError(t, err)
				require.NoError(t, source.Close(q))
				if c.want == failure {
					fails(t, t.Context(), q)
					return
				}
				reads(t, q, c.want)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, fails(t, ctx, q), context.Canceled)
			})
		}
	}
	q, err := source.Open(source.Params{Type: "kubernetes-resource", Metadata: values{"resourceKind": "Secret", "resourceName": "a", "key": "b"}}, nil)
	require.NoError(t, err)
	require.ErrorContains(t, fails(t, t.Context(), q), "client")
}

func TestResourceRefuses(t *testing.T) {
	m := func(more values) values {
		v := values{"resourceKind": "Secret", "resourceName": "a", "key": "b"}
		maps.Copy(v, more)
		return v
	}
	refuses(t, "kubernetes-resource", map[string]bad{
		"nothing":     {paths: []string{"metadata.resourceKind", "metadata.resourceName", "metadata.key"}},
		"enums":       {metadata: m(values{"resourceKind": "Pod", "format": "number", "valueType": "int"}), paths: []string{"metadata.resourceKind", "metadata.valueType"}},
		"format":      {metadata: m(values{"format": "xml", "valueLocation": "a"}), paths: []string{"metadata.format"}},
		"no location": {metadata: m(values{"format": "json"}), paths: []string{"metadata.valueLocation"}},
		"a location":  {metadata: m(values{"valueLocation": "a"}), paths: []string{"metadata.valueLocation"}},
	})
}
