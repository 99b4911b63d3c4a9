// Package v1 is version 1 of the API group batch.miracle.dev: the ScaledJob.
//
// +kubebuilder:object:generate=true
// +groupName=batch.miracle.dev
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion identifies the API of this package.
var GroupVersion = schema.GroupVersion{Group: "batch.miracle.dev", Version: "v1"}

// AddToScheme makes the types known to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ScaledJob{}, &ScaledJobList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
