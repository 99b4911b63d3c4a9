package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scaledjob/scaledjob/field"
)

// Read reads the ScaledJobs in a text of YAML or JSON: its documents, and the items
// of its lists. Objects of other kinds are ignored.
//
// It returns an error if there is no ScaledJob, or if a ScaledJob has an unknown field, a
// value of the wrong type, or a duplicate key. The error joins all problems, each a
// [*field.Error] if it is about a field. A quantity that [CheckQuantities] rejects hides the
// other problems of its ScaledJob. [ScaledJob.Config] checks the values.
func Read(data []byte) ([]*ScaledJob, error) {
	return ReadAs[ScaledJob](kind, data)
}

// An Object is an object that [Objects] found.
type Object struct {
	Kind string // "" if it has none; "List" of a list without items
	// ScaledJob is nil if the object has another kind, or a value of the wrong type.
	ScaledJob *ScaledJob
	Err       error // the problems for which Read rejects the object
}

// Objects returns the objects in a text as [Read] reads them. Unknown fields of a
// ScaledJob are dropped, as on the API server.
func Objects(data []byte) (all []Object) {
	for _, f := range ObjectsAs[ScaledJob](kind, data) {
		all = append(all, Object{f.Kind, f.Object, f.Err})
	}
	return all
}

var kind = Kind{GroupVersionKind: GroupVersionKind, Instead: instead, Mend: quote}

// instead has the fixes of fields that do not exist.
var instead = map[string]string{
	"customPendingPodConditions": "spec.scalingStrategy.pendingPodConditions",
	"scalingStategy":             "spec.scalingStrategy",
	"scaleTargetRef":             "spec.jobTargetRef (scaleTargetRef is a ScaledObject's)",
	"cooldownPeriod":             "a field that a ScaledJob has (cooldownPeriod is a ScaledObject's)",
	"fallback":                   "a field that a ScaledJob has (fallback is a ScaledObject's)",
	"advanced":                   "a field that a ScaledJob has (advanced is a ScaledObject's)",
}

// quote turns numbers and booleans into strings if the field is a string, and
// reports each.
func quote(tree map[string]any, problems *field.Errors) {
	metadata, _ := tree["metadata"].(map[string]any)
	quoteAll(problems, "metadata.labels", metadata["labels"])
	quoteAll(problems, "metadata.annotations", metadata["annotations"])
	spec, _ := tree["spec"].(map[string]any)
	triggers, _ := spec["triggers"].([]any)
	for i, t := range triggers {
		trigger, _ := t.(map[string]any)
		quoteAll(problems, fmt.Sprintf("spec.triggers[%d].metadata", i), trigger["metadata"])
	}
	scaling, _ := spec["scalingStrategy"].(map[string]any)
	quoteAll(problems, "spec.scalingStrategy", scaling, "customScalingRunningJobPercentage")
}

// quoteAll quotes the values of a map, or only those of the given keys.
func quoteAll(problems *field.Errors, path string, m any, keys ...string) {
	values, _ := m.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		kind := "number"
		switch values[key].(type) {
		case string, nil, []any, map[string]any:
			continue
		case bool:
			kind = "boolean"
		}
		text := fmt.Sprint(values[key])
		problems.Add(field.Error{
			Path: path + "." + key, Found: text + ", which YAML reads as a " + kind,
			Fix: fmt.Sprintf("a string in quotes: %s: %q", key, text),
		})
		values[key] = text
	}
}
