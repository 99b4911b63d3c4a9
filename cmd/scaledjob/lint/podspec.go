package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
)

// templateRejected finds what the API server refuses in a Job.
func templateRejected(j *job) {
	ref := j.template
	j.jobFields(ref)
	j.failurePolicy(ref)
	j.podFields(&ref.Template.Spec)
	j.labelsOf(j.manifest.Labels, refusal, "metadata", "labels")
	j.labelsOf(ref.Template.Labels, rejected, "spec", "jobTargetRef", "template", "metadata", "labels")
	j.volumes(ref.Template.Spec.Volumes)
	for _, c := range j.containers() {
		j.containerFields(c)
		j.mounts(c)
		j.resources(c)
		j.probes(c)
	}
}

// refuse adds a finding if a field has a problem.
func (j *job) refuse(problem bool, position place, reason, fix string) {
	j.check(problem, position, fix, reason+", so "+rejected)
}

func (j *job) jobFields(ref *batchv1.JobSpec) {
	indexed := ref.CompletionMode != nil && *ref.CompletionMode == batchv1.IndexedCompletion
	const needsIndexed = "it needs completionMode Indexed"
	fix := "Write completionMode: Indexed, or delete the field"
	j.refuse(indexed && ref.Completions == nil && ref.Parallelism != nil, j.target("completions"), "completionMode Indexed needs completions", "Add completions")
	j.refuse(!indexed && ref.BackoffLimitPerIndex != nil, j.target("backoffLimitPerIndex"), needsIndexed, fix)
	j.refuse(!indexed && ref.MaxFailedIndexes != nil, j.target("maxFailedIndexes"), needsIndexed, fix)
	j.refuse(!indexed && ref.SuccessPolicy != nil, j.target("successPolicy"), needsIndexed, fix)
	j.refuse(indexed && ref.MaxFailedIndexes != nil && ref.BackoffLimitPerIndex == nil, j.target("maxFailedIndexes"), "it needs backoffLimitPerIndex", "Add backoffLimitPerIndex")
	j.refuse(ref.MaxFailedIndexes != nil && ref.Completions != nil && *ref.MaxFailedIndexes > *ref.Completions, j.target("maxFailedIndexes"), "it exceeds completions", "Write at most completions")
	manual := isTrue(ref.ManualSelector)
	j.refuse(manual && ref.Selector == nil, j.target("manualSelector"), "manualSelector needs a selector", "Delete it; Kubernetes adds a selector to each Job")
	if manual && ref.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
		merged := labels.Merge(ref.Template.Labels, labels.Set{manifest.LabelName: j.manifest.Name}) // KEDA adds it
		j.refuse(err == nil && !selector.Matches(merged), j.target("selector"), "it does not match the labels of the template", "Write labels of the template, or delete selector and manualSelector")
	}
}

func (j *job) failurePolicy(ref *batchv1.JobSpec) {
	if ref.PodFailurePolicy == nil {
		return
	}
	placeOf := func(steps ...any) place {
		return j.place(append([]any{"spec", "jobTargetRef", "podFailurePolicy"}, steps...)...)
	}
	policy := ref.Template.Spec.RestartPolicy
	j.refuse(policy != corev1.RestartPolicyNever, j.place(j.pod("restartPolicy")...), "podFailurePolicy needs restartPolicy Never", "Write Never")
	j.refuse(ref.PodReplacementPolicy != nil && *ref.PodReplacementPolicy != batchv1.Failed, j.target("podReplacementPolicy"), "podFailurePolicy needs podReplacementPolicy Failed", "Write Failed, or delete the field")
	names := map[string]bool{}
	for _, c := range j.containers() {
		names[c.Name] = true
	}
	for i, r := range ref.PodFailurePolicy.Rules {
		j.refuse((r.OnExitCodes == nil) == (len(r.OnPodConditions) == 0), placeOf("rules", i), "a rule has either onExitCodes or onPodConditions", "Use one of the two")
		j.refuse(r.Action == batchv1.PodFailurePolicyActionFailIndex && ref.BackoffLimitPerIndex == nil, placeOf("rules", i, "action"), "FailIndex needs backoffLimitPerIndex", "Add backoffLimitPerIndex, or write FailJob")
		if codes := r.OnExitCodes; codes != nil {
			in := func(steps ...any) place { return placeOf(append([]any{"rules", i, "onExitCodes"}, steps...)...) }
			j.refuse(codes.ContainerName != nil && !names[*codes.ContainerName], in("containerName"), "the template has no container of this name", "Write the name of a container")
			sorted := slices.Compact(slices.Sorted(slices.Values(codes.Values)))
			j.refuse(!slices.Equal(sorted, codes.Values), in("values"), "the exit codes are not in ascending order without repetition", "Sort the values and delete repetitions")
			j.refuse(codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && slices.Contains(codes.Values, 0), in("values"), "0 is not an exit code of a failure", "Delete 0")
		}
	}
}

