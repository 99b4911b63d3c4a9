package cluster

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/field"
)

// A State is what keeps Jobs from working that count as running.
type State struct {
	ID   string // suspended, terminating, managed or waiting
	Jobs []string
	Text string // a sentence about them without a full stop
	Fix  string
}

// queueLabel marks the Jobs that Kueue suspends until its queue admits them.
const queueLabel = "kueue.x-k8s.io/queue-name"

// jobController is the manager of Jobs that name none.
const jobController = "kubernetes.io/job-controller"

// neverStarts are reasons with which a container waits for ever.
var neverStarts = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull"}

// States returns the states of the unfinished Jobs in which they do no work.
func (o *Owned) States() (states []State) {
	suspended := State{ID: "suspended", Fix: "Set spec.suspend to false, or find who sets it"}
	terminating := State{ID: "terminating", Fix: "Remove what holds the finalizers, or wait for the pods to end"}
	managed := State{ID: "managed", Fix: "Start that controller, or delete spec.managedBy of the template"}
	waiting := State{ID: "waiting", Fix: "Correct the image, or what the container refers to"}
	kueue, finalizers, managers := false, []string{}, []string{}
	reasons := o.waitingReasons()
	for _, j := range o.Jobs {
		manager := j.Spec.ManagedBy
		switch reason := reasons[j.Name]; {
		case Finished(j):
		case j.DeletionTimestamp != nil:
			terminating.Jobs, finalizers = append(terminating.Jobs, j.Name), append(finalizers, j.Finalizers...)
		case j.Spec.Suspend != nil && *j.Spec.Suspend:
			suspended.Jobs, kueue = append(suspended.Jobs, j.Name), kueue || j.Labels[queueLabel] != ""
		case manager != nil && *manager != "" && *manager != jobController:
			managed.Jobs, managers = append(managed.Jobs, j.Name), append(managers, *manager)
		case reason != "":
			waiting.Jobs = append(waiting.Jobs, j.Name+" "+reason)
		}
	}
	cause := "the Job template, a user or a controller has set spec.suspend"
	if kueue {
		cause, suspended.Fix = "Kueue suspends Jobs until its queue admits them", "Raise the quota of the Kueue queue, or lower maxReplicaCount to what it admits"
	}
	suspended.Text = fmt.Sprintf("%s suspended (%s): %s. KEDA counts suspended Jobs as running, and their deadlines do not run", are(suspended.Jobs), few(suspended.Jobs), cause)
	terminating.Text = fmt.Sprintf("%s being deleted (%s)%s: KEDA counts a Job until it is gone", are(terminating.Jobs), few(terminating.Jobs), held(finalizers))
	managed.Text = fmt.Sprintf("%s managed by another controller, %s (%s): Kubernetes starts no pods for such Jobs", are(managed.Jobs), few(distinctNames(managers)), few(managed.Jobs))
	waiting.Text = fmt.Sprintf("%s unable to start a container (%s): KEDA counts such Jobs as running", are(waiting.Jobs), few(waiting.Jobs))
	return slices.DeleteFunc([]State{suspended, terminating, managed, waiting}, func(s State) bool { return len(s.Jobs) == 0 })
}

// Finished reports whether a Job has succeeded or failed.
func Finished(j *Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// waitingReasons returns why a container of each Job never starts, by the Job's name.
func (o *Owned) waitingReasons() map[string]string {
	reasons := map[string]string{}
	for _, p := range o.Pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && slices.Contains(neverStarts, w.Reason) {
				reasons[jobOf(p).Name] = w.Reason
			}
		}
	}
	return reasons
}

func are(jobs []string) string {
	if len(jobs) == 1 {
		return "1 Job is"
	}
	return field.Plural(len(jobs), "Job") + " are"
}

func held(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return ", held by " + few(distinctNames(finalizers))
}

func distinctNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func few(names []string) string {
	const limit = 5
	if n := len(names) - limit; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), n)
	}
	return strings.Join(names, ", ")
}
