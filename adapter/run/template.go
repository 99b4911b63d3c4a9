package run

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// templates finds the template that there must be.
func (r *reader) templates(namespace string, c *Config, referred *corev1.PodTemplate) {
	own, ref := r.spec.Template, r.spec.TemplateRef
	switch {
	case own != nil && ref != nil:
		r.problem("spec.templateRef", "one, and spec.template", "only one of the two")
	case own == nil && ref == nil:
		r.problem("spec.template", "nothing", "a pod template, or a templateRef")
	case own != nil:
		c.Template = own.DeepCopy()
		r.template("spec.template", c)
	default:
		c.TemplateRef = ref.Name
		r.reference(namespace, ref)
		if referred != nil {
			c.Template = referred.Template.DeepCopy()
			r.template(fmt.Sprintf("spec.templateRef(%s).template", ref.Name), c)
		}
	}
}

func (r *reader) reference(namespace string, ref *TemplateRef) {
	const path = "spec.templateRef."
	only := func(name, found, want string) {
		if found != "" && found != want {
			r.problem(path+name, strconv.Quote(found), want)
		}
	}
	only("apiVersion", ref.APIVersion, "v1")
	only("kind", ref.Kind, "PodTemplate")
	only("namespace", ref.Namespace, namespace)
	if ref.Name == "" {
		r.problem(path+"name", "nothing", "the name of a PodTemplate")
	}
}

// reserved are the labels of pods that are not the template's to set.
var reserved = []string{
	LabelName, LabelTag,
	batchv1.JobNameLabel, batchv1.ControllerUidLabel, "job-name", "controller-uid",
}

// template checks what the API server would refuse of a Job, or of its pods when
// the Job is there, and turns the pods into those of an Indexed Job.
func (r *reader) template(path string, c *Config) {
	t := c.Template
	at := field.NewPath(path).Child("metadata")
	r.fields(metav1validation.ValidateLabels(t.Labels, at.Child("labels")))
	r.fields(validation.ValidateAnnotations(t.Annotations, at.Child("annotations")))
	for _, key := range reserved {
		if value, ok := t.Labels[key]; ok {
			r.problem(fmt.Sprintf("%s.metadata.labels[%s]", path, key), strconv.Quote(value), "no such label: it is set for each run")
		}
	}
	path += ".spec"
	r.restarts(path+".restartPolicy", &t.Spec)
	r.deadline(path+".activeDeadlineSeconds", c)
	r.containers(path, &t.Spec)
}

// restarts makes the policy Never, which a limit of restarts for each pod wants.
func (r *reader) restarts(path string, p *corev1.PodSpec) {
	switch p.RestartPolicy {
	case "", corev1.RestartPolicyNever:
	case corev1.RestartPolicyOnFailure:
		r.warn(path, "OnFailure", "Never: it is taken so, and a failing pod is replaced up to maxRestart times")
	default:
		r.problem(path, strconv.Quote(string(p.RestartPolicy)), "Never: a run must come to an end")
	}
	p.RestartPolicy = corev1.RestartPolicyNever
}

func (r *reader) deadline(path string, c *Config) {
	seconds := c.Template.Spec.ActiveDeadlineSeconds
	switch {
	case seconds == nil:
	case c.ExecTimeout == 0:
		r.within(path, *seconds, 1, 1<<31-1)
		c.ExecTimeout = *seconds
	case *seconds != c.ExecTimeout:
		r.problem(path, strconv.FormatInt(*seconds, 10), fmt.Sprintf("%d, as spec.execTimeout says, or only one of the two", c.ExecTimeout))
	}
}

func (r *reader) containers(path string, p *corev1.PodSpec) {
	if len(p.Containers) == 0 {
		r.problem(path+".containers", "none", "at least one container")
	}
	if len(p.EphemeralContainers) > 0 {
		r.problem(path+".ephemeralContainers", "some", "none in a template")
	}
	volumes := map[string]bool{}
	for i, v := range p.Volumes {
		r.name(fmt.Sprintf("%s.volumes[%d].name", path, i), v.Name, volumes)
	}
	names := map[string]bool{}
	for i := range p.InitContainers {
		at := fmt.Sprintf("%s.initContainers[%d]", path, i)
		r.name(at+".name", p.InitContainers[i].Name, names)
		r.container(at, &p.InitContainers[i], volumes)
	}
	for i := range p.Containers {
		at := fmt.Sprintf("%s.containers[%d]", path, i)
		r.name(at+".name", p.Containers[i].Name, names)
		r.container(at, &p.Containers[i], volumes)
	}
}

// name checks one among names, and notes it.
func (r *reader) name(path, name string, names map[string]bool) {
	problems := utilvalidation.IsDNS1123Label(name)
	switch {
	case name == "":
		r.problem(path, "nothing", "a name")
	case len(problems) > 0:
		r.problem(path, strconv.Quote(name), strings.Join(problems, "; "))
	case names[name]:
		r.problem(path, strconv.Quote(name)+" once more", "each name once")
	}
	names[name] = true
}

func (r *reader) container(path string, c *corev1.Container, volumes map[string]bool) {
	if strings.TrimSpace(c.Image) == "" {
		r.problem(path+".image", "nothing", "an image")
	}
	for i, e := range c.Env {
		if problems := utilvalidation.IsRelaxedEnvVarName(e.Name); len(problems) > 0 {
			r.problem(fmt.Sprintf("%s.env[%d].name", path, i), strconv.Quote(e.Name), strings.Join(problems, "; "))
		}
	}
	for i, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			r.problem(fmt.Sprintf("%s.volumeMounts[%d].name", path, i), strconv.Quote(m.Name), "the name of a volume of the pod")
		}
	}
	for i, p := range c.Ports {
		r.within(fmt.Sprintf("%s.ports[%d].containerPort", path, i), int64(p.ContainerPort), 1, 65535)
	}
}

func (r *reader) fields(all field.ErrorList) {
	for _, e := range all {
		r.problem(e.Field, quoted(e.BadValue), e.Detail)
	}
}