func (j *job) podFields(s *corev1.PodSpec) {
	placeOf := func(steps ...any) place { return j.place(j.pod(steps...)...) }
	j.refuse(len(s.EphemeralContainers) > 0, placeOf("ephemeralContainers"), "a template has no ephemeral containers", "Delete the field")
	j.refuse(s.DNSPolicy == corev1.DNSNone && (s.DNSConfig == nil || len(s.DNSConfig.Nameservers) == 0), placeOf("dnsPolicy"), "dnsPolicy None needs nameservers", "Add dnsConfig.nameservers, or write ClusterFirst")
	if s.DNSConfig != nil {
		for i, text := range s.DNSConfig.Nameservers {
			j.refuse(!address.accepts(text), placeOf("dnsConfig", "nameservers", i), address.reason, address.fix)
		}
	}
	j.refuse(s.HostPID && isTrue(s.ShareProcessNamespace), placeOf("shareProcessNamespace"), "hostPID excludes it", "Delete one of the two")
	onWindows := s.OS != nil && s.OS.Name == corev1.Windows
	j.refuse(onWindows && s.SecurityContext != nil && s.SecurityContext.FSGroup != nil, placeOf("securityContext", "fsGroup"), "a pod of Windows has no fsGroup", "Delete it, or write os.name: linux")
	j.labelsOf(s.NodeSelector, rejected, j.pod("nodeSelector")...)
	for i, t := range s.Tolerations {
		j.refuse(t.Operator == corev1.TolerationOpExists && t.Value != "", placeOf("tolerations", i, "value"), "operator Exists has no value", "Delete value, or write operator: Equal")
		j.refuse(t.Key == "" && t.Operator != corev1.TolerationOpExists, placeOf("tolerations", i), "a toleration without a key needs operator Exists", "Add the key of the taint")
		j.refuse(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, placeOf("tolerations", i, "tolerationSeconds"), "tolerationSeconds needs effect NoExecute", "Write effect: NoExecute, or delete tolerationSeconds")
	}
}

func (j *job) labelsOf(labels map[string]string, consequence string, steps ...any) {
	for key, value := range labels {
		position := j.key(append(slices.Clone(steps), key)...)
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			j.find(position, "Write at most 63 letters, digits, dots, - and _, after an optional domain and /", effect{text: "the key is not the name of a label, so " + consequence})
		case len(validation.IsValidLabelValue(value)) > 0:
			j.find(position, "Write at most 63 letters, digits, dots, - and _", effect{text: "the value is not allowed in a label, so " + consequence})
		}
	}
}

func (j *job) volumes(volumes []corev1.Volume) {
	visited := map[string]bool{}
	for i, v := range volumes {
		placeOf := func(steps ...any) place { return j.place(j.pod(append([]any{"volumes", i}, steps...)...)...) }
		j.refuse(visited[v.Name] && v.Name != "", placeOf("name"), "two volumes have this name", "Give each volume a name of its own")
		visited[v.Name] = true
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			claim := v.Ephemeral.VolumeClaimTemplate.Spec
			placeOf := func(steps ...any) place {
				return placeOf(append([]any{"ephemeral", "volumeClaimTemplate", "spec"}, steps...)...)
			}
			j.refuse(claim.Resources.Requests.Storage().IsZero(), placeOf("resources", "requests", "storage"), "a claim needs a size", "Write a size such as 10Gi")
			j.refuse(len(claim.AccessModes) == 0, placeOf("accessModes"), "a claim needs an access mode", "Add ReadWriteOnce")
		}
		j.refuse(v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() < 0, placeOf("emptyDir", "sizeLimit"), "it is negative", "Write 0 or more")
	}
}

