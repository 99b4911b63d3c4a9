package podspec

import (
	"reflect"
	"slices"
	"strings"
)

// optional are the fields without omitempty that the API server does not require.
var optional = []string{
	"ObjectMeta.creationTimestamp", "PodFailurePolicyOnPodConditionsPattern.status", "PersistentVolumeClaimSpec.resources",
	"PersistentVolumeClaimTemplate.metadata", "ProjectedVolumeSource.sources", "ResourceFieldSelector.divisor", "PodSpec.containers",
	"TypedLocalObjectReference.apiGroup", "TypedObjectReference.apiGroup", "GRPCAction.service",
}

// Required returns the names of the fields that the API server requires in an object of a
// struct type: the fields without omitempty.
func Required(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			names = append(names, Required(f.Type)...)
		case name != "" && name != "-" && !strings.Contains(rest, "omitempty") && !strings.Contains(rest, "omitzero") && !slices.Contains(optional, t.Name()+"."+name):
			names = append(names, name)
		}
	}
	return names
}
