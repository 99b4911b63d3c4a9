package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
)

// A stored ScaledJob is the informer's form of it, a tenth of the size of a decoded
// ScaledJob. It is not modified.
type stored struct {
	metav1.ObjectMeta        // names, UID, versions, generation, deletion and finalizers
	manifest          []byte // JSON of the fields that users write
	status            []byte // JSON
	templateHash      string // of spec.jobTargetRef, as the API server serves it
}

// store returns the informer's form of an object.
func store(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil // it was transformed before
	}
	s := &stored{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(),
		ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		DeletionTimestamp: u.GetDeletionTimestamp(), Finalizers: u.GetFinalizers(),
	}}
	manifest := maps.Clone(u.Object)
	delete(manifest, "status")
	if original, ok := manifest["metadata"].(map[string]any); ok {
		metadata := maps.Clone(original)
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
		if original, ok := metadata["annotations"].(map[string]any); ok {
			annotations := maps.Clone(original)
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			metadata["annotations"] = annotations
		}
		manifest["metadata"] = metadata
	}
	if spec, ok := manifest["spec"].(map[string]any); ok {
		if template, ok := spec["jobTargetRef"].(map[string]any); ok {
			s.templateHash = adapter.TemplateHash(template)
		}
	}
	var err error
	if s.manifest, err = json.Marshal(manifest); err == nil && u.Object["status"] != nil {
		s.status, err = json.Marshal(u.Object["status"])
	}
	return s, err
}

// equals reports whether the user has changed nothing.
func (s *stored) equals(other *stored) bool { return bytes.Equal(s.manifest, other.manifest) }

// longestManifest bounds the time of an edit, for which the edits of others wait: a megabyte takes seconds.
const longestManifest = 256 << 10

// read decodes the ScaledJob. An unknown field is an error: nothing else checks the Job
// template of a custom resource before a Job is created.
func (s *stored) read() (*manifest.ScaledJob, error) {
	if n := len(s.manifest); n > longestManifest {
		return nil, fmt.Errorf("the ScaledJob has %d bytes; use at most %d", n, longestManifest)
	}
	found, err := manifest.Read(s.manifest)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// A spec is as much of a ScaledJob's as a poll needs. The tracker has the rest.
type spec struct {
	generation int64
	invalid    error           // then the fields below are not set
	keda       *keda.ScaledJob // with -as-keda
	status                     // the parts that follow from the spec
}

// unreadable is the interval of polls with an invalid spec. Only an edit corrects the spec,
// but a status that could not be written is written again.
const unreadable = 30 * time.Second

// describe sets the status of the triggers, as KEDA has it.
func (s *status) describe(triggers []manifest.ScaleTrigger) {
	types, authentications := map[string]bool{}, map[string]bool{}
	for _, t := range triggers {
		types[t.Type] = true
		if t.AuthenticationRef != nil {
			authentications[t.AuthenticationRef.Name] = true
		}
	}
	list := func(names map[string]bool) string {
		delete(names, "")
		return strings.Join(slices.Sorted(maps.Keys(names)), ",")
	}
	s.TriggersTypes, s.AuthenticationsTypes = list(types), list(authentications)
}