func (j *job) containerFields(c container) {
	for i, e := range c.Env {
		j.refuse(e.Value != "" && e.ValueFrom != nil, j.in(c, "env", i, "valueFrom"), "value and valueFrom exclude each other", "Delete one of the two")
	}
	pod := &j.template.Template.Spec
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.TerminationGracePeriodSeconds != nil {
		grace = *pod.TerminationGracePeriodSeconds
	}
	if l := c.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
		j.refuse(l.PreStop.Sleep.Seconds > grace, j.in(c, "lifecycle", "preStop", "sleep", "seconds"), fmt.Sprintf("it exceeds terminationGracePeriodSeconds (%d)", grace),
			fmt.Sprintf("Write %d or less, or raise terminationGracePeriodSeconds", grace))
	}
	visited := map[string]bool{}
	for i, p := range c.Ports {
		j.refuse(pod.HostNetwork && p.HostPort != 0 && p.HostPort != p.ContainerPort, j.in(c, "ports", i, "hostPort"), "with hostNetwork it must equal containerPort", "Delete it")
		if p.Name == "" {
			continue
		}
		j.refuse(visited[p.Name], j.in(c, "ports", i, "name"), "two ports have this name", "Give each port a name of its own")
		visited[p.Name] = true
	}
	s := c.SecurityContext
	if s == nil {
		return
	}
	j.refuse(s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation,
		j.in(c, "securityContext", "allowPrivilegeEscalation"), "privileged excludes allowPrivilegeEscalation: false", "Delete privileged: true; if the container needs the node, delete allowPrivilegeEscalation")
}

func isTrue(b *bool) bool { return b != nil && *b }

// inCapitals matches a part such as TENANCY-NAMESPACE, in whose place somebody writes another.
var inCapitals = regexp.MustCompile(`(?:^|/)[A-Z]+(?:[_-][A-Z0-9]+)+(?:/|$)`)

// imageFault returns what makes the name of an image invalid, and its fix.
func imageFault(image string) (fault, fix string) {
	name, _, _ := strings.Cut(image, "@")
	host, repository, hasHost := strings.Cut(name, "/")
	if isHost := hasHost && (strings.ContainsAny(host, ".:") || host == "localhost"); !isHost {
		repository = name
	}
	repository, tag, hasTag := strings.Cut(repository, ":")
	switch {
	case hasTag && tag == "":
		return "the tag is empty", "Write a tag behind the colon"
	case strings.Contains(tag, ":"):
		return "the tag has a colon", "Write one tag, or a digest as NAME@sha256:DIGEST"
	case inCapitals.ReplaceAllString(repository, "/") != strings.ToLower(inCapitals.ReplaceAllString(repository, "/")):
		return "the repository has capital letters", "Write " + strings.Replace(image, repository, strings.ToLower(repository), 1)
	}
	return "", ""
}

