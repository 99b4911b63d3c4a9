package lint

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// rejected is the consequence of a template that the API server accepts in a ScaledJob
// and not in a Job.
const rejected = "the API server rejects each Job, although it accepts the ScaledJob"

// A container with its place.
type container struct {
	*corev1.Container
	list  string // containers or initContainers
	index int
}

// containers returns the containers of the template, those of initContainers first.
func (j *job) containers() (containers []container) {
	spec := &j.template.Template.Spec
	for i := range spec.InitContainers {
		containers = append(containers, container{&spec.InitContainers[i], "initContainers", i})
	}
	for i := range spec.Containers {
		containers = append(containers, container{&spec.Containers[i], "containers", i})
	}
	return containers
}

// eachContainer returns the check of all containers.
func eachContainer(check func(*job, container)) func(*job) {
	return func(j *job) {
		for _, c := range j.containers() {
			check(j, c)
		}
	}
}

func (j *job) pod(steps ...any) []any {
	return append([]any{"spec", "jobTargetRef", "template", "spec"}, steps...)
}

func (j *job) in(c container, steps ...any) place {
	return j.place(j.pod(append([]any{c.list, c.index}, steps...)...)...)
}

func containerIncomplete(j *job, c container) {
	if j.isPatch() {
		return
	}
	consequence := rejected
	if j.in(c, "name").found == noValue { // which the CRD requires
		consequence = refusal
	}
	j.check(strings.TrimSpace(c.Name) == "", j.in(c, "name"), "Give the container a name", consequence)
	j.check(strings.TrimSpace(c.Image) == "", j.in(c, "image"), "Give the container an image", rejected)
}

func containerNameInvalid(j *job) {
	visited := map[string]bool{}
	for _, c := range j.containers() {
		switch {
		case c.Name == "":
		case len(validation.IsDNS1123Label(c.Name)) > 0:
			j.find(j.in(c, "name"), "Write at most 63 lower-case letters, digits and -, with a letter or digit at both ends", effect{text: rejected})
		case visited[c.Name]:
			j.find(j.in(c, "name"), "Give each container a name of its own", effect{text: "two containers have this name, so " + rejected})
		}
		visited[c.Name] = true
	}
}

func portInvalid(j *job, c container) {
	for i, p := range c.Ports {
		position := j.in(c, "ports", i, "containerPort")
		j.check(position.found != noValue && len(validation.IsValidPortNum(int(p.ContainerPort))) > 0, position, "Write a port from 1 to 65535", rejected)
	}
}

func limitsBelowRequests(j *job, c container) {
	for name, request := range c.Resources.Requests {
		limit, ok := c.Resources.Limits[name]
		ok = ok && (!limit.IsZero() || isZero(j.in(c, "resources", "limits", string(name)).found))
		j.check(ok && limit.Cmp(request) < 0, j.in(c, "resources", "limits", string(name)), fmt.Sprintf("Write a limit of %s or more", request.String()),
			fmt.Sprintf("it is below the request of %s, so %s", request.String(), rejected))
	}
}

// isZero reports whether a value is written as 0. A quantity that cannot be read is 0, too.
func isZero(found string) bool { return strings.Trim(found, `"0.`) == "" }

// findVolumes returns the names of the template's volumes, also as a set.
func (j *job) findVolumes() (names []string, nameSet map[string]bool) {
	nameSet = map[string]bool{}
	for _, v := range j.template.Template.Spec.Volumes {
		names, nameSet[v.Name] = append(names, v.Name), true
	}
	return names, nameSet
}

func volumeUnknown(j *job, c container) {
	names, present := j.volumeNames()
	for i, m := range c.VolumeMounts {
		if present[m.Name] {
			continue
		}
		fix := "Add it to volumes"
		if near := j.near(m.Name, names); near != "" {
			fix = "Write " + near
		}
		j.find(j.in(c, "volumeMounts", i, "name"), fix, effect{text: "the template has no volume of this name, so " + rejected})
	}
}
