// Package pods keeps the facts about pods that a tracker of Jobs needs, and since when Jobs wait for them.
package pods

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
	"unique"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Pod is a compact form of a pod.
type Pod struct {
	Job        Job
	Ran        bool // has left phase Pending
	Foreign    bool // counts for nobody
	started    bool // Running or Succeeded
	uid        types.UID
	name       string
	conditions []unique.Handle[corev1.PodConditionType] // types of the conditions that are True
}

// A Job identifies the Job of pods. Whoever makes pods in another namespace does not change it.
type Job struct {
	Namespace string
	UID       types.UID
}

// A pod keeps the first conditions only, and none whose type no API server accepts: who may change its
// status has no control of the tracker's memory.
const (
	maxConditions = 32
	maxType       = 253 + 1 + 63
)

// New returns the compact form of a pod.
func New(object *corev1.Pod) *Pod {
	phase := object.Status.Phase
	p := &Pod{
		uid: object.UID, name: object.Name,
		// Labels stay if the pod loses its controller, as an orphan does.
		Job:     Job{object.Namespace, types.UID(object.Labels[batchv1.ControllerUidLabel])},
		started: phase == corev1.PodRunning || phase == corev1.PodSucceeded,
		Ran:     phase != corev1.PodPending && phase != "",
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && p.Job.UID == "" {
		p.Job.UID = types.UID(Brief(string(owner.UID)))
	}
	for _, c := range object.Status.Conditions {
		if c.Status == corev1.ConditionTrue && len(p.conditions) < maxConditions && len(c.Type) <= maxType {
			p.conditions = append(p.conditions, unique.Make(c.Type))
		}
	}
	p.conditions = slices.Clip(p.conditions)
	return p
}

// Brief returns a text that the API server does not bound, such as an annotation, or its hash if it
// is long: whoever creates Jobs has no control of the tracker's memory.
func Brief(text string) string {
	const limit = 1 << 10
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
}

// GetObjectMeta returns the part of the metadata that a reflector reads.
func (p *Pod) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.Job.Namespace, Name: p.name}
}

// Took reports whether the pod shows that its Job is no longer pending.
func (p *Pod) Took(conditions []string) bool {
	for _, c := range conditions {
		if !slices.Contains(p.conditions, unique.Make(corev1.PodConditionType(c))) {
			return false
		}
	}
	return p.started || len(conditions) > 0
}

// A Table has the pods of Jobs.
type Table map[Job][]*Pod

// Show takes over a pod, or that it is gone.
func (t Table) Show(p *Pod, gone bool) {
	pods := slices.DeleteFunc(t[p.Job], func(other *Pod) bool { return other.uid == p.uid })
	if !gone {
		pods = append(pods, p)
	}
	if t[p.Job] = pods; len(pods) == 0 {
		delete(t, p.Job)
	}
}

// In returns the pods in a namespace; "" is all.
func (t Table) In(namespace string) (found []any) {
	for job, pods := range t {
		for _, p := range pods {
			if namespace == "" || namespace == job.Namespace {
				found = append(found, p)
			}
		}
	}
	return found
}

// Times counts the Jobs that became pending at each time. The zero value has none.
type Times struct {
	entries []entry // in the order of their times
	passed  int     // entries until the last limit
	jobs    int32   // Jobs of these entries
}

type entry struct {
	since int64 // in nanoseconds since 1970
	jobs  int32
}

// Add adds n Jobs.
func (t *Times) Add(since time.Time, n int32) {
	nanoseconds := since.UnixNano()
	i, found := slices.BinarySearchFunc(t.entries, nanoseconds, func(e entry, n int64) int { return cmp.Compare(e.since, n) })
	if !found {
		t.entries = slices.Insert(t.entries, i, entry{since: nanoseconds})
		if i < t.passed {
			t.passed++
		}
	}
	if i < t.passed {
		t.jobs += n
	}
	if t.entries[i].jobs += n; t.entries[i].jobs == 0 {
		t.entries = slices.Delete(t.entries, i, i+1)
		if i < t.passed {
			t.passed--
		}
	}
}

// Until returns how many Jobs have been pending since the limit or longer. It looks only at the
// entries between this limit and the last one.
func (t *Times) Until(limit time.Time) int32 {
	nanoseconds := limit.UnixNano()
	for t.passed < len(t.entries) && t.entries[t.passed].since <= nanoseconds {
		t.jobs += t.entries[t.passed].jobs
		t.passed++
	}
	for t.passed > 0 && t.entries[t.passed-1].since > nanoseconds {
		t.passed--
		t.jobs -= t.entries[t.passed].jobs
	}
	return t.jobs
}
