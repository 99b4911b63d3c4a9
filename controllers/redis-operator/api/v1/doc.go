// Package v1 is version 1 of the API group batch.miracle.dev: the ScaledJob.
//
// +groupName=batch.miracle.dev
package v1

import (
	"encoding/json"

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

// DeepCopyObject returns a copy that shares no memory with s.
func (s *ScaledJob) DeepCopyObject() runtime.Object { return copied(s) }

// DeepCopyObject returns a copy that shares no memory with l.
func (l *ScaledJobList) DeepCopyObject() runtime.Object { return copied(l) }

// copied copies an object, which came as JSON.
func copied[T any](object *T) *T {
	c := new(T)
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err != nil {
		panic(err)
	}
	return c
}
