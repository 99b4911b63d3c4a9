package member

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/placement"
)

// PodOverrides is memberClusters[].podOverrides: what is different about pods of
// new Jobs on that member. The zero value changes nothing.
type PodOverrides struct {
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"` // added, key by key
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`  // added; one of the same key, operator, effect and value is replaced
	// Affinity replaces the pod's as a whole, and an empty one removes it.
	Affinity           *corev1.Affinity             `json:"affinity,omitempty"`
	ContainerOverrides map[string]ContainerOverride `json:"containerOverrides,omitempty"` // by name; not for init containers
}

// A ContainerOverride is what is different about a container.
type ContainerOverride struct {
	Image     string          `json:"image,omitempty"` // "" keeps the container's
	Env       []corev1.EnvVar `json:"env,omitempty"`   // added; one of the same name is replaced as a whole
	Resources *Resources      `json:"resources,omitempty"`
}

// Resources are what is different about a container's resources.
type Resources struct {
	Requests corev1.ResourceList    `json:"requests,omitempty"` // added, by resource
	Limits   corev1.ResourceList    `json:"limits,omitempty"`   // likewise
	Claims   []corev1.ResourceClaim `json:"claims,omitzero"`    // nil keeps the container's; an empty list removes them
}

// Merge returns the pod with the overrides, which shares no memory with either of
// them, and what seems wrong, by field within podOverrides: a container that the pod
// does not have, and a request above the limit, which the API server will refuse. They
// are in the order of the containers' names.
//
// Merging the same overrides again changes nothing (FuzzMerge).
func (o *PodOverrides) Merge(base *corev1.PodSpec) (*corev1.PodSpec, []*placement.FieldError) {
	pod, own := base.DeepCopy(), o.deepCopy()
	if len(own.NodeSelector) > 0 {
		pod.NodeSelector = union(pod.NodeSelector, own.NodeSelector)
	}
	pod.Tolerations = override(pod.Tolerations, own.Tolerations, identity)
	if own.Affinity != nil {
		pod.Affinity = own.Affinity
	}
	var warnings []*placement.FieldError
	for _, name := range slices.Sorted(maps.Keys(own.ContainerOverrides)) {
		field := fmt.Sprintf("containerOverrides[%s]", name)
		i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == name })
		if i < 0 {
			warnings = append(warnings, &placement.FieldError{Field: field, Found: "no such container", Want: containers(pod)})
			continue
		}
		c := own.ContainerOverrides[name]
		c.merge(&pod.Containers[i])
		warnings = append(warnings, c.Resources.excess(field, &pod.Containers[i])...)
	}
	return pod, warnings
}

func (o *PodOverrides) deepCopy() PodOverrides {
	pod := corev1.PodSpec{NodeSelector: o.NodeSelector, Tolerations: o.Tolerations, Affinity: o.Affinity}
	pod = *pod.DeepCopy()
	own := PodOverrides{pod.NodeSelector, pod.Tolerations, pod.Affinity, make(map[string]ContainerOverride, len(o.ContainerOverrides))}
	for name, c := range o.ContainerOverrides {
		own.ContainerOverrides[name] = c.deepCopy()
	}
	return own
}

func (c ContainerOverride) deepCopy() ContainerOverride {
	own := corev1.Container{Env: c.Env}
	c.Env = own.DeepCopy().Env
	if r := c.Resources; r != nil {
		own := corev1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits, Claims: r.Claims}
		own = *own.DeepCopy()
		c.Resources = &Resources{own.Requests, own.Limits, own.Claims}
	}
	return c
}

func containers(pod *corev1.PodSpec) string {
	names := make([]string, len(pod.Containers))
	for i := range pod.Containers {
		names[i] = pod.Containers[i].Name
	}
	return "one of " + strings.Join(names, ", ")
}

func (c *ContainerOverride) merge(to *corev1.Container) {
	if c.Image != "" {
		to.Image = c.Image
	}
	to.Env = override(to.Env, c.Env, func(e corev1.EnvVar) string { return e.Name })
	if r := c.Resources; r != nil {
		to.Resources.Requests = union(to.Resources.Requests, r.Requests)
		to.Resources.Limits = union(to.Resources.Limits, r.Limits)
		if r.Claims != nil {
			to.Resources.Claims = r.Claims
		}
	}
}

// excess tells the requests that are above their limits, of a container whose
// resources have been overridden.
func (r *Resources) excess(field string, c *corev1.Container) (warnings []*placement.FieldError) {
	if r == nil {
		return nil
	}
	requests, limits := c.Resources.Requests, c.Resources.Limits
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request := requests[name]
		if limit, ok := limits[name]; ok && request.Cmp(limit) > 0 {
			warnings = append(warnings, &placement.FieldError{
				Field: fmt.Sprintf("%s.resources.requests[%s]", field, name),
				Found: request.String(), Want: "at most the limit, which is " + limit.String(),
			})
		}
	}
	return warnings
}

// identity is what makes two tolerations the same; the time is what one says, and
// no operator is Equal.
func identity(t corev1.Toleration) corev1.Toleration {
	t.TolerationSeconds = nil
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	return t
}

// union is a with what b has. a is modified, and may be nil.
func union[K comparable, V any, M ~map[K]V](a, b M) M {
	if a == nil && len(b) > 0 {
		a = make(M, len(b))
	}
	maps.Copy(a, b)
	return a
}

// override is a list in which the last of one identity wins, at the place of the
// first. A list without overrides stays as it is, duplicates included.
func override[T any, K comparable](base, own []T, identity func(T) K) []T {
	if len(own) == 0 {
		return base
	}
	place := map[K]int{}
	var merged []T
	for _, x := range slices.Concat(base, own) {
		i, ok := place[identity(x)]
		if ok {
			merged[i] = x
			continue
		}
		place[identity(x)] = len(merged)
		merged = append(merged, x)
	}
	return merged
}
