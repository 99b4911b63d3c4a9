package manifest

// Read reads the ScaledJobs in a text of YAML or JSON: its documents, and the items
// of its lists. Objects of other kinds are ignored.
//
// It returns an error if there is no ScaledJob, or if a ScaledJob has an unknown field, a
// value of the wrong type, or a duplicate key. The error joins all problems, each a
// [*field.Error] if it is about a field. [ScaledJob.Config] checks the values.
func Read(data []byte) ([]*ScaledJob, error) {
	return ReadAs[ScaledJob](kind, data)
}

// An Object is an object that [Objects] found.
type Object struct {
	Kind string // "" if it has none; "List" of a list without items
	// ScaledJob is nil if the object has another kind, or a value of the wrong type.
	ScaledJob *ScaledJob
	// JobTemplate is spec.jobTargetRef as it was read, with fields that no Go type has. It is for adapter.TemplateHash.
	JobTemplate map[string]any
	Err         error // the problems that make Read reject the object
}

// Objects returns the objects in a text as [Read] reads them. Unknown fields of a
// ScaledJob are dropped, as on the API server.
func Objects(data []byte) (objects []Object) {
	for _, f := range ObjectsAs[ScaledJob](kind, data) {
		spec, _ := f.Tree["spec"].(map[string]any)
		template, _ := spec["jobTargetRef"].(map[string]any)
		objects = append(objects, Object{f.Kind, f.Object, template, f.Err})
	}
	return objects
}

var kind = Kind{GroupVersionKind: GroupVersionKind, Instead: instead}

// instead has the fixes of fields that do not exist.
var instead = map[string]string{
	"customPendingPodConditions": "spec.scalingStrategy.pendingPodConditions",
	"scalingStategy":             "spec.scalingStrategy",
	"scaleTargetRef":             "spec.jobTargetRef (scaleTargetRef is a ScaledObject's)",
	"cooldownPeriod":             "a field that a ScaledJob has (cooldownPeriod is a ScaledObject's)",
	"fallback":                   "a field that a ScaledJob has (fallback is a ScaledObject's)",
	"advanced":                   "a field that a ScaledJob has (advanced is a ScaledObject's)",
}
