// Package cluster reads the Jobs and pods of a cluster, from its API server or from files that
// kubectl has written.
package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A Dump holds the Jobs and pods of a cluster.
type Dump struct {
	Jobs []*Job
	Pods []*Pod
	// Complete reports whether the pods were read. A file without pods may be the
	// output of kubectl get jobs.
	Complete bool

	listed int // Jobs, of any owner
}

// A Job has the fields of a batchv1.Job that are read: the others take three quarters of its memory.
type Job struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Suspend                 *bool
		ManagedBy               *string
		TTLSecondsAfterFinished *int32
	} `json:"spec"`
	Status batchv1.JobStatus `json:"status"`
}

// Whole returns the Job in the API server's form, in a namespace.
func (j *Job) Whole(namespace string) batchv1.Job {
	whole := batchv1.Job{ObjectMeta: j.ObjectMeta, Status: j.Status}
	whole.Spec.Suspend, whole.Spec.ManagedBy, whole.Spec.TTLSecondsAfterFinished = j.Spec.Suspend, j.Spec.ManagedBy, j.Spec.TTLSecondsAfterFinished
	whole.Namespace = namespace
	return whole
}

// A Pod has the fields of a corev1.Pod that are read.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            corev1.PodStatus `json:"status"`
}

// Owned are a ScaledJob's Jobs of a dump.
type Owned struct {
	*input.ScaledJob
	Dump
	UID types.UID // of the owner; "" for KEDA, which does not read it
}

