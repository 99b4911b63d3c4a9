package member_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/testdata"
)

// The cases of testdata/multicluster.json about pod overrides.
func TestMerge(t *testing.T) {
	data, err := testdata.Files.ReadFile("multicluster.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name, Src    string
			Base, Expect corev1.PodSpec
			Override     member.PodOverrides
			Warnings     []string
		} `json:"pod_overrides"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Cases, 12)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var told []string
			for _, w := range merges(t, &c.Override, &c.Base, &c.Expect) {
				told = append(told, w.Path+": "+w.Found)
			}
			require.Equal(t, c.Warnings, told)
		})
	}
}

// merges checks the merged pod, and returns the warnings. Neither argument is modified or shares memory
// with it, and the same overrides again change nothing.
func merges(t *testing.T, o *member.PodOverrides, base, want *corev1.PodSpec) []*field.Error {
	t.Helper()
	text := func() string {
		data, err := json.Marshal([]any{o, base})
		require.NoError(t, err)
		return string(data)
	}
	before := text()
	got, warnings := o.Merge(base)
	require.Equal(t, want, got)
	again, _ := o.Merge(got)
	require.Equal(t, want, again)
	scribble(got)
	require.Equal(t, before, text())
	return warnings
}

func TestOverridesEdges(t *testing.T) {
	base := &corev1.PodSpec{
		Affinity:    &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
		Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "a"}},
		Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}, Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"cpu": resource.MustParse("100m")},
			Claims: []corev1.ResourceClaim{{Name: "gpu"}},
		}}},
	}
	require.Empty(t, merges(t, &member.PodOverrides{}, base, base.DeepCopy()))
	for _, tt := range []struct {
		name, override string
		want           func(*corev1.PodSpec)
		warnings       []string
	}{
		{"an empty affinity removes", `affinity: {}`, func(p *corev1.PodSpec) { p.Affinity = &corev1.Affinity{} }, nil},
		{"a request above the limit", `containerOverrides: {c: {resources: {requests: {cpu: 200m}}}}`,
			func(p *corev1.PodSpec) {
				p.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("200m")}
			}, []string{"containerOverrides[c].resources.requests[cpu]: found 200m; use at most the limit, which is 100m"}},
		{"no such container", `containerOverrides: {x: {image: i}}`, func(*corev1.PodSpec) {},
			[]string{"containerOverrides[x]: found no such container; use one of c"}},
		{"no claims", `containerOverrides: {c: {resources: {claims: []}}}`,
			func(p *corev1.PodSpec) { p.Containers[0].Resources.Claims = []corev1.ResourceClaim{} }, nil},
		{"twice in the base", `{tolerations: [{key: b}], containerOverrides: {c: {env: [{name: B}]}}}`,
			func(p *corev1.PodSpec) {
				p.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
				p.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "2"}, {Name: "B"}}
			}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o member.PodOverrides
			require.NoError(t, yaml.UnmarshalStrict([]byte(tt.override), &o))
			want := base.DeepCopy()
			tt.want(want)
			var told []string
			for _, w := range merges(t, &o, base, want) {
				told = append(told, w.Error())
			}
			require.Equal(t, tt.warnings, told)
		})
	}
}

// An empty list of claims survives being written and read.
func TestClaimsRoundTrip(t *testing.T) {
	for _, text := range []string{`{}`, `{"claims":[]}`, `{"claims":[{"name":"gpu"}]}`} {
		var r member.Resources
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		data, err := json.Marshal(r)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}

// scribble changes all that could be shared.
func scribble(p *corev1.PodSpec) {
	for key := range p.NodeSelector {
		p.NodeSelector[key] = "x"
	}
	for i := range p.Tolerations {
		p.Tolerations[i].Key = "x"
		if s := p.Tolerations[i].TolerationSeconds; s != nil {
			*s = -1
		}
	}
	if p.Affinity != nil {
		p.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		for j := range c.Env {
			c.Env[j].Value = "x"
		}
		for name := range c.Resources.Requests {
			delete(c.Resources.Requests, name)
		}
		for name := range c.Resources.Limits {
			delete(c.Resources.Limits, name)
		}
		for j := range c.Resources.Claims {
			c.Resources.Claims[j].Name = "x"
		}
	}
}

// What is different about the pods of one member.
func ExamplePodOverrides_Merge() {
	base := &corev1.PodSpec{Containers: []corev1.Container{{Name: "processor", Image: "myapp:latest"}}}
	var o member.PodOverrides
	err := yaml.UnmarshalStrict([]byte(`
nodeSelector: {nodepool: gpu}
containerOverrides:
  processor: {image: "my-registry.local/processor:v2"}
  procesor: {image: "misspelled"}
`), &o)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod, warnings := o.Merge(base)
	fmt.Println(pod.NodeSelector, pod.Containers[0].Image)
	for _, w := range warnings {
		fmt.Println(w)
	}
	// Output:
	// map[nodepool:gpu] my-registry.local/processor:v2
	// containerOverrides[procesor]: found no such container; use one of processor
}
