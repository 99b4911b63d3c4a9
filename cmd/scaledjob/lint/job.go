package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// checkFile reports on each document of a file, and counts its ScaledJobs and ScheduledJobs.
func (c *collector) checkFile(f *File, report *Report) {
	placeholders, first := map[string]bool{}, place{}
	c.eachDocument(f, func(d *document) {
		c.misspelled(d)
		switch {
		case c.full(f.Name):
		case d.isScaledJob():
			report.ScaledJobs++
			c.scaledJob(d)
			placeholdersOf(d, placeholders, &first)
		case c.scheduled != nil && d.isScheduledJob():
			report.Scheduled++
			c.scheduledJob(d)
		}
		c.object, c.moved = "", map[string]bool{}
	})
	c.notePlaceholders(placeholders, first)
}

// scaledJob checks a ScaledJob with each rule.
func (c *collector) scaledJob(d *document) {
	c.duplicateScaledJob(d)
	c.object = d.name()
	c.checkKind(d)
	j := newJob(d, c)
	for _, r := range rules {
		if r.check != nil && !slices.ContainsFunc(compared[r.ID], j.replacedLater) {
			j.rule = r.Rule
			r.check(j)
		}
	}
}

// checkKind reports another kind or version than KEDA's.
func (c *collector) checkKind(d *document) {
	want := manifest.GroupVersionKind
	if kind := d.kind(); kind != want.Kind {
		c.edit(d.node("kind"), kind, want.Kind)
		c.add(wrongKind, d.place("kind"), "Write "+want.Kind, effect{text: refusal})
	}
	if version := want.GroupVersion().String(); d.text("apiVersion") != version {
		if n := d.node("apiVersion"); n != nil {
			c.edit(n, n.Value, version)
		}
		c.add(wrongVersion, d.place("apiVersion"), "Write "+version, effect{text: "the API server rejects it, or takes it for another kind of object"})
	}
}

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

// newJob reads a ScaledJob.
func newJob(d *document, c *collector) *job {
	s := new(manifest.ScaledJob)
	r := c.read(d, manifest.GroupVersionKind.Kind, s)
	j := &job{document: d, collector: c, reader: r, manifest: s, spec: &s.Spec, model: s.KEDA(), mixedIn: map[string]bool{}}
	j.authentications, j.references = sync.OnceValue(j.findAuthentications), sync.OnceValue(j.findReferences)
	j.metadata, j.variablesOf = sync.OnceValue(j.findMetadataProblems), sync.OnceValue(j.findVariables)
	j.sources, j.volumeNames = sync.OnceValue(j.findSources), sync.OnceValues(j.findVolumes)
	j.lists, j.metadataOf = sync.OnceValue(j.findLists), sync.OnceValue(j.groupMetadataProblems)
	j.config, j.problems = configOf(s)
	if j.template = s.Spec.JobTargetRef; j.template == nil {
		j.template = new(batchv1.JobSpec)
	}
	return j
}

// read reads an object of a kind. It reports unknown fields and values of the wrong type, and leaves them out.
func (c *collector) read(d *document, kind string, into any) *reader {
	r := &reader{document: d, c: c, kind: kind, schema: reflect.TypeOf(into).Elem()}
	unknown, wrong := tree.Decode(d.root, into, field.Decoder{Unknown: r.meant, Form: manifest.Form, Visit: r.visit, Quote: true}, encrypted)
	for _, e := range unknown {
		r.unknown(r.unknownAt(e.Path), e.Fix)
	}
	for _, e := range wrong {
		r.unfit(d.path(e.Path), e.Fix)
	}
	return r
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

// eachTrigger returns the check of all triggers.
func eachTrigger(check func(j *job, i int, t *manifest.ScaleTrigger)) func(*job) {
	return func(j *job) {
		for i := range j.spec.Triggers {
			check(j, i, &j.spec.Triggers[i])
		}
	}
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

// duplicateScaledJob reports a ScaledJob that the files of a directory have twice.
func (c *collector) duplicateScaledJob(d *document) {
	position := d.place("metadata", "name")
	key := seat{lookup{d.kind(), d.text("metadata", "namespace"), d.text("metadata", "name")}, directory(d.file)}
	if key.name == "" || triggers.Placeholder.MatchString(key.name) {
		return
	}
	if first, repeated := c.firsts[key]; repeated {
		location := fmt.Sprintf("line %d", first.line)
		if first.file != d.file {
			location = fmt.Sprintf("%s:%d", first.file, first.line)
		}
		c.add(duplicateObject, position, "Delete one of the two, or rename it", effect{text: location + " has a ScaledJob of this name too, and the one that is applied last wins"})
		return
	}
	c.firsts[key] = position
}

func (c *collector) scheduledJob(d *document) {
	c.object = d.name()
	text, rejected := yaml.Marshal(d.root) // which fails for a tag that does not fit its value
	var surprising []*field.Error
	if rejected == nil {
		surprising, rejected = c.scheduled(text)
	}
	if rejected != nil && field.All(rejected) == nil { // such as a key that is no string
		c.add(scheduledInvalid, d.place("kind"), "Correct the YAML", effect{text: rejected.Error()})
	}
	for rule, problems := range map[Rule][]*field.Error{scheduledInvalid: field.All(rejected), scheduledSurprise: surprising} {
		for _, p := range problems {
			position := d.place(d.path(p.Path)...)
			position.path = p.Path
			if strings.HasPrefix(p.Found, position.found) { // and says more
				position.found = p.Found
			}
			fix, text := p.Fix, rule.Doc
			if before, reason, found := strings.Cut(fix, "; "); found && rule == scheduledSurprise {
				fix, text = before, reason
			}
			c.add(rule, position, "Use "+fix, effect{text: text})
		}
	}
}

func (d *document) isScheduledJob() bool {
	return d.kind() == "ScheduledJob" && strings.HasPrefix(d.text("apiVersion"), "scaledjob.github.io/")
}

// isScaledJob reports whether an object is meant to be KEDA's: other groups have a kind of this name too.
func (d *document) isScaledJob() bool {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	kedaGroup := manifest.GroupVersionKind.Group
	similar := group == kedaGroup || group == "keda.k8s.io" || !strings.Contains(group, ".") || triggers.Misspells(group, kedaGroup) // a custom resource's group has a dot
	return strings.EqualFold(d.kind(), manifest.GroupVersionKind.Kind) && similar
}
