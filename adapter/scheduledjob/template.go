package scheduledjob

import (
	"fmt"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	apifield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/scaledjob/scaledjob/field"
)

// templates sets the template: the ScheduledJob's own, or the referred PodTemplate.
func (r *reader) templates(namespace string, c *Config, referred *corev1.PodTemplate) {
	inline, ref := r.spec.Template, r.spec.TemplateRef
	switch {
	case inline != nil && ref != nil:
		r.problems.Add(field.Error{Path: "spec.templateRef", Found: "one, and spec.template", Fix: "only one of the two"})
	case inline == nil && ref == nil:
		r.problems.Check(false, "spec.template", nil, "a pod template, or a templateRef")
	case inline != nil:
		c.Template = inline.DeepCopy()
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

func (r *reader) reference(namespace string, ref *corev1.ObjectReference) {
	const path = "spec.templateRef."
	only := func(name, found, fix string) {
		r.problems.Check(found == "" || found == fix, path+name, found, fix)
	}
	only("apiVersion", ref.APIVersion, "v1")
	only("kind", ref.Kind, "PodTemplate")
	only("namespace", ref.Namespace, namespace)
	r.problems.Check(ref.Name != "", path+"name", ref.Name, "the name of a PodTemplate")
}

// reserved are the labels of pods that each run sets.
var reserved = []string{
	labelName, LabelTag,
	batchv1.JobNameLabel, batchv1.ControllerUidLabel, "job-name", "controller-uid",
}

// template checks what the API server would reject in a Job or its pods, and turns
// the pods into those of an Indexed Job.
func (r *reader) template(path string, c *Config) {
	t := c.Template
	metadata := apifield.NewPath(path).Child("metadata")
	r.fields(metav1validation.ValidateLabels(t.Labels, metadata.Child("labels")))
	r.fields(validation.ValidateAnnotations(t.Annotations, metadata.Child("annotations")))
	for _, key := range reserved {
		value, ok := t.Labels[key]
		r.problems.Check(!ok, fmt.Sprintf("%s.metadata.labels[%s]", path, key), value, "no such label; each run sets it")
	}
	path += ".spec"
	r.restarts(path+".restartPolicy", &t.Spec)
	r.deadline(path+".activeDeadlineSeconds", c)
	r.containers(path, &t.Spec)
}

// restarts sets the policy to Never, which a limit of restarts for each index needs.
func (r *reader) restarts(path string, p *corev1.PodSpec) {
	switch p.RestartPolicy {
	case "", corev1.RestartPolicyNever:
	case corev1.RestartPolicyOnFailure:
		r.warnings.Check(false, path, p.RestartPolicy, "Never, which replaces OnFailure; a failing pod is replaced up to maxRestart times")
	default:
		r.problems.Check(false, path, p.RestartPolicy, "Never, because a run must end")
	}
	p.RestartPolicy = corev1.RestartPolicyNever
}

func (r *reader) deadline(path string, c *Config) {
	seconds := c.Template.Spec.ActiveDeadlineSeconds
	switch {
	case seconds == nil:
	case c.ExecTimeout == 0:
		r.within(path, *seconds, 1, math.MaxInt32)
		c.ExecTimeout = *seconds
	default:
		r.problems.Check(*seconds == c.ExecTimeout, path, *seconds, fmt.Sprintf("%d, the value of spec.execTimeout, or only one of the two", c.ExecTimeout))
	}
}

func (r *reader) containers(path string, p *corev1.PodSpec) {
	if len(p.Containers) == 0 {
		r.problems.Add(field.Error{Path: path + ".containers", Found: "none", Fix: "at least one container"})
	}
	if len(p.EphemeralContainers) > 0 {
		r.problems.Add(field.Error{Path: path + ".ephemeralContainers", Found: "some", Fix: "none in a template"})
	}
	volumes, names := map[string]bool{}, map[string]bool{}
	for i, v := range p.Volumes {
		r.name(fmt.Sprintf("%s.volumes[%d].name", path, i), v.Name, volumes)
	}
	for i := range p.InitContainers {
		r.container(fmt.Sprintf("%s.initContainers[%d]", path, i), &p.InitContainers[i], names, volumes)
	}
	for i := range p.Containers {
		r.container(fmt.Sprintf("%s.containers[%d]", path, i), &p.Containers[i], names, volumes)
	}
}

// name checks a name, and adds it to the names.
func (r *reader) name(path, name string, names map[string]bool) {
	invalid := utilvalidation.IsDNS1123Label(name)
	switch {
	case name == "":
		r.problems.Check(false, path, name, "a name")
	case names[name]:
		r.problems.Add(field.Error{Path: path, Found: fmt.Sprintf("%q once more", name), Fix: "each name once"})
	default:
		r.problems.Check(len(invalid) == 0, path, name, "another name: "+strings.Join(invalid, "; "))
	}
	names[name] = true
}

func (r *reader) container(path string, c *corev1.Container, names, volumes map[string]bool) {
	r.name(path+".name", c.Name, names)
	r.problems.Check(strings.TrimSpace(c.Image) != "", path+".image", c.Image, "an image")
	for i, e := range c.Env {
		invalid := utilvalidation.IsRelaxedEnvVarName(e.Name)
		r.problems.Check(len(invalid) == 0, fmt.Sprintf("%s.env[%d].name", path, i), e.Name, "another name: "+strings.Join(invalid, "; "))
	}
	for i, m := range c.VolumeMounts {
		r.problems.Check(volumes[m.Name], fmt.Sprintf("%s.volumeMounts[%d].name", path, i), m.Name, "the name of a volume of the pod")
	}
	for i, p := range c.Ports {
		r.within(fmt.Sprintf("%s.ports[%d].containerPort", path, i), int64(p.ContainerPort), 1, 65535)
	}
}

// fields adds the problems that the API server would find.
func (r *reader) fields(found apifield.ErrorList) {
	for _, e := range found {
		r.problems.Check(false, e.Field, e.BadValue, "another value: "+e.Detail)
	}
}
