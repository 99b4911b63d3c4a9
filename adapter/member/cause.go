package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
)

// causes count why pods do not work.
type causes map[string]int

// maxCauses is the number of causes that are worded.
const maxCauses = 3

// String words the most frequent causes, each with the number of its pods, or of its Jobs without a pod.
func (c causes) String() string {
	var worded []string
	for _, text := range slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(c[b]-c[a], strings.Compare(a, b)) }) {
		worded = append(worded, fmt.Sprintf("%d %s", c[text], text))
	}
	return strings.Join(worded[:min(len(worded), maxCauses)], "; ")
}

func isReady(p *corev1.Pod) bool {
	_, status := podCondition(p, corev1.PodReady)
	return status == corev1.ConditionTrue
}

func podCondition(p *corev1.Pod, kind corev1.PodConditionType) (text string, status corev1.ConditionStatus) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == kind {
			return c.Reason + ": " + c.Message, c.Status
		}
	}
	return "", ""
}

// podCause words why a pod does not work: it has no node, its node is not ready, or a
// container waits, such as for its image or a volume.
func podCause(p *corev1.Pod) string {
	if text, status := podCondition(p, corev1.PodScheduled); status == corev1.ConditionFalse {
		return short(text)
	}
	for _, containers := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range containers {
			if w := containers[i].State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
				return short(w.Reason + ": " + w.Message)
			}
		}
	}
	switch {
	case p.Status.Reason != "": // such as NodeLost
		return short(p.Status.Reason + ": " + p.Status.Message)
	case p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "":
		return "pending on its node"
	case p.Status.Phase == corev1.PodPending:
		return "pending without a node"
	}
	return "not ready"
}

// maxAsked is the number of Jobs of a member whose pods and events are read.
const maxAsked = 4

// Causes returns why Jobs of the observation have been pending the longest, by member, of the
// members that are named: from their pods, and of Jobs without a pending pod from FailedCreate events,
// such as for a quota or an admission. It lists pods and events, all members at once, within the
// rate limit and Options.Deadline. A member that does not answer has no cause.
func (all *Clusters) Causes(ctx context.Context, o Observation, names []string) map[string]string {
	texts := make([]string, len(names))
	together(len(names), func(i int) {
		if s := o.views[names[i]]; s.cluster != nil && s.cluster.health.mayAnswer() {
			texts[i] = s.cluster.cause(ctx, s.jobs)
		}
	})
	found := map[string]string{}
	for i, text := range texts {
		if text != "" {
			found[names[i]] = text
		}
	}
	return found
}

func (c *Cluster) cause(ctx context.Context, tracked []adapter.Job) string {
	pending := slices.DeleteFunc(slices.Clone(tracked), func(j adapter.Job) bool { return j.Phase != adapter.Pending })
	slices.SortFunc(pending, func(a, b adapter.Job) int {
		return cmp.Or(a.PendingSince.Compare(b.PendingSince), strings.Compare(a.Name, b.Name))
	})
	causes := causes{}
	ctx, cancel := context.WithTimeout(ctx, c.options.Deadline)
	defer cancel()
	s := c.sender(ctx, time.Now())
	for i := range pending[:min(len(pending), maxAsked)] {
		j := &pending[i]
		if !s.podCauses(ctx, j, causes) {
			s.eventCause(ctx, j, causes)
		}
	}
	return causes.String()
}

// podCauses adds why the Job's pods are pending, and reports whether any is.
func (s *sender) podCauses(ctx context.Context, j *adapter.Job, causes causes) (found bool) {
	var pods *corev1.PodList
	if err := s.send(ctx, func(ctx context.Context) (err error) {
		o := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + j.Name, Limit: 100}
		pods, err = listPage(ctx, o, s.cluster.clients.Requests.CoreV1().Pods(j.Namespace).List)
		return err
	}); err != nil {
		return false
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; !isReady(p) && p.Status.Phase == corev1.PodPending {
			causes[podCause(p)]++
			found = true
		}
	}
	return found
}

// eventCause adds the reason of the Job's newest FailedCreate event: each attempt has an event.
func (s *sender) eventCause(ctx context.Context, j *adapter.Job, causes causes) {
	var events *corev1.EventList
	if err := s.send(ctx, func(ctx context.Context) (err error) {
		o := metav1.ListOptions{FieldSelector: "involvedObject.kind=Job,reason=FailedCreate,involvedObject.name=" + j.Name, Limit: 100}
		events, err = listPage(ctx, o, s.cluster.clients.Requests.CoreV1().Events(j.Namespace).List)
		return err
	}); err != nil {
		if apierrors.IsForbidden(err) {
			causes["without a known cause: the hub may not list events there"]++
		}
		return
	}
	if len(events.Items) > 0 {
		newest := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
		causes[short("without a pod: "+rejection(newest.Message))]++
	}
}

// rejection returns the message of a FailedCreate event without the name of the pod.
func rejection(message string) string {
	if _, cause, ok := strings.Cut(message, " is forbidden: "); ok {
		return cause
	}
	return strings.TrimPrefix(message, "Error creating: ")
}

// short is a member's text as [adapter.ErrorText] has it, cut after its first line and 120 bytes.
func short(text string) string {
	text, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), ":"), "\n")
	text = strings.ToValidUTF8(text[:min(len(text), 512)], "") // of every pod that is not ready, in each poll
	text = adapter.ErrorText(errors.New(text))
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:120], "") + "…"
	}
	return text
}
