package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/keda"
)

func (j *job) target(field string) place { return j.place("spec", "jobTargetRef", field) }

// numbers returns the numbers of spec.jobTargetRef by their field.
func (j *job) numbers() map[string]int64 {
	numbers := map[string]int64{}
	for _, field := range []string{"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes", "parallelism", "ttlSecondsAfterFinished"} {
		if n := j.node("spec", "jobTargetRef", field); n != nil {
			if number, ok := numberOf(n).(int64); ok {
				numbers[field] = number
			}
		}
	}
	return numbers
}

func jobFieldNegative(j *job) {
	for field, n := range j.numbers() {
		want := "Write 0 or more"
		if field == "activeDeadlineSeconds" {
			want = "Write 1 or more (seconds)"
		}
		j.check(n < 0, j.target(field), want, rejected)
	}
}

// zeros holds the effect of a 0.
var zeros = map[string]string{
	"activeDeadlineSeconds": "each Job fails at its deadline as soon as it starts",
	"completions":           "each Job completes without a pod",
	"parallelism":           "a Job has no pods, never finishes and counts as running",
}

func jobNeverRuns(j *job) {
	for field, n := range j.numbers() {
		j.check(zeros[field] != "" && n == 0, j.target(field), "Write 1 or more", zeros[field])
	}
}

func jobSelector(j *job) {
	selector, manual := j.template.Selector, j.template.ManualSelector
	j.check(selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 && (manual == nil || !*manual),
		j.target("selector"), "Delete it; Kubernetes adds a selector to each Job", rejected)
}

const kueueLabel = "kueue.x-k8s.io/queue-name"

func jobSuspended(j *job) {
	const text = "Jobs are created suspended, but KEDA counts them as running and pending, so they use up the maximum while none works"
	suspend := j.template.Suspend
	j.check(suspend != nil && *suspend, j.target("suspend"), "Write false", text)
	if _, ok := j.manifest.Labels[kueueLabel]; ok {
		j.find(j.key("metadata", "labels", kueueLabel), "Write a maxReplicaCount that the Kueue queue can admit",
			effect{affected: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Labels[kueueLabel] != "" }, text: text})
	}
}

func restartPolicyAlways(j *job) {
	j.check(j.template.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways, j.place(j.pod("restartPolicy")...), "Write Never or OnFailure", rejected)
}

// podsAtOnce returns how many pods a Job runs at a time: completions limit parallelism.
func (j *job) podsAtOnce() int32 {
	n, completions := j.template.Parallelism, j.template.Completions
	if n == nil {
		return 1
	}
	if completions != nil {
		return min(*n, *completions)
	}
	return *n
}

func parallelismNotCounted(j *job) {
	n := j.podsAtOnce()
	j.check(n > 1, j.target("parallelism"), "Set maxReplicaCount to a number of Jobs, each with this many pods",
		"maxReplicaCount and the target count Jobs, not pods")
}

func envContainerUnknown(j *job) {
	var choices []string
	for _, c := range j.template.Template.Spec.Containers {
		choices = append(choices, c.Name)
	}
	for _, problem := range j.problems {
		j.checkPolls(problem.Path == "spec.envSourceContainerName", j.place("spec", "envSourceContainerName"), oneOf(j.spec.EnvSourceContainerName, choices),
			"the template has no container of this name, so KEDA never polls")
	}
	for _, a := range j.authentications() {
		if !j.objects.first(a, "containers "+strings.Join(choices, " ")) {
			continue
		}
		for i := range a.document.length("spec", "env") {
			name := a.document.text("spec", "env", i, "containerName")
			j.check(name != "" && !slices.Contains(choices, name), a.document.place("spec", "env", i, "containerName"),
				"Write the name of a container in spec.jobTargetRef.template", "the template has no container of this name, so KEDA reads an empty value")
		}
	}
}

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

// servers are programs, and images without registry and tag, that serve others until they are stopped.
var servers = []string{
	"cloud-sql-proxy", "cloud_sql_proxy", "gce-proxy", "alloydb-auth-proxy", "envoy", "daprd", "pgbouncer", "oauth2-proxy", "haproxy",
	"nginx", "redis", "redis-server", "postgres", "mysql", "mysqld", "mariadb", "mongo", "mongod", "rabbitmq", "memcached", "fluent-bit", "fluentd",
	"filebeat", "promtail", "opentelemetry-collector", "opentelemetry-collector-contrib", "statsd-exporter", "aws-xray-daemon", "dockerd",
}

const daprKey = "dapr.io/enabled"

// sidecarNeverEnds finds a container that still runs when the worker has ended: a Job completes when all containers of its
// pod have.
func sidecarNeverEnds(j *job) {
	pod := &j.template.Template.Spec
	if enabled := j.template.Template.Annotations[daprKey]; enabled == "true" && !mayBeStopped(pod) {
		j.note(j.place("spec", "jobTargetRef", "template", "metadata", "annotations", daprKey), "Let the worker send a POST to http://localhost:3500/v1.0/shutdown at its end",
			effect{text: "Dapr adds the container daprd to the pod. Unless the worker shuts it down, no Job completes and KEDA counts each as running"})
	}
	ends := func(c corev1.Container) bool { return !waitsForever(c) && !serves(c) }
	if len(pod.Containers) < 2 || mayBeStopped(pod) || !slices.ContainsFunc(pod.Containers, ends) {
		return // or which of them is the worker is unknown
	}
	for i, c := range pod.Containers {
		j.check(!ends(c), j.place(j.pod("containers", i, "image")...), "Move the container to initContainers and add restartPolicy: Always to it, with KEDA 2.12 and Kubernetes 1.29 or later",
			"the container does not end with the worker, so no Job completes and KEDA counts each as running")
	}
}

// mayBeStopped reports whether a container of a pod may stop another.
func mayBeStopped(pod *corev1.PodSpec) bool {
	if shared := pod.ShareProcessNamespace; shared != nil && *shared {
		return true
	}
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		text := commandLine(c)
		for _, e := range c.Env {
			text += " " + e.Name
		}
		return stopPattern.MatchString(text)
	})
}

var (
	stopPattern    = regexp.MustCompile(`(?i)quit|/shutdown|(^|[^a-z])p?kill(all)?([^a-z]|$)`)
	waitPattern    = regexp.MustCompile(`(^|\W)(sleep (infinity|inf)|tail -f /dev/null)$`)
	programPattern = regexp.MustCompile(`^[a-z/][\w./-]*$`)
)

func commandLine(c corev1.Container) string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}

// waitsForever reports whether a container does nothing until it is stopped.
func waitsForever(c corev1.Container) bool { return waitPattern.MatchString(commandLine(c)) }

// serves reports whether a container runs a server: that of its image, or one that its command names.
func serves(c corev1.Container) bool {
	name, _, _ := strings.Cut(path.Base(c.Image), "@")
	name, tag, _ := strings.Cut(name, ":")
	isDocker := name == "docker" && strings.Contains(tag, "dind")
	program := name
	if words := slices.Concat(c.Command, c.Args); len(words) > 0 && (len(c.Command) > 0 || programPattern.MatchString(words[0])) {
		program = path.Base(words[0])
	}
	return slices.Contains(servers, program) || (isDocker && program == name)
}