// podNeverWorks finds what the API server accepts and the kubelet cannot do.
func podNeverWorks(j *job, c container) {
	if fault, fix := imageFault(c.Image); fault != "" {
		j.find(j.in(c, "image"), fix, effect{text: fault + ", so the kubelet refuses the name and the container never starts"})
	}
	j.runAs(c, j.template.Template.Spec.SecurityContext)
	request := c.Resources.Requests[corev1.ResourceMemory]
	position := j.in(c, "resources", "requests", "memory")
	if strings.HasSuffix(strings.Trim(position.found, `"`), "m") && request.Sign() > 0 {
		r := j.rule
		r.Severity = Warning
		j.add(r, position, "Write "+strings.TrimSuffix(strings.Trim(position.found, `"`), "m")+"Mi", effect{text: "m means a thousandth of a byte, so the scheduler assumes that the container needs no memory"})
	}
	q, limited := c.Resources.Limits[corev1.ResourceMemory]
	j.check(limited && q.Sign() > 0 && q.Cmp(resource.MustParse("1Mi")) < 0, j.in(c, "resources", "limits", "memory"), "Write a unit such as Mi or Gi",
		fmt.Sprintf("it is %s, so the container cannot start and the Job hangs", bytesOf(q)))
	for field, p := range map[string]*corev1.Probe{"livenessProbe": c.LivenessProbe, "startupProbe": c.StartupProbe} {
		if p == nil {
			continue
		}
		for source, port := range portsOf(p) {
			if port.Type == intstr.String && port.StrVal != "" && !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal }) {
				r, text := j.rule, "the container has no port of this name, so the init container never counts as started and the Job hangs"
				if field != "startupProbe" || c.list != "initContainers" {
					r.Severity, text = Warning, "the container has no port of this name, so the kubelet cannot probe it and the probe has no effect"
				}
				j.add(r, j.in(c, field, source, "port"), "Write a number, or the name of a port of the container", effect{text: text})
			}
		}
	}
}

// portsOf returns the ports of a probe by the field that has them.
func portsOf(p *corev1.Probe) map[string]intstr.IntOrString {
	ports := map[string]intstr.IntOrString{}
	if p.HTTPGet != nil {
		ports["httpGet"] = p.HTTPGet.Port
	}
	if p.TCPSocket != nil {
		ports["tcpSocket"] = p.TCPSocket.Port
	}
	return ports
}

func variableDuplicate(j *job, c container) {
	visited := map[string]bool{}
	for i, e := range c.Env {
		j.check(visited[e.Name] && e.Name != "", j.in(c, "env", i, "name"), "Delete one of the two", "the container has this variable twice, so the API server rejects the ScaledJob")
		visited[e.Name] = true
	}
}

var (
	// variablePattern matches $(NAME), and $$ before it, which is an escaped $.
	variablePattern = regexp.MustCompile(`(\$\$)|\$\(([A-Z][A-Z0-9_]*)\)`)
	// givenVariable are the names of variables that Kubernetes adds to a container.
	givenVariable = regexp.MustCompile(`^JOB_COMPLETION_INDEX$|_(SERVICE_HOST|SERVICE_PORT.*|PORT.*)$`)
)

// variableUnknown finds $(NAME) that Kubernetes does not replace.
func variableUnknown(j *job, c container) {
	if len(c.EnvFrom) > 0 {
		return
	}
	names := map[string]bool{}
	check := func(text string, steps ...any) {
		for _, m := range variablePattern.FindAllStringSubmatch(text, -1) {
			j.check(m[2] != "" && !names[m[2]] && !givenVariable.MatchString(m[2]), j.in(c, steps...), "Add it to the env of the container, or write a variable that it has",
				fmt.Sprintf("Kubernetes leaves $(%s) as it is, because the container has no such variable or defines it further down", m[2]))
		}
	}
	for i, e := range c.Env {
		check(e.Value, "env", i, "value")
		names[e.Name] = true
	}
	for field, words := range map[string][]string{"command": c.Command, "args": c.Args} {
		for i, word := range words {
			check(word, field, i)
		}
	}
}

// runAs finds user 0 where it is forbidden. A field of the container replaces the pod's.
func (j *job) runAs(c container, pod *corev1.PodSecurityContext) {
	var user *int64
	var nonRoot *bool
	position := j.place(j.pod("securityContext", "runAsUser")...)
	if pod != nil {
		user, nonRoot = pod.RunAsUser, pod.RunAsNonRoot
	}
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		user, position = s.RunAsUser, j.in(c, "securityContext", "runAsUser")
	}
	if s := c.SecurityContext; s != nil && s.RunAsNonRoot != nil {
		nonRoot = s.RunAsNonRoot
	}
	if user != nil && *user == 0 && nonRoot != nil && *nonRoot {
		j.find(position, "Write the ID of another user, such as 1000", effect{text: "runAsNonRoot forbids user 0, so the kubelet does not start the container and the Job hangs"})
	}
}

