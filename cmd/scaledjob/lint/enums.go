package lint

import (
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

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
