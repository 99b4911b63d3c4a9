package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/field"
)

// GroupVersion is the API group and version of both kinds.
var GroupVersion = schema.GroupVersion{Group: "keda.kedify.io", Version: "v1alpha1"}

// Jobs and Objects are the resources.
var (
	Jobs    = GroupVersion.WithResource("distributedscaledjobs")
	Objects = GroupVersion.WithResource("distributedscaledobjects")
)

// Meta holds the first fields of both kinds.
type Meta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// longestSpec bounds the time of a read, for which other objects wait: a megabyte takes seconds. A pod
// of a member, with its status, has at most 1.1 values for each byte (of containers), and so stays within the
// values of an answer that package member reads.
const longestSpec = 64 << 10

// longestStatus is above the status of hundreds of members.
const longestStatus = 512 << 10

// Slim shortens an object that a cache keeps: values in memory take dozens of times their bytes. A long spec
// becomes its length, which Read reports, and a long status becomes a checkpoint that cannot be read.
func Slim(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	u.SetManagedFields(nil)
	length := func(field string) int64 {
		data, _ := json.Marshal(u.Object[field]) // came as JSON
		return int64(len(data))
	}
	if n := length("spec"); n > longestSpec {
		u.Object["spec"] = n
	}
	if n := length("status"); n > longestStatus {
		u.Object["status"] = map[string]any{"checkpoint": map[string]any{"version": fmt.Sprintf("a status of %d bytes", n)}}
	}
	return u, nil
}

// Read reads the object into one of the kinds. Its metadata are read in any case. It
// is an error if the spec has a field that does not exist, or a value of another type:
// nothing else checks a Job template or a pod override before. So is a spec of more than 64 KiB,
// with labels and annotations. The status and the managed fields are not read.
func Read[T any](u *unstructured.Unstructured) (*T, Meta, error) {
	m := Meta{TypeMeta: metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &m.ObjectMeta); err != nil {
		return new(T), m, err
	}
	spec, err := json.Marshal(u.Object["spec"])
	if err != nil {
		return new(T), m, err
	}
	n := int64(len(spec))
	if length, long := u.Object["spec"].(int64); long {
		n = length
	}
	for _, texts := range []map[string]string{m.Labels, m.Annotations} { // Jobs have them, too
		for key, value := range texts {
			if key != corev1.LastAppliedConfigAnnotation {
				n += int64(len(key) + len(value))
			}
		}
	}
	if n > longestSpec {
		return new(T), m, fmt.Errorf("the spec, labels and annotations have %d bytes; use at most %d", n, longestSpec)
	}
	read := maps.Clone(u.Object)
	read["metadata"] = maps.Clone(metadata)
	delete(read, "status")
	delete(read["metadata"].(map[string]any), "managedFields")
	data, err := json.Marshal(read)
	if err != nil {
		return new(T), m, err
	}
	object := new(T)
	unknown, wrong := field.Decoder{Form: manifest.Form, Unknown: func(string, []string) string { return "a field of this resource" }}.Decode(data, object)
	if wrong != nil {
		return new(T), m, errors.Join(unknown, wrong)
	}
	return object, m, unknown
}

// within returns the problems of a ScaledJob with the path of the field that holds its
// spec.
func within(path string, err error) (problems []error) {
	for _, f := range field.All(err) {
		problems = append(problems, moved(path, f))
	}
	return problems
}

func moved(path string, f *field.Error) *field.Error {
	return &field.Error{Path: strings.Replace(f.Path, "spec.", path+".", 1), Found: f.Found, Fix: f.Fix}
}

// noEffect returns a warning about a field that does nothing here.
func noEffect(path, found string) *field.Error {
	return &field.Error{Path: path, Found: found, Fix: "nothing, because it has no effect here"}
}

// A Member is an entry of spec.memberClusters.
type Member struct {
	Name            string `json:"name"`
	Weight          *int32 `json:"weight,omitempty"`          // 1 if unset
	TargetNamespace string `json:"targetNamespace,omitempty"` // the object's own if unset
}

// A JobMember is an entry of spec.memberClusters of a DistributedScaledJob.
type JobMember struct {
	Member       `json:",inline"`
	Scheduling   MemberScheduling    `json:"scheduling,omitzero"`
	MaxJobs      *int64              `json:"maxJobs,omitempty"` // no limit if unset
	PodOverrides member.PodOverrides `json:"podOverrides,omitzero"`
}

// MemberScheduling is the priority of a member.
type MemberScheduling struct {
	Priority *int32 `json:"priority,omitempty"`
}

// MemberState is the state of a member in a status.
type MemberState string

const (
	Ready         MemberState = "Ready"
	NotReady      MemberState = "NotReady"      // it is unreachable, or cannot take its share
	NotRegistered MemberState = "NotRegistered" // the manifest lists it, and it is not registered
)

// duration sets d if the field is set.
func duration(d *time.Duration, field *metav1.Duration) {
	if field != nil {
		*d = field.Duration
	}
}

// number sets n if the field is set.
func number[N int32 | int64](n *N, field *int32) {
	if field != nil {
		*n = N(*field)
	}
}

// paused reads the annotation, which is a boolean. Another value is an error, and pauses.
func paused(annotations map[string]string) (bool, error) {
	text, ok := annotations[manifest.AnnotationPaused]
	if !ok {
		return false, nil
	}
	paused, err := strconv.ParseBool(text)
	if err != nil {
		return true, &field.Error{
			Path: "metadata.annotations[" + manifest.AnnotationPaused + "]", Found: strconv.Quote(text),
			Fix: `"true" or "false"; until then it means paused`,
		}
	}
	return paused, nil
}
