package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// rejected is the consequence of a template that the API server accepts in a ScaledJob
// and not in a Job.
const rejected = "the API server accepts the ScaledJob and rejects each of its Jobs"

// A container with its place.
type container struct {
	*corev1.Container
	list  string // containers or initContainers
	index int
}

func (j *job) containers() (all []container) {
	ref := j.spec.JobTargetRef
	if ref == nil {
		return nil
	}
	spec := &ref.Template.Spec
	for i := range spec.InitContainers {
		all = append(all, container{&spec.InitContainers[i], "initContainers", i})
	}
	for i := range spec.Containers {
		all = append(all, container{&spec.Containers[i], "containers", i})
	}
	return all
}

func (j *job) pod(steps ...any) []any {
	return append([]any{"spec", "jobTargetRef", "template", "spec"}, steps...)
}

func (j *job) in(c container, steps ...any) place {
	return j.at(j.pod(append([]any{c.list, c.index}, steps...)...)...)
}

func containerIncomplete(j *job) {
	for _, c := range j.containers() {
		if strings.TrimSpace(c.Name) == "" {
			j.find(j.in(c, "name"), "Give the container a name", effect{text: rejected})
		}
		if strings.TrimSpace(c.Image) == "" {
			j.find(j.in(c, "image"), "Give the container an image", effect{text: rejected})
		}
	}
}

func containerNameInvalid(j *job) {
	seen := map[string]bool{}
	for _, c := range j.containers() {
		switch {
		case c.Name == "":
		case len(validation.IsDNS1123Label(c.Name)) > 0:
			j.find(j.in(c, "name"), "Write at most 63 lower-case letters, digits and -", effect{text: rejected})
		case seen[c.Name]:
			j.find(j.in(c, "name"), "Give each container a name of its own", effect{text: "two containers have this name: " + rejected})
		}
		seen[c.Name] = true
	}
}

func portInvalid(j *job) {
	for _, c := range j.containers() {
		for i, p := range c.Ports {
			if len(validation.IsValidPortNum(int(p.ContainerPort))) > 0 {
				j.find(j.in(c, "ports", i, "containerPort"), "Write a port from 1 to 65535", effect{text: rejected})
			}
		}
	}
}

func limitsBelowRequests(j *job) {
	for _, c := range j.containers() {
		for name, request := range c.Resources.Requests {
			if limit, ok := c.Resources.Limits[name]; ok && limit.Cmp(request) < 0 {
				j.find(j.in(c, "resources", "limits", string(name)), fmt.Sprintf("Write a limit of %s or more", request.String()),
					effect{text: fmt.Sprintf("it is below the request of %s: %s", request.String(), rejected)})
			}
		}
	}
}

func volumeUnknown(j *job) {
	if j.spec.JobTargetRef == nil {
		return
	}
	var names []string
	for _, v := range j.spec.JobTargetRef.Template.Spec.Volumes {
		names = append(names, v.Name)
	}
	for _, c := range j.containers() {
		for i, m := range c.VolumeMounts {
			if !slices.Contains(names, m.Name) {
				fix := "Add it to volumes"
				if near := nearest(m.Name, names); near != "" {
					fix = "Write " + near
				}
				j.find(j.in(c, "volumeMounts", i, "name"), fix, effect{text: "the template has no volume of this name: " + rejected})
			}
		}
	}
}

func pullPolicyUnknown(j *job) {
	policies := []string{"Always", "IfNotPresent", "Never"}
	for _, c := range j.containers() {
		if p := string(c.ImagePullPolicy); p != "" && !slices.Contains(policies, p) {
			j.find(j.in(c, "imagePullPolicy"), oneOf(p, policies), effect{text: rejected})
		}
	}
}

func restartPolicyUnknown(j *job) {
	policies := []string{"Never", "OnFailure"}
	if ref := j.spec.JobTargetRef; ref != nil {
		if p := string(ref.Template.Spec.RestartPolicy); p != "" && p != "Always" && !slices.Contains(policies, p) {
			j.find(j.at(j.pod("restartPolicy")...), oneOf(p, policies), effect{text: rejected})
		}
	}
}

func restartPolicyMissing(j *job) {
	ref := j.spec.JobTargetRef
	if ref == nil || len(ref.Template.Spec.Containers) == 0 || j.at(j.pod("restartPolicy")...).found != nothing {
		return
	}
	j.find(j.at(j.pod("restartPolicy")...), "Write restartPolicy: Never or restartPolicy: OnFailure",
		effect{text: "KEDA takes OnFailure: a container that fails restarts in its pod, and its log is lost at the end"})
}
