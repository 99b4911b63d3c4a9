package lint

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A job is a ScaledJob that is being checked, with the inputs of the rules.
type job struct {
	*document
	*collector
	reader *reader
	rule   Rule

	manifest *manifest.ScaledJob
	spec     *manifest.Spec
	template *batchv1.JobSpec // empty if the ScaledJob has none
	model    *keda.ScaledJob  // the same, as package keda reads it
	config   manifest.Config
	problems []*field.Error // of config
	objects  *index
	// Found once, when a rule asks.
	authentications func() []authentication
	references      func() []reference
	metadata        func() []*metadataProblem
	metadataOf      func() map[triggerKey][]*metadataProblem
	variablesOf     func() map[string]*corev1.EnvVar // the container that KEDA reads
	sources         func() sources                   // of that container
	lists           func() map[string]bool           // of Redis, by type and name
	volumeNames     func() ([]string, map[string]bool)
	mixedIn         map[string]bool // by release
}

func (c *collector) check(d *document, objects *index) {
	s := new(manifest.ScaledJob)
	r := c.read(d, manifest.GroupVersionKind.Kind, s)
	j := &job{document: d, collector: c, reader: r, manifest: s, spec: &s.Spec, model: s.KEDA(), objects: objects, mixedIn: map[string]bool{}}
	j.authentications, j.references = sync.OnceValue(j.findAuthentications), sync.OnceValue(j.findReferences)
	j.metadata, j.variablesOf = sync.OnceValue(j.findMetadataProblems), sync.OnceValue(j.findVariables)
	j.sources, j.volumeNames = sync.OnceValue(j.findSources), sync.OnceValues(j.findVolumes)
	j.lists, j.metadataOf = sync.OnceValue(j.findLists), sync.OnceValue(j.groupMetadataProblems)
	j.config, j.problems = configOf(s)
	if j.template = s.Spec.JobTargetRef; j.template == nil {
		j.template = new(batchv1.JobSpec)
	}
	for _, r := range rules {
		if r.check != nil && !slices.ContainsFunc(compared[r.ID], j.replacedLater) {
			j.rule = r.Rule
			r.check(j)
		}
	}
}

// compared are the fields of spec that a rule compares with others, by its ID. The rule is skipped if a tool
// replaces one of them.
var compared = map[string][]string{
	"min-without-max": {"maxReplicaCount"}, "percentage-no-effect": {"maxReplicaCount"}, "custom-exceeds-max": {"maxReplicaCount", "scalingStrategy.customScalingQueueLengthDeduction"},
	"custom-without-deduction": {"scalingStrategy.customScalingQueueLengthDeduction"}, "custom-parameters-unused": {"scalingStrategy.strategy"},
	"pending-conditions-unused": {"scalingStrategy.strategy"}, "rollout-deprecated": {"rolloutStrategy", "rollout.strategy"},
	"rollout-deprecated-wins": {"rolloutStrategy", "rollout.strategy"}, "propagation-unused": {"rolloutStrategy", "rollout.strategy"},
}

// replacedLater reports whether a tool replaces the value of a field of spec.
func (d *document) replacedLater(field string) bool {
	return triggers.Placeholder.MatchString(spec{d}.text(field))
}

// configOf reads the ScaledJob as adapter does, with any target for types of
// triggers that it does not know.
func configOf(s *manifest.ScaledJob) (manifest.Config, []*field.Error) {
	targets := map[string]float64{}
	for _, t := range s.Spec.Triggers {
		if !slices.Contains(manifest.TriggerTypes(), t.Type) {
			targets[t.Type] = 1
		}
	}
	config, err := s.Config(targets)
	return config, field.All(err)
}

// find adds a finding of the rule that is being checked.
func (j *job) find(position place, want string, effects ...effect) {
	j.add(j.rule, position, want, effects...)
}

// check adds a finding with one effect if there is a problem.
func (j *job) check(problem bool, position place, want, text string) {
	if problem {
		j.find(position, want, effect{text: text})
	}
}

// checkPolls is check for a problem with which KEDA never polls.
func (j *job) checkPolls(problem bool, position place, want, text string) {
	if problem {
		j.find(position, want, effect{text: text, neverPolls: true})
	}
}

// eachTrigger returns the check of all triggers.
func eachTrigger(check func(j *job, i int, t *manifest.ScaleTrigger)) func(*job) {
	return func(j *job) {
		for i := range j.spec.Triggers {
			check(j, i, &j.spec.Triggers[i])
		}
	}
}

// note is find with the severity Note.
func (j *job) note(position place, want string, effects ...effect) {
	r := j.rule
	r.Severity = Note
	j.add(r, position, want, effects...)
}

// refused returns the condition that the API server rejects the field's value.
func (j *job) refused(path string) condition {
	return func(p keda.Profile) bool {
		return slices.ContainsFunc(field.All(p.Validate(j.model)), func(e *field.Error) bool { return e.Path == path })
	}
}

// unwrap returns the errors that were joined.
func unwrap(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}
