package member_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/premise"
	"github.com/scaledjob/scaledjob/testdata"
)

// The cases of testdata/multicluster.json about pod overrides.
func TestPodOverridesGolden(t *testing.T) {
	data, err := testdata.Files.ReadFile("multicluster.json")
	require.NoError(t, err)
	var file struct {
		Cases []json.RawMessage `json:"pod_overrides"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Cases, 12)
	for _, raw := range file.Cases {
		var c struct {
			Name, Src    string
			Base, Expect corev1.PodSpec
			Override     member.PodOverrides
			Warnings     []string
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		require.NoError(t, d.Decode(&c))
		t.Run(c.Name, func(t *testing.T) {
			before := c.Base.DeepCopy()
			got, warnings := c.Override.Merge(&c.Base)
			require.Equal(t, &c.Expect, got)
			require.Equal(t, before, &c.Base)
			var told []string
			for _, w := range warnings {
				told = append(told, w.Path+": "+w.Found)
			}
			require.Equal(t, c.Warnings, told)
		})
	}
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
	same, warnings := (&member.PodOverrides{}).Merge(base)
	require.Equal(t, base, same)
	require.Empty(t, warnings)

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
			got, warnings := o.Merge(base)
			require.Equal(t, want, got)
			var told []string
			for _, w := range warnings {
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

func anyPod(t *rapid.T) *corev1.PodSpec {
	p := &corev1.PodSpec{NodeSelector: anyMap(t), Tolerations: anyTolerations(t), Affinity: anyAffinity(t)}
	for i := range rapid.IntRange(0, 2).Draw(t, "containers") {
		c := corev1.Container{Name: fmt.Sprint("c", i), Image: "base", Env: anyEnv(t)}
		c.Resources = corev1.ResourceRequirements{Requests: anyResources(t), Limits: anyResources(t), Claims: anyClaims(t)}
		p.Containers = append(p.Containers, c)
	}
	return p
}

func anyOverrides(t *rapid.T) *member.PodOverrides {
	o := &member.PodOverrides{NodeSelector: anyMap(t), Tolerations: anyTolerations(t), Affinity: anyAffinity(t)}
	for i := range rapid.IntRange(0, 3).Draw(t, "overridden") {
		c := member.ContainerOverride{Image: rapid.SampledFrom([]string{"", "own"}).Draw(t, "image"), Env: anyEnv(t)}
		if rapid.Bool().Draw(t, "resources") {
			c.Resources = &member.Resources{Requests: anyResources(t), Limits: anyResources(t), Claims: anyClaims(t)}
		}
		if o.ContainerOverrides == nil {
			o.ContainerOverrides = map[string]member.ContainerOverride{}
		}
		o.ContainerOverrides[fmt.Sprint("c", i)] = c
	}
	return o
}

func anyMap(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3).Draw(t, "map")
}

func anyTolerations(t *rapid.T) (all []corev1.Toleration) {
	for range rapid.IntRange(0, 3).Draw(t, "tolerations") {
		all = append(all, corev1.Toleration{
			Key:               rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
			Operator:          rapid.SampledFrom([]corev1.TolerationOperator{"", "Equal", "Exists"}).Draw(t, "operator"),
			TolerationSeconds: new(rapid.Int64Range(0, 9).Draw(t, "seconds")),
		})
	}
	return all
}

func anyAffinity(t *rapid.T) *corev1.Affinity {
	return rapid.SampledFrom([]*corev1.Affinity{nil, {}, {NodeAffinity: &corev1.NodeAffinity{}}, {PodAffinity: &corev1.PodAffinity{}}}).Draw(t, "affinity").DeepCopy()
}

func anyEnv(t *rapid.T) (all []corev1.EnvVar) {
	for range rapid.IntRange(0, 3).Draw(t, "env") {
		all = append(all, corev1.EnvVar{Name: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "name"), Value: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")})
	}
	return all
}

func anyResources(t *rapid.T) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		if n := rapid.Int64Range(0, 3).Draw(t, "amount"); n > 0 {
			all[name] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return all
}

func anyClaims(t *rapid.T) []corev1.ResourceClaim {
	return slices.Clone(rapid.SampledFrom([][]corev1.ResourceClaim{nil, {}, {{Name: "gpu"}}}).Draw(t, "claims"))
}

// propMerge checks what holds for any pod and overrides: arguments are as they
// were, nothing changes without overrides or by the same ones again, each override
// has its way, and what none speaks of is as it was.
func propMerge(t *rapid.T) {
	base, o := anyPod(t), anyOverrides(t)
	baseBefore, oBefore := base.DeepCopy(), asJSON(t, o)
	none, _ := (&member.PodOverrides{}).Merge(base)
	require.Equal(t, base, none)
	got, warnings := o.Merge(base)
	again, _ := o.Merge(got)
	require.Equal(t, asJSON(t, got), asJSON(t, again))

	for key := range union(base.NodeSelector, o.NodeSelector) {
		require.Equal(t, either(o.NodeSelector, base.NodeSelector, key), got.NodeSelector[key])
	}
	require.Len(t, got.NodeSelector, len(union(base.NodeSelector, o.NodeSelector)))
	if o.Affinity != nil {
		require.Equal(t, o.Affinity, got.Affinity)
	} else {
		require.Equal(t, base.Affinity, got.Affinity)
	}
	if len(o.Tolerations) > 0 {
		last := o.Tolerations[len(o.Tolerations)-1]
		require.Contains(t, got.Tolerations, last)
	}
	require.Len(t, got.Containers, len(base.Containers))
	unknown := 0
	for name := range o.ContainerOverrides {
		if !slices.ContainsFunc(base.Containers, func(c corev1.Container) bool { return c.Name == name }) {
			unknown++
		}
	}
	for i, c := range got.Containers {
		checkContainer(t, base.Containers[i], o.ContainerOverrides[c.Name], c)
	}
	told := 0
	for _, w := range warnings {
		if w.Found == "no such container" {
			told++
		}
	}
	require.Equal(t, unknown, told)
	scribble(got)
	require.Equal(t, baseBefore, base)
	require.Equal(t, oBefore, asJSON(t, o))
}

func checkContainer(t *rapid.T, base corev1.Container, o member.ContainerOverride, got corev1.Container) {
	want := map[string]string{}
	for _, e := range slices.Concat(base.Env, o.Env) {
		want[e.Name] = e.Value
	}
	for _, e := range got.Env {
		if len(o.Env) > 0 {
			require.Equal(t, want[e.Name], e.Value)
		}
	}
	if o.Image == "" {
		require.Equal(t, base.Image, got.Image)
	} else {
		require.Equal(t, o.Image, got.Image)
	}
	if o.Resources == nil {
		require.Equal(t, base.Resources, got.Resources)
		return
	}
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		require.Equal(t, either(o.Resources.Requests, base.Resources.Requests, name), got.Resources.Requests[name])
		require.Equal(t, either(o.Resources.Limits, base.Resources.Limits, name), got.Resources.Limits[name])
	}
	if o.Resources.Claims == nil {
		require.Equal(t, base.Resources.Claims, got.Resources.Claims)
	} else {
		require.Equal(t, o.Resources.Claims, got.Resources.Claims)
	}
}

func either[K comparable, V any](first, second map[K]V, key K) V {
	if v, ok := first[key]; ok {
		return v
	}
	return second[key]
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for key := range a {
		all[key] = true
	}
	for key := range b {
		all[key] = true
	}
	return all
}

func asJSON(t *rapid.T, x any) string {
	data, err := json.Marshal(x)
	require.NoError(t, err)
	return string(data)
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

func TestMerge(t *testing.T) { rapid.Check(t, propMerge) }
func FuzzMerge(f *testing.F) { premise.Seeded(f, propMerge) }

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