func (j *job) mounts(c container) {
	paths := map[string]bool{}
	for i, m := range c.VolumeMounts {
		placeOf := func(field string) place { return j.in(c, "volumeMounts", i, field) }
		j.refuse(paths[m.MountPath] && m.MountPath != "", placeOf("mountPath"), "another volume is mounted there", "Write another path")
		paths[m.MountPath] = true
		j.refuse(m.SubPath != "" && m.SubPathExpr != "", placeOf("subPathExpr"), "subPath and subPathExpr exclude each other", "Delete one of the two")
	}
}

// standard are the resources of containers without a domain.
var standard = []string{"cpu", "memory", "ephemeral-storage"}

func (j *job) resources(c container) {
	for field, list := range map[string]corev1.ResourceList{"requests": c.Resources.Requests, "limits": c.Resources.Limits} {
		for name, quantity := range list {
			position := j.in(c, "resources", field, string(name))
			unknown := !strings.Contains(string(name), "/") && !slices.Contains(standard, string(name)) && !strings.HasPrefix(string(name), "hugepages-")
			j.refuse(unknown, j.key(j.pod(c.list, c.index, "resources", field, string(name))...), "Kubernetes has no resource of this name", oneOf(string(name), standard))
			j.refuse(quantity.Sign() < 0, position, "it is negative", "Write 0 or more")
			if strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/") {
				limit, ok := c.Resources.Limits[name]
				j.refuse(field == "requests" && (!ok || limit.Cmp(quantity) != 0), position, "the limit of this resource must equal the request", "Write the same limit")
				j.refuse(quantity.MilliValue()%1000 != 0, position, "this resource is counted in whole numbers", "Write a whole number")
			}
		}
	}
}

func bytesOf(q resource.Quantity) string {
	if q.MilliValue() < 1000 {
		return "less than a byte"
	}
	return field.Plural(int(q.Value()), "byte")
}

func (j *job) probes(c container) {
	sidecar := c.list == "containers" || (c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways)
	for field, p := range map[string]*corev1.Probe{"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe} {
		if p == nil {
			continue
		}
		placeOf := func(steps ...any) place { return j.in(c, append([]any{field}, steps...)...) }
		j.refuse(!sidecar, placeOf(), "an init container has no probes", "Delete it; only a sidecar, with restartPolicy: Always, has one")
		j.refuse(field != "readinessProbe" && p.SuccessThreshold != 0 && p.SuccessThreshold != 1, placeOf("successThreshold"), "it must be 1", "Write 1")
		j.refuse(field == "readinessProbe" && p.TerminationGracePeriodSeconds != nil, placeOf("terminationGracePeriodSeconds"), "a readinessProbe does not have it", "Delete it")
		for source, port := range portsOf(p) {
			j.probePort(port, placeOf(source, "port"))
		}
	}
	j.refuse(!sidecar && c.Lifecycle != nil, j.in(c, "lifecycle"), "an init container has no lifecycle", "Delete it; only a sidecar, with restartPolicy: Always, has one")
}

func (j *job) probePort(port intstr.IntOrString, position place) {
	if position.empty() {
		return
	}
	if port.Type == intstr.Int {
		j.refuse(len(validation.IsValidPortNum(port.IntValue())) > 0, position, "it is not a port", "Write a port from 1 to 65535")
		return
	}
	j.refuse(len(validation.IsValidPortName(port.StrVal)) > 0, position, "it is not the name of a port", "Write a number without quotes, or the name of a port")
}

func restartPolicyMissing(j *job) {
	position, containers := j.place(j.pod("restartPolicy")...), j.template.Template.Spec.Containers
	if len(containers) == 0 || position.found != noValue || j.isPatch() {
		return
	}
	const text = "KEDA uses OnFailure: a failing container restarts in its pod, and at backoffLimit Kubernetes deletes the pod with its log"
	for i, c := range containers {
		if c.RestartPolicy != nil {
			j.find(j.key(j.pod("containers", i, "restartPolicy")...), "Move it to spec.jobTargetRef.template.spec.restartPolicy", effect{text: "it is set on the container, not on the pod. " + text})
			return
		}
	}
	j.find(position, "Write restartPolicy: Never, which keeps failed pods with their logs, or restartPolicy: OnFailure", effect{text: text})
}