// OwnedBy returns the Jobs of the ScaledJob. KEDA finds them by the ScaledJob's name in the
// tracking label, the specification by its UID. If the manifest has no UID, the dump must
// have a single owner of that name. A manifest or a Job without a namespace matches any.
func (d *Dump) OwnedBy(m *input.ScaledJob, release input.Release) (*Owned, error) {
	o := &Owned{ScaledJob: m, Dump: *d}
	o.Jobs = slices.Clone(d.Jobs)
	keep := func(mine func(*Job) bool) {
		o.Jobs = slices.DeleteFunc(o.Jobs, func(j *Job) bool { return !mine(j) })
	}
	if namespace := m.Spec.Namespace; namespace != "" {
		keep(func(j *Job) bool { return j.Namespace == namespace || j.Namespace == "" })
	}
	var err error
	if release.Profile != nil {
		label := release.Profile.TrackingLabel()
		keep(func(j *Job) bool { return j.Labels[label] == m.Name() })
		err = o.oneNamespace()
	} else if o.UID, err = o.owner(); err == nil {
		keep(func(j *Job) bool {
			c := metav1.GetControllerOf(j)
			return c != nil && c.UID == o.UID
		})
	}
	if err != nil {
		return nil, err
	}
	jobs := map[types.NamespacedName]bool{}
	for _, j := range o.Jobs {
		jobs[nameOf(j)] = true
	}
	o.Pods = slices.DeleteFunc(slices.Clone(d.Pods), func(p *Pod) bool { return !jobs[jobOf(p)] })
	return o, nil
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// owner returns the UID of the ScaledJob, or "" if no Job has it.
func (o *Owned) owner() (types.UID, error) {
	if o.Spec.UID != "" {
		return o.Spec.UID, nil
	}
	uids := map[types.UID]bool{}
	for _, j := range o.Jobs {
		if c := metav1.GetControllerOf(j); c != nil && c.Kind == manifest.GroupVersionKind.Kind && c.Name == o.Name() {
			uids[c.UID] = true
		}
	}
	if len(uids) > 1 {
		return "", fmt.Errorf("%d ScaledJobs called %s own Jobs in the dump; use the manifest with its UID, as kubectl get scaledjob %[2]s -o yaml prints it", len(uids), o.Name())
	}
	for uid := range uids {
		return uid, nil
	}
	return "", nil
}

// oneNamespace rejects Jobs of several namespaces, because KEDA counts one namespace.
func (o *Owned) oneNamespace() error {
	namespaces := map[string]bool{}
	for _, j := range o.Jobs {
		namespaces[j.Namespace] = true
	}
	if len(namespaces) > 1 {
		return fmt.Errorf("found Jobs of ScaledJobs called %s in the namespaces %s; use a manifest with metadata.namespace",
			o.Name(), strings.Join(slices.Sorted(maps.Keys(namespaces)), ", "))
	}
	return nil
}

// NoJobs returns the reason for no Jobs, or "" if there are any.
func (o *Owned) NoJobs() string {
	switch {
	case o.listed == 0:
		return "there are no Jobs"
	case len(o.Jobs) == 0:
		return fmt.Sprintf("none of %s belongs to %s", field.Plural(o.listed, "Job"), o.Name())
	}
	return ""
}

// readyPod is a Running pod that has all conditions of the ScaledJob.
func (o *Owned) readyPod() keda.Pod {
	pod := keda.Pod{Phase: string(corev1.PodRunning)}
	for _, name := range o.Spec.Spec.ScalingStrategy.PendingPodConditions {
		pod.Conditions = append(pod.Conditions, keda.Condition{Type: name, Status: string(corev1.ConditionTrue)})
	}
	return pod
}

func jobOf(p *Pod) types.NamespacedName {
	job := types.NamespacedName{Namespace: p.Namespace, Name: cmp.Or(p.Labels[batchv1.JobNameLabel], p.Labels["job-name"])}
	if owner := metav1.GetControllerOf(p); owner != nil && job.Name == "" {
		job.Name = owner.Name
	}
	return job
}

// PodsWithUIDs returns the pods with a UID and the UID of their Job. A dump that somebody
// wrote may have none.
func (o *Owned) PodsWithUIDs() []corev1.Pod {
	jobs := map[types.NamespacedName]types.UID{}
	for _, j := range o.Jobs {
		jobs[nameOf(j)] = cmp.Or(j.UID, types.UID(j.Name))
	}
	pods := make([]corev1.Pod, len(o.Pods))
	for i, read := range o.Pods {
		pods[i] = corev1.Pod{ObjectMeta: read.ObjectMeta, Status: read.Status}
		p := &pods[i]
		p.UID = cmp.Or(p.UID, types.UID(p.Namespace+"/"+p.Name))
		owner, uid := metav1.GetControllerOf(p), jobs[jobOf(read)]
		if uid != "" && p.Labels[batchv1.ControllerUidLabel] == "" && (owner == nil || owner.UID == "") {
			p.Labels = maps.Clone(p.Labels)
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels[batchv1.ControllerUidLabel], p.Labels[batchv1.JobNameLabel] = string(uid), jobOf(read).Name
		}
	}
	return pods
}

// KedaJobs returns the Jobs in KEDA's form. Without pods, a Job with a ready or succeeded
// pod in its status has a readyPod.
func (o *Owned) KedaJobs() []keda.Job {
	pods := map[types.NamespacedName][]keda.Pod{}
	for _, p := range o.Pods {
		job := jobOf(p)
		pod := keda.Pod{Phase: string(p.Status.Phase)}
		for _, c := range p.Status.Conditions {
			pod.Conditions = append(pod.Conditions, keda.Condition{Type: string(c.Type), Status: string(c.Status)})
		}
		pods[job] = append(pods[job], pod)
	}
	jobs := make([]keda.Job, len(o.Jobs))
	for i, j := range o.Jobs {
		jobs[i] = keda.Job{Name: j.Name, Annotations: j.Annotations, Pods: pods[nameOf(j)]}
		if ready := j.Status.Ready != nil && *j.Status.Ready > 0; !o.Complete && (ready || j.Status.Succeeded > 0) {
			jobs[i].Pods = []keda.Pod{o.readyPod()}
		}
		if t := j.Status.CompletionTime; t != nil {
			jobs[i].CompletionTime = &t.Time
		}
		for _, c := range j.Status.Conditions {
			jobs[i].Conditions = append(jobs[i].Conditions, keda.Condition{Type: string(c.Type), Status: string(c.Status)})
		}
	}
	return jobs
}

// A Subject is a ScaledJob and the Jobs beside it.
type Subject struct {
	*input.ScaledJob
	Dump *Dump // nil if only counts are given
}
