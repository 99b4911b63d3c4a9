// Package cluster reads the Jobs and pods of a cluster, from its API server or from files that
// kubectl has written.
package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
)

// A Dump holds the Jobs and pods of a cluster.
type Dump struct {
	Jobs []batchv1.Job
	Pods []corev1.Pod
	// Complete reports whether the pods were read. A file without pods may be the
	// output of kubectl get jobs.
	Complete bool
}

// KubectlGet is the fix of a dump that cannot be read.
const KubectlGet = "use the output of kubectl get jobs,pods -o json"

// Read reads files with Jobs and pods.
func Read(files []string, stdin io.Reader) (*Dump, error) {
	d := &Dump{}
	for _, name := range files {
		s, err := input.ReadSource(name, stdin, input.MaxDump)
		if err != nil {
			return nil, err
		}
		if err := d.add(s.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	// An object may be in several files.
	d.Jobs = distinct(d.Jobs, func(j *batchv1.Job) metav1.Object { return j })
	d.Pods = distinct(d.Pods, func(p *corev1.Pod) metav1.Object { return p })
	d.Complete = len(d.Pods) > 0
	return d, nil
}

// distinct returns the objects without later objects of the same namespace and name.
func distinct[T any](items []T, meta func(*T) metav1.Object) []T {
	visited := map[types.NamespacedName]bool{}
	return slices.DeleteFunc(items, func(item T) bool {
		o := meta(&item)
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		repeated := visited[name] && name.Name != ""
		visited[name] = true
		return repeated
	})
}

// add adds the Jobs and pods of a text with objects in JSON or YAML.
func (d *Dump) add(text []byte) error {
	if bytes.HasPrefix(text, []byte("NAME ")) || bytes.HasPrefix(text, []byte("NAMESPACE ")) {
		return fmt.Errorf("found a table; %s", KubectlGet)
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for found := false; ; {
		var data json.RawMessage
		err := documents.Decode(&data)
		switch {
		case errors.Is(err, io.EOF) && found:
			return nil
		case err == nil && (len(data) == 0 || string(data) == "null"): // between separators
			continue
		case err != nil || data[0] != '{':
			return fmt.Errorf("not JSON; %s", KubectlGet)
		}
		if err := d.document(data); err != nil {
			return err
		}
		found = true
	}
}

// document adds the Jobs and pods of a list, or a single object.
func (d *Dump) document(data []byte) error {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%w; %s", input.Plain(err), KubectlGet)
	}
	items, kind, isList := list.Items, "", true
	switch list.Kind {
	case "List":
	case "JobList", "PodList":
		kind = strings.TrimSuffix(list.Kind, "List")
	default:
		items, isList = []json.RawMessage{data}, false
	}
	for i, item := range items {
		if err := d.object(item, kind); err != nil {
			if isList {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
			return err
		}
	}
	return nil
}

// object adds a Job or a pod, of a kind that it may leave out.
func (d *Dump) object(data []byte, kind string) error {
	var typed struct {
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(data, &typed)
	if typed.Kind != "" {
		kind = typed.Kind
	}
	switch {
	case err != nil:
	case kind == "Job":
		var j batchv1.Job
		if err = json.Unmarshal(data, &j); err == nil {
			d.Jobs = append(d.Jobs, j)
		}
	case kind == "Pod":
		var p corev1.Pod
		if err = json.Unmarshal(data, &p); err == nil {
			d.Pods = append(d.Pods, p)
		}
	case kind == "":
		err = fmt.Errorf("found no kind; %s", KubectlGet)
	default:
		err = fmt.Errorf("found %s; %s", report.Article(kind), KubectlGet)
	}
	return input.Plain(err)
}

// Owned are a ScaledJob's Jobs of a dump.
type Owned struct {
	*input.ScaledJob
	Dump
	UID    types.UID // of the owner; "" for KEDA, which does not read it
	listed int       // Jobs in the dump, of any owner
}

// OwnedBy returns the Jobs of the ScaledJob. KEDA finds them by the ScaledJob's name in the
// tracking label, the specification by its UID. If the manifest has no UID, the dump must
// have a single owner of that name. A manifest or a Job without a namespace matches any.
func (d *Dump) OwnedBy(m *input.ScaledJob, release input.Release) (*Owned, error) {
	o := &Owned{ScaledJob: m, Dump: Dump{slices.Clone(d.Jobs), d.Pods, d.Complete}, listed: len(d.Jobs)}
	keep := func(mine func(*batchv1.Job) bool) {
		o.Jobs = slices.DeleteFunc(o.Jobs, func(j batchv1.Job) bool { return !mine(&j) })
	}
	if namespace := m.Spec.Namespace; namespace != "" {
		keep(func(j *batchv1.Job) bool { return j.Namespace == namespace || j.Namespace == "" })
	}
	if release.Profile != nil {
		label := release.Profile.TrackingLabel()
		keep(func(j *batchv1.Job) bool { return j.Labels[label] == m.Name() })
		return o, o.oneNamespace()
	}
	var err error
	if o.UID, err = o.owner(); err != nil {
		return nil, err
	}
	keep(func(j *batchv1.Job) bool {
		c := metav1.GetControllerOf(j)
		return c != nil && c.UID == o.UID
	})
	return o, nil
}

// owner returns the UID of the ScaledJob, or "" if no Job has it.
func (o *Owned) owner() (types.UID, error) {
	if o.Spec.UID != "" {
		return o.Spec.UID, nil
	}
	uids := map[types.UID]bool{}
	for i := range o.Jobs {
		if c := metav1.GetControllerOf(&o.Jobs[i]); c != nil && c.Kind == manifest.GroupVersionKind.Kind && c.Name == o.Name() {
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
	for i := range o.Jobs {
		namespaces[o.Jobs[i].Namespace] = true
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
		return fmt.Sprintf("none of %d Jobs belongs to %s", o.listed, o.Name())
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

// jobOf returns the name of a pod's Job.
func jobOf(p *corev1.Pod) types.NamespacedName {
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
	for i := range o.Jobs {
		j := &o.Jobs[i]
		jobs[types.NamespacedName{Namespace: j.Namespace, Name: j.Name}] = cmp.Or(j.UID, types.UID(j.Name))
	}
	pods := slices.Clone(o.Pods)
	for i := range pods {
		p := &pods[i]
		p.UID = cmp.Or(p.UID, types.UID(p.Namespace+"/"+p.Name))
		owner, uid := metav1.GetControllerOf(p), jobs[jobOf(p)]
		if uid != "" && p.Labels[batchv1.ControllerUidLabel] == "" && (owner == nil || owner.UID == "") {
			p.Labels = maps.Clone(p.Labels)
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels[batchv1.ControllerUidLabel], p.Labels[batchv1.JobNameLabel] = string(uid), jobOf(p).Name
		}
	}
	return pods
}

// KedaJobs returns the Jobs in KEDA's form. Without pods, a Job with a ready or succeeded
// pod in its status has a readyPod.
func (o *Owned) KedaJobs() []keda.Job {
	pods := map[types.NamespacedName][]keda.Pod{}
	for i := range o.Pods {
		p := &o.Pods[i]
		job := jobOf(p)
		pod := keda.Pod{Phase: string(p.Status.Phase)}
		for _, c := range p.Status.Conditions {
			pod.Conditions = append(pod.Conditions, keda.Condition{Type: string(c.Type), Status: string(c.Status)})
		}
		pods[job] = append(pods[job], pod)
	}
	jobs := make([]keda.Job, len(o.Jobs))
	for i := range o.Jobs {
		j := &o.Jobs[i]
		jobs[i] = keda.Job{Name: j.Name, Annotations: j.Annotations, Pods: pods[types.NamespacedName{Namespace: j.Namespace, Name: j.Name}]}
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
