package lint

import (
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
)

// early are the conditions that hold before a container runs.
var early = []string{"PodScheduled", "Initialized", "PodReadyToStartContainers"}

// podConditions are the conditions that Kubernetes sets.
var podConditions = append([]string{"Ready", "ContainersReady", "DisruptionTarget"}, early...)

// readsPending reports whether the strategy looks at pending Jobs.
func (j *job) readsPending() bool {
	name := j.spec.ScalingStrategy.Strategy
	return name == "accurate" || name == "eager"
}

// readConditions returns the pending conditions that the strategy looks at.
func (j *job) readConditions() []string {
	if !j.readsPending() {
		return nil
	}
	return j.spec.ScalingStrategy.PendingPodConditions
}

// pendingWith returns the condition that a Job counts as pending although this number of
// pods run and have all of the conditions.
func (j *job) pendingWith(pods int, names ...string) condition {
	pod, model := keda.Pod{Phase: "Running"}, *j.model
	model.Spec.ScalingStrategy.PendingPodConditions = names
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		pod.Conditions = append(pod.Conditions, keda.Condition{Type: name, Status: "True"})
	}
	jobs := []keda.Job{{Pods: slices.Repeat([]keda.Pod{pod}, pods)}}
	return func(p keda.Profile) bool { return p.Count(&model, jobs).Pending > 0 }
}

func pendingConditionDuplicate(j *job) {
	visited := map[string]bool{}
	for i, name := range j.readConditions() {
		if visited[name] {
			j.find(j.place("spec", "scalingStrategy", "pendingPodConditions", i), "List each condition once",
				effect{affected: j.pendingWith(1, name, name), text: "no pod meets the list, because a pod has each condition once. Every unfinished Job counts as pending"})
		}
		visited[name] = true
	}
}

func pendingConditionMisspelled(j *job) {
	var gates []string
	for _, gate := range j.template.Template.Spec.ReadinessGates {
		gates = append(gates, string(gate.ConditionType))
	}
	for i, name := range j.readConditions() {
		if slices.Contains(podConditions, name) || slices.Contains(gates, name) {
			continue
		}
		position := j.place("spec", "scalingStrategy", "pendingPodConditions", i)
		switch meant := nearest(name, podConditions); {
		case meant != "":
			j.find(position, "Write "+meant, effect{affected: supports(keda.PendingConditions), text: "every unfinished Job counts as pending, because no pod ever has this condition"})
		case isExample(name):
			j.find(position, "Delete it, or add a readinessGate of this name",
				effect{affected: supports(keda.PendingConditions), text: "every unfinished Job counts as pending, because the name is an example of KEDA's documentation and no pod has this condition"})
		}
	}
}

// isExample reports whether a condition is copied from KEDA's documentation.
func isExample(name string) bool { return strings.HasSuffix(name, "CustomPodCondition") }

func pendingConditionsTooEarly(j *job) {
	names := j.readConditions()
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(early, name) }) {
		return
	}
	j.find(j.place("spec", "scalingStrategy", "pendingPodConditions"), "Add Ready",
		effect{affected: conjunction(supports(keda.PendingConditions), j.selects()),
			text: "starting Jobs do not count as pending, because these conditions hold before a container runs"})
}

func pendingConditionsSeveralPods(j *job) {
	names := j.readConditions()
	if len(names) == 0 || j.podsAtOnce() < 2 {
		return
	}
	j.find(j.place("spec", "jobTargetRef", "parallelism"), "Use KEDA 2.18 or later, or delete pendingPodConditions",
		effect{affected: conjunction(j.pendingWith(2, names[0]), not(j.pendingWith(1, names[0]))),
			text: "KEDA adds up the true conditions of all pods and expects as many as the list has, so a Job with two ready pods counts as pending"})
}

func pendingConditionsUnused(j *job) {
	names := j.spec.ScalingStrategy.PendingPodConditions
	text, fix := "only accurate and eager use pending Jobs", "Delete the field, or use the strategy accurate or eager"
	if i := slices.IndexFunc(names, isExample); i >= 0 {
		text, fix = text+", and "+names[i]+" is an example of KEDA's documentation", "Delete the field"
	}
	j.check(len(names) > 0 && !j.readsPending(), j.place("spec", "scalingStrategy", "pendingPodConditions"), fix, text)
}
