package adapter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scaledjob/scaledjob/adapter/internal/manifest"
)

// A FieldError is one problem of a manifest.
type FieldError struct {
	Field string // its path, such as spec.triggers[0].metadata.queueLength
	Found string // what stands there
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: found %s: want %s", e.Field, e.Found, e.Want)
}

// ReadScaledJobs reads the ScaledJobs among the documents of a YAML or JSON
// text; documents of other kinds are passed over. It is an error if there is
// none, and if one has a field that a ScaledJob does not have, a value of another
// type, or the same key twice. All that can be found in one pass is returned at
// once, joined, as [*FieldError] where it is a field's. What a ScaledJob says is
// checked by [ScaledJob.Config].
func ReadScaledJobs(data []byte) ([]*ScaledJob, error) {
	return manifest.Read[ScaledJob](manifest.Kind{
		GroupVersionKind: GroupVersionKind, Instead: instead, Mend: quote,
		Problem: func(field, found, want string) error { return &FieldError{field, found, want} },
	}, data)
}

// instead is what people meant by a field that does not exist.
var instead = map[string]string{
	"customPendingPodConditions": "spec.scalingStrategy.pendingPodConditions",
	"scalingStategy":             "spec.scalingStrategy",
	"scaleTargetRef":             "spec.jobTargetRef (scaleTargetRef is a ScaledObject's)",
	"cooldownPeriod":             "nothing (cooldownPeriod is a ScaledObject's)",
	"fallback":                   "nothing (fallback is a ScaledObject's)",
	"advanced":                   "nothing (advanced is a ScaledObject's)",
}

// quote turns values that must be strings into strings, and tells each one that
// was not.
func quote(tree map[string]any) []error {
	var problems []error
	check := func(path string, m any) {
		values, _ := m.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			switch v := values[key].(type) {
			case string, nil, []any, map[string]any:
			default:
				problems = append(problems, &FieldError{path + "." + key, fmt.Sprintf("%v, which YAML reads as a %s", v, typeOf(v)),
					fmt.Sprintf("a string in quotes: %s: %q", key, fmt.Sprint(v))})
				values[key] = fmt.Sprint(v)
			}
		}
	}
	metadata, _ := tree["metadata"].(map[string]any)
	check("metadata.labels", metadata["labels"])
	check("metadata.annotations", metadata["annotations"])
	spec, _ := tree["spec"].(map[string]any)
	triggers, _ := spec["triggers"].([]any)
	for i, t := range triggers {
		trigger, _ := t.(map[string]any)
		check(fmt.Sprintf("spec.triggers[%d].metadata", i), trigger["metadata"])
	}
	if scaling, ok := spec["scalingStrategy"].(map[string]any); ok {
		const key = "customScalingRunningJobPercentage"
		if v, ok := scaling[key]; ok {
			only := map[string]any{key: v}
			check("spec.scalingStrategy", only)
			scaling[key] = only[key]
		}
	}
	return problems
}

func typeOf(v any) string {
	if _, ok := v.(bool); ok {
		return "boolean"
	}
	return "number"
}
