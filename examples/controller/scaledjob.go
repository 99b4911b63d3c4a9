package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/adapter"
)

// A scaledJob is one as the API server has it. If it could not be read, it has no
// spec, and the problem.
type scaledJob struct {
	*adapter.ScaledJob
	problem error
}

// read does not let a field pass that nobody knows: the Job template of a custom
// resource is checked by nobody else before a Job is created.
func read(u *unstructured.Unstructured) scaledJob {
	data, err := json.Marshal(u.Object)
	if err == nil {
		var found []*adapter.ScaledJob
		if found, err = adapter.ReadScaledJobs(data); err == nil {
			return scaledJob{ScaledJob: found[0]}
		}
	}
	s := &adapter.ScaledJob{TypeMeta: metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if problem := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &s.ObjectMeta); problem != nil {
		err = problem
	}
	s.Status, _ = json.Marshal(u.Object["status"]) // came as JSON
	return scaledJob{s, err}
}

func (s scaledJob) config() (adapter.Config, error) {
	if s.problem != nil {
		return adapter.Config{}, s.problem
	}
	return s.Config(nil)
}

// same reports whether the two say the same; a status says nothing.
func (s scaledJob) same(t scaledJob) bool {
	x, y := *s.ScaledJob, *t.ScaledJob
	for _, s := range []*adapter.ScaledJob{&x, &y} {
		s.Status, s.ResourceVersion, s.ManagedFields = nil, "", nil
	}
	return equality.Semantic.DeepEqual(&x, &y)
}
