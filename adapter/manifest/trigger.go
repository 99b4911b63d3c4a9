package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Trigger holds the numbers that turn a queue length into a metric.
type Trigger struct {
	// Name is the trigger's name, else its type. If another trigger has that name,
	// a number follows: redis, redis-2.
	Name                string
	Type                string
	Target              float64 // target average value: items per Job
	ActivationThreshold float64
}

// Metric returns the trigger's metric at a queue length. NaN is a queue that could not
// be read.
func (t Trigger) Metric(queue float64) scaling.Metric {
	return scaling.Metric{
		Name: t.Name, Value: queue, Target: t.Target, ActivationThreshold: t.ActivationThreshold, Failed: math.IsNaN(queue),
	}
}

// Triggers returns the triggers alone, as [ScaledJob.Config] does. With an error
// it returns all triggers too; an invalid trigger has Target 0.
func (s *ScaledJob) Triggers(targets map[string]float64) ([]Trigger, error) {
	r := reader{spec: &s.Spec}
	triggers := r.triggers(targets)
	return triggers, r.problems.Err()
}

func (r *reader) triggers(targets map[string]float64) []Trigger {
	if len(r.spec.Triggers) == 0 {
		r.problems.Add(field.Error{Path: "spec.triggers", Found: "none", Fix: "at least one trigger"})
	}
	triggers := make([]Trigger, len(r.spec.Triggers))
	for i, name := range TriggerNames(r.spec.Triggers) {
		written := r.spec.Triggers[i]
		triggers[i] = Trigger{Name: name, Type: written.Type}
		r.trigger(fmt.Sprintf("spec.triggers[%d]", i), written, &triggers[i], targets)
	}
	return triggers
}

// TriggerNames returns a name for each trigger, all different. Names in the manifest
// are taken first, so that no other name gets the number of such a name.
func TriggerNames(triggers []ScaleTrigger) []string {
	names, used, last := make([]string, len(triggers)), map[string]bool{}, map[string]int{}
	for i, t := range triggers {
		if t.Name != "" && !used[t.Name] {
			names[i], used[t.Name] = t.Name, true
		}
	}
	for i, t := range triggers {
		if names[i] != "" {
			continue
		}
		name := cmp.Or(t.Name, t.Type)
		names[i] = name
		for n := max(2, last[name]+1); used[names[i]]; n++ {
			names[i], last[name] = fmt.Sprintf("%s-%d", name, n), n
		}
		used[names[i]] = true
	}
	return names
}

func (r *reader) trigger(path string, in ScaleTrigger, t *Trigger, targets map[string]float64) {
	if in.Type == "" {
		r.problems.Check(false, path+".type", nil, "the type of a trigger")
		return
	}
	variants, supported := triggerKeys[in.Type]
	var k keys
	if supported {
		k = choose(variants, in.Metadata)
		t.ActivationThreshold = k.inactive
		r.decimal(path, in.Metadata, k.activation, &t.ActivationThreshold, false)
		t.ActivationThreshold *= cmp.Or(k.unit, 1)
	}
	target, ok := targets[t.Name]
	if !ok {
		target, ok = targets[in.Type]
	}
	switch {
	case ok:
		t.Target = target
		if (scaling.Metric{Target: target}).Validate() != nil {
			r.problems.Add(field.Error{Path: path, Found: fmt.Sprintf("%v as the target given for %s", target, t.Name), Fix: "a positive, finite number"})
		}
	case supported:
		r.target(path, in.Metadata, k, t)
		r.unused(path, in.Metadata, k, variants)
	case otherTypes[in.Type] != "":
		r.problems.Check(false, path+".type", in.Type, otherTypes[in.Type])
	default:
		r.problems.Check(false, path+".type", in.Type, fmt.Sprintf(
			"a type of KEDA, such as rabbitmq, or a target average value given by the caller for %q", t.Name))
	}
	if k.full {
		t.ActivationThreshold = max(0, t.Target-1)
	}
}

func (r *reader) target(path string, metadata map[string]string, k keys, t *Trigger) {
	t.Target = k.unset
	switch key := k.set(metadata); {
	case key != "":
		r.decimal(path, metadata, key, &t.Target, true)
		t.Target *= cmp.Or(k.unit, 1)
	case k.unset == 0:
		r.problems.Check(false, path+".metadata."+k.target[0], nil, fmt.Sprintf("the items that one Job serves, such as %s: \"5\"", k.target[0]))
	}
}

// unused warns of targets other than the target that counts.
func (r *reader) unused(path string, metadata map[string]string, counts keys, variants []keys) {
	for _, k := range variants {
		if key := k.set(metadata); key != "" && !slices.Contains(counts.target, key) {
			r.warnings.Check(false, path+".metadata."+key, metadata[key], "only "+counts.target[0]+", which counts")
		}
	}
}

// decimal reads a decimal into n, which stays as it is if the key is unset.
func (r *reader) decimal(path string, metadata map[string]string, key string, n *float64, positive bool) {
	text := value(metadata, key)
	if text == "" {
		return
	}
	x, err := strconv.ParseFloat(text, 64)
	m, fix := scaling.Metric{Target: 1, ActivationThreshold: x}, "a number of 0 or more, in quotes"
	if positive {
		m, fix = scaling.Metric{Target: x}, `a positive number in quotes, such as "5"`
	}
	r.problems.Check(err == nil && m.Validate() == nil, path+".metadata."+key, text, fix)
	*n = x
}

// TriggerTypes returns the types whose target a manifest gives, sorted: the target is in
// the metadata or constant.
func TriggerTypes() []string { return slices.Sorted(maps.Keys(triggerKeys)) }
