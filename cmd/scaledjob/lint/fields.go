package lint

import (
	"cmp"
	"fmt"
	"math"
	gopath "path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// A fieldRule is a rule of the API server for the values of a field in a Job.
type fieldRule struct {
	accepts func(v any) bool // of a string, an int64, a list or a map
	reason  string
	fix     string
	limit   int64 // over it, reason and fix are others; 0 is none
}

func within(lower, limit int64) fieldRule {
	r := fieldRule{accepts: func(v any) bool { n, ok := v.(int64); return !ok || (lower <= n && n <= limit) }}
	switch {
	case limit < math.MaxInt32:
		r.reason, r.fix = fmt.Sprintf("it is not from %d to %d", lower, limit), fmt.Sprintf("Write %d to %d", lower, limit)
		return r
	case lower == 0:
		r.reason = "it is negative"
	default:
		r.reason = fmt.Sprintf("it is below %d", lower)
	}
	r.fix, r.limit = fmt.Sprintf("Write %d or more", lower), limit
	return r
}

// advice returns what is wrong with a value that the rule does not accept, and the fix.
func (r fieldRule) advice(v any) (reason, fix string) {
	if n, isNumber := v.(int64); isNumber && r.limit > 0 && n > r.limit {
		return fmt.Sprintf("it exceeds %d", r.limit), fmt.Sprintf("Write %d or less", r.limit)
	}
	return r.reason, r.fix
}

func mode() fieldRule {
	r := within(0, 0o777)
	r.reason, r.fix = "it is not from 0 to 0777", "Write the mode with a leading 0, such as 0644 (in JSON 420)"
	return r
}

// word is a rule for a string that is not empty.
func word(reason, fix string, accepts func(text string) bool) fieldRule {
	return fieldRule{accepts: func(v any) bool { s, ok := v.(string); return !ok || s == "" || accepts(s) }, reason: reason, fix: fix}
}

func named(noun, fix string, problems func(string) []string) fieldRule {
	return word("it is not the name of "+noun, fix, func(s string) bool { return len(problems(s)) == 0 })
}

func object(noun string) fieldRule {
	return named(noun, "Write lower-case letters, digits, dots and -", validation.IsDNS1123Subdomain)
}

var (
	nonEmpty = fieldRule{accepts: func(v any) bool {
		list, isList := v.([]any)
		return v != "" && (!isList || len(list) > 0)
	}, reason: "it is empty", fix: "Write a value"}
	volume   = named("a volume", dnsLabel, validation.IsDNS1123Label)
	host     = named("a host", dnsLabel, validation.IsDNS1123Label)
	local    = word("it is not a path within the volume", "Write a relative path in which no part is \"..\"", isLocal)
	address  = word("it is not an IP address", "Write an IP address", func(s string) bool { return len(validation.IsValidIPForLegacyField(nil, s, false, nil)) == 0 })
	positive = within(1, math.MaxInt32)
	natural  = within(0, math.MaxInt32)
)

const dnsLabel = "Write at most 63 lower-case letters, digits and -, with a letter or digit at both ends"

// isLocal reports whether a path stays within its directory.
func isLocal(p string) bool {
	return !gopath.IsAbs(p) && !slices.Contains(strings.Split(p, "/"), "..")
}

var (
	fieldPaths = regexp.MustCompile(`^(metadata\.(name|namespace|uid|labels|annotations|labels\['.+'\]|annotations\['.+'\])|` +
		`spec\.(nodeName|host|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs))$`)
	resourceFields = regexp.MustCompile(`^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$`)
)

// fieldRules are the rules by the type and the field's name in JSON.
var fieldRules = map[string][]fieldRule{
	"ConfigMapEnvSource.name": {object("a ConfigMap")}, "ConfigMapKeySelector.name": {object("a ConfigMap")}, "SecretEnvSource.name": {object("a Secret")},
	"SecretKeySelector.name": {object("a Secret")},
	"ContainerPort.hostPort": {within(0, 65535)},
	"ContainerPort.name":     {named("a port", "Write at most 15 lower-case letters, digits and -, with a letter among them, and a letter or digit at both ends", validation.IsValidPortName)},
	"CSIVolumeSource.driver": {nonEmpty}, "ConfigMapVolumeSource.defaultMode": {mode()}, "ConfigMapVolumeSource.name": {nonEmpty},
	"DownwardAPIVolumeFile.mode": {mode()}, "DownwardAPIVolumeFile.path": {nonEmpty, local}, "DownwardAPIVolumeSource.defaultMode": {mode()},
	"EnvVar.name":               {nonEmpty, named("a variable", "Write letters, digits and _", validation.IsRelaxedEnvVarName)},
	"EnvFromSource.prefix":      {named("a variable", "Write letters, digits and _", validation.IsRelaxedEnvVarName)},
	"ExecAction.command":        {nonEmpty},
	"HostAlias.ip":              {address},
	"HostPathVolumeSource.path": {nonEmpty, word("it has ..", "Write a path in which no part is \"..\"", func(s string) bool { return !slices.Contains(strings.Split(s, "/"), "..") })},
	"JobSpec.managedBy":         {word("it has no domain", "Write it as example.com/controller", func(s string) bool { return strings.Contains(s, "/") })},
	"KeyToPath.key":             {nonEmpty}, "KeyToPath.mode": {mode()}, "KeyToPath.path": {nonEmpty, local},
	"NFSVolumeSource.path": {nonEmpty, word("it is not an absolute path", "Write a path that begins with /", gopath.IsAbs)}, "NFSVolumeSource.server": {nonEmpty},
	"NodeSelector.nodeSelectorTerms":              {nonEmpty},
	"ObjectFieldSelector.fieldPath":               {word("there is no such field", "Write a field such as metadata.name or status.podIP", fieldPaths.MatchString)},
	"PersistentVolumeClaimVolumeSource.claimName": {nonEmpty},
	"PodReadinessGate.conditionType":              {named("a condition", "Write letters, digits, dots, - and _, after an optional domain and /", validation.IsQualifiedName)},
	"PodAffinityTerm.topologyKey":                 {nonEmpty}, "TopologySpreadConstraint.topologyKey": {nonEmpty}, "TopologySpreadConstraint.maxSkew": {positive},
	"PodFailurePolicyOnExitCodesRequirement.values": {nonEmpty}, "SuccessPolicy.rules": {nonEmpty},
	"PodFailurePolicyOnPodConditionsPattern.status": {word("it is not a status", "Write True, False or Unknown", func(s string) bool { return slices.Contains([]string{"True", "False", "Unknown"}, s) })},
	"PodSecurityContext.fsGroup":                    {natural}, "PodSecurityContext.runAsGroup": {natural}, "PodSecurityContext.runAsUser": {natural},
	"SecurityContext.runAsGroup": {natural}, "SecurityContext.runAsUser": {natural},
	"PodSpec.activeDeadlineSeconds": {positive}, "PodSpec.hostname": {host}, "PodSpec.subdomain": {host},
	"PodSpec.priorityClassName": {object("a PriorityClass")}, "PodSpec.runtimeClassName": {object("a RuntimeClass")}, "PodSpec.serviceAccountName": {object("a ServiceAccount")},
	"PreferredSchedulingTerm.weight": {within(1, 100)}, "WeightedPodAffinityTerm.weight": {within(1, 100)},
	"Probe.failureThreshold": {natural}, "Probe.initialDelaySeconds": {natural}, "Probe.periodSeconds": {natural}, "Probe.successThreshold": {natural},
	"Probe.terminationGracePeriodSeconds": {positive}, "Probe.timeoutSeconds": {natural},
	"ProjectedVolumeSource.defaultMode": {mode()},
	"ResourceFieldSelector.resource":    {word("there is no such resource", "Write a resource such as limits.cpu or requests.memory", resourceFields.MatchString)},
	"SecretVolumeSource.defaultMode":    {mode()}, "SecretVolumeSource.secretName": {nonEmpty},
	"ServiceAccountTokenProjection.expirationSeconds": {within(600, 1<<32)},
	"Toleration.key":        {named("a taint", "Write letters, digits, dots, - and _, after an optional domain and /", validation.IsQualifiedName)},
	"Toleration.value":      {word("a taint cannot have this value", "Write at most 63 letters, digits, dots, - and _", func(s string) bool { return len(validation.IsValidLabelValue(s)) == 0 })},
	"Volume.name":           {volume},
	"VolumeMount.mountPath": {nonEmpty}, "VolumeMount.subPath": {local},
}

// requiredInJob are fields that the CRD does not require, and a Job does.
var requiredInJob = map[string]string{
	"ConfigMapEnvSource": "name", "ConfigMapKeySelector": "name", "ConfigMapVolumeSource": "name", "ExecAction": "command",
	"SecretEnvSource": "name", "SecretKeySelector": "name", "SecretVolumeSource": "secretName",
}

// absent reports a field that a Job requires.
func (r *reader) absent(t reflect.Type, present map[string]bool, path tree.Path) {
	if name := requiredInJob[t.Name()]; name != "" && !present[name] {
		r.c.add(inTemplate, r.place(path.Step(name)...), "Add "+name, effect{text: rejected})
	}
}

// listKeys are the fields that must differ between the items of a list, by the list's type and name in JSON, unless another rule
// compares them. Since 2.16, the CRD also has those of one field.
var listKeys = map[string][]string{
	"Container.ports": {"containerPort", "protocol"}, "PodSpec.topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"PodSpec.imagePullSecrets": {"name"}, "PodSpec.hostAliases": {"ip"}, "Container.volumeDevices": {"devicePath"},
}

// repeated reports the items of a list that have the same key as an earlier one.
func (r *reader) repeated(fields []string, path tree.Path) {
	var since condition
	if len(fields) == 1 {
		since = from("2.16.0")
	}
	visited := map[string]bool{}
	for i := 0; fields != nil && i < r.length(path...); i++ {
		id := ""
		for _, name := range fields {
			id += " " + cmp.Or(r.text(path.Step(i).Step(name)...), map[string]string{"protocol": "TCP"}[name])
		}
		if position := r.place(path.Step(i).Step(fields[0])...); visited[id] && !position.empty() {
			r.c.add(inTemplate, position, "Delete one of the two, or write another value",
				effect{affected: since, text: "an earlier item has the same " + strings.Join(fields, " and ") + ", so " + refusal})
		}
		visited[id] = true
	}
}

// selectors are the types with an operator and values.
var selectors = []string{"LabelSelectorRequirement", "NodeSelectorRequirement"}

// field reports a value that the API server does not allow in a field of a Job.
func (r *reader) field(t reflect.Type, name string, n *yaml.Node, path tree.Path) {
	for _, rule := range fieldRules[t.Name()+"."+name] {
		if v := numberOf(n); !rule.accepts(v) {
			reason, fix := rule.advice(v)
			position, text := r.place(path...), reason+", so "+rejected
			if position.found == emptyList {
				fix, text = "Add an item", rejected
			}
			r.c.add(inTemplate, position, fix, effect{text: text})
			return
		}
	}
}

// numberOf returns a value, and of each whole number an int64.
func numberOf(n *yaml.Node) any {
	v := tree.Plain(n)
	if number, ok := v.(float64); ok && number == math.Trunc(number) {
		return int64(number)
	}
	return v
}

// selector reports an operator with the wrong number of values.
func (r *reader) selector(path tree.Path) {
	operator, values := r.text(path.Step("operator")...), r.length(path.Step("values")...)
	refuse := func(reason, fix string) {
		r.c.add(inTemplate, r.place(path.Step("values")...), fix, effect{text: "operator " + operator + " " + reason + ", so " + rejected})
	}
	switch {
	case (operator == "In" || operator == "NotIn") && values == 0:
		refuse("needs values", "Add values, or write operator: Exists")
	case (operator == "Exists" || operator == "DoesNotExist") && values > 0:
		refuse("has no values", "Delete values, or write operator: In")
	case (operator == "Gt" || operator == "Lt") && values != 1:
		refuse("needs one value", "Write one value")
	}
}

// enums holds the values that the API server allows in a Job, by type.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[batchv1.CompletionMode]():                      {"NonIndexed", "Indexed"},
	reflect.TypeFor[batchv1.PodReplacementPolicy]():                {"TerminatingOrFailed", "Failed"},
	reflect.TypeFor[batchv1.PodFailurePolicyAction]():              {"FailJob", "FailIndex", "Ignore", "Count"},
	reflect.TypeFor[batchv1.PodFailurePolicyOnExitCodesOperator](): {"In", "NotIn"},
	reflect.TypeFor[metav1.LabelSelectorOperator]():                {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeFor[corev1.NodeSelectorOperator]():                 {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[corev1.TolerationOperator]():                   {"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[corev1.TaintEffect]():                          {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction]():        {"DoNotSchedule", "ScheduleAnyway"},
	reflect.TypeFor[corev1.NodeInclusionPolicy]():                  {"Honor", "Ignore"},
	reflect.TypeFor[corev1.Protocol]():                             {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[corev1.URIScheme]():                            {"HTTP", "HTTPS"},
	reflect.TypeFor[corev1.DNSPolicy]():                            {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	reflect.TypeFor[corev1.TerminationMessagePolicy]():             {"File", "FallbackToLogsOnError"},
	reflect.TypeFor[corev1.MountPropagationMode]():                 {"None", "HostToContainer", "Bidirectional"},
	reflect.TypeFor[corev1.RecursiveReadOnlyMode]():                {"Disabled", "IfPossible", "Enabled"},
	reflect.TypeFor[corev1.HostPathType]():                         {"DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"},
	reflect.TypeFor[corev1.PersistentVolumeAccessMode]():           {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	reflect.TypeFor[corev1.PersistentVolumeMode]():                 {"Filesystem", "Block"},
	reflect.TypeFor[corev1.SeccompProfileType]():                   {"RuntimeDefault", "Localhost", "Unconfined"},
	reflect.TypeFor[corev1.AppArmorProfileType]():                  {"RuntimeDefault", "Localhost", "Unconfined"},
	reflect.TypeFor[corev1.PodFSGroupChangePolicy]():               {"OnRootMismatch", "Always"},
	reflect.TypeFor[corev1.SupplementalGroupsPolicy]():             {"Merge", "Strict"},
	reflect.TypeFor[corev1.ProcMountType]():                        {"Default", "Unmasked"},
	reflect.TypeFor[corev1.PreemptionPolicy]():                     {"PreemptLowerPriority", "Never"},
	reflect.TypeFor[corev1.OSName]():                               {"linux", "windows"},
	reflect.TypeFor[corev1.ResourceResizeRestartPolicy]():          {"NotRequired", "RestartContainer"},
	reflect.TypeFor[corev1.ContainerRestartPolicy]():               {"Always", "OnFailure", "Never"},
	reflect.TypeFor[corev1.PullPolicy]():                           {"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[corev1.RestartPolicy]():                        {"Never", "OnFailure"},
}

// ofEnums are the rules of types of enums with a rule of their own.
var ofEnums = map[reflect.Type]Rule{reflect.TypeFor[corev1.PullPolicy](): pullUnknown, reflect.TypeFor[corev1.RestartPolicy](): restartUnknown}

// unions holds the types of which an object has exactly one pointer field, or at most one if
// the value is false.
var unions = map[reflect.Type]bool{
	reflect.TypeFor[corev1.VolumeSource]():     false, // none is an emptyDir
	reflect.TypeFor[corev1.VolumeProjection](): false,
	reflect.TypeFor[corev1.EnvVarSource]():     true,
	reflect.TypeFor[corev1.EnvFromSource]():    true,
	reflect.TypeFor[corev1.ProbeHandler]():     true,
	reflect.TypeFor[corev1.LifecycleHandler](): true,
}

// enumerated reports a text that its type does not allow.
func (r *reader) enumerated(text string, t reflect.Type, path tree.Path) {
	rule, special := ofEnums[t]
	if !special {
		rule = inTemplate
	}
	always := rule == restartUnknown && text == "Always" // of which restart-policy-always is
	if values := enums[t]; values != nil && text != "" && !always && !slices.Contains(values, text) {
		r.c.add(rule, r.place(path...), oneOf(text, values), effect{text: rejected})
	}
}

// united reports an object without the one source that its type needs, or with several.
func (r *reader) united(t reflect.Type, present map[string]bool, path tree.Path) {
	for f := range t.Fields() {
		if f.Anonymous {
			r.united(f.Type, present, path)
		}
	}
	required, ok := unions[t]
	if !ok {
		return
	}
	var chosen, fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		if fields = append(fields, name); present[name] {
			chosen = append(chosen, name)
		}
	}
	noun := "source"
	if strings.HasSuffix(t.Name(), "Handler") || t.Name() == "Probe" {
		noun = "handler"
	}
	slices.Sort(chosen)
	slices.Sort(fields)
	switch {
	case len(chosen) > 1:
		r.c.add(inTemplate, r.place(path.Step(chosen[1])...), "Delete all but one of "+strings.Join(chosen, ", "), effect{text: "only one " + noun + " is allowed, so " + rejected})
	case len(chosen) == 0 && required:
		r.c.add(inTemplate, r.place(path...), "Give one of "+strings.Join(fields, ", "), effect{text: "it has no " + noun + ", so " + rejected})
	}
}
