package member

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/field"
)

// PodOverrides is memberClusters[].podOverrides: the differences of the pods of new Jobs
// on a member. The zero value changes nothing.
type PodOverrides struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"` // added, key by key
	// Tolerations are added. A toleration replaces a toleration of the same key, operator,
	// effect and value.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity replaces the pod's affinity as a whole. An empty affinity removes it; nil
	// keeps it.
	Affinity           *corev1.Affinity             `json:"affinity,omitempty"`
	ContainerOverrides map[string]ContainerOverride `json:"containerOverrides,omitempty"` // by name; not for init containers
}

// A ContainerOverride holds the differences of a container.
type ContainerOverride struct {
	Image     string          `json:"image,omitempty"` // "" keeps the container's image
	Env       []corev1.EnvVar `json:"env,omitempty"`   // added; a variable of the same name is replaced as a whole
	Resources *Resources      `json:"resources,omitempty"`
}

// Resources holds the differences of a container's resources.
type Resources struct {
	Requests corev1.ResourceList    `json:"requests,omitempty"` // added, by resource
	Limits   corev1.ResourceList    `json:"limits,omitempty"`   // added, by resource
	Claims   []corev1.ResourceClaim `json:"claims,omitzero"`    // nil keeps the container's claims; an empty list removes them
}

// Merge returns the pod with the overrides, which shares no memory with either, and
// warnings with the field within podOverrides. It warns of a container that the pod does
// not have, and of a request above its limit, which the API server will reject. Warnings
// have the order of the containers' names. Merging the same overrides again changes
// nothing.
func (o *PodOverrides) Merge(base *corev1.PodSpec) (*corev1.PodSpec, []*field.Error) {
	pod := base.DeepCopy()
	if len(o.NodeSelector) > 0 {
		pod.NodeSelector = union(pod.NodeSelector, o.NodeSelector)
	}
	pod.Tolerations = override(pod.Tolerations, o.Tolerations, identity)
	if o.Affinity != nil {
		pod.Affinity = o.Affinity
	}
	var warnings []*field.Error
	for _, name := range slices.Sorted(maps.Keys(o.ContainerOverrides)) {
		path := fmt.Sprintf("containerOverrides[%s]", name)
		i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == name })
		if i < 0 {
			warnings = append(warnings, &field.Error{Path: path, Found: "no such container", Fix: containers(pod)})
			continue
		}
		c := o.ContainerOverrides[name]
		c.merge(&pod.Containers[i])
		warnings = append(warnings, c.Resources.excess(path, &pod.Containers[i])...)
	}
	return pod.DeepCopy(), warnings // which shares no memory with o
}

func containers(pod *corev1.PodSpec) string {
	names := make([]string, len(pod.Containers))
	for i := range pod.Containers {
		names[i] = pod.Containers[i].Name
	}
	return "one of " + strings.Join(names, ", ")
}

func (c *ContainerOverride) merge(container *corev1.Container) {
	if c.Image != "" {
		container.Image = c.Image
	}
	container.Env = override(container.Env, c.Env, func(e corev1.EnvVar) string { return e.Name })
	if r := c.Resources; r != nil {
		container.Resources.Requests = union(container.Resources.Requests, r.Requests)
		container.Resources.Limits = union(container.Resources.Limits, r.Limits)
		if r.Claims != nil {
			container.Resources.Claims = r.Claims
		}
	}
}

// excess returns the requests above their limits of a container with overridden
// resources.
func (r *Resources) excess(path string, c *corev1.Container) (warnings []*field.Error) {
	if r == nil {
		return nil
	}
	requests, limits := c.Resources.Requests, c.Resources.Limits
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request := requests[name]
		if limit, ok := limits[name]; ok && request.Cmp(limit) > 0 {
			warnings = append(warnings, &field.Error{
				Path:  fmt.Sprintf("%s.resources.requests[%s]", path, name),
				Found: request.String(), Fix: "at most the limit, which is " + limit.String(),
			})
		}
	}
	return warnings
}

// identity returns the part of a toleration that identifies it. The time is
// no part of it, and no operator means Equal.
func identity(t corev1.Toleration) corev1.Toleration {
	t.TolerationSeconds = nil
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	return t
}

// union adds b to a, which may be nil, and returns a.
func union[K comparable, V any, M ~map[K]V](a, b M) M {
	if a == nil && len(b) > 0 {
		a = make(M, len(b))
	}
	maps.Copy(a, b)
	return a
}

// override returns a list in which the last of an identity wins, at the position of the
// first. A list without overrides stays as it is, duplicates included.
func override[T any, K comparable](base, overriding []T, identity func(T) K) []T {
	if len(overriding) == 0 {
		return base
	}
	place := map[K]int{}
	var merged []T
	for _, x := range slices.Concat(base, overriding) {
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
