package member

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// causes count why pods do not work.
type causes struct {
	texts  []string
	counts map[string]int
}

func (c *causes) add(text string) {
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	if c.counts[text]++; c.counts[text] == 1 {
		c.texts = append(c.texts, text)
	}
}

// maxCauses is the number of causes that are worded.
const maxCauses = 3

// String words the most frequent causes, each with the number of its pods.
func (c *causes) String() string {
	slices.SortFunc(c.texts, func(a, b string) int {
		if n := c.counts[b] - c.counts[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, text := range c.texts[:min(len(c.texts), maxCauses)] {
		all = append(all, fmt.Sprintf("%d %s", c.counts[text], text))
	}
	return strings.Join(all, "; ")
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
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range all {
			if w := all[i].State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
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

// short cuts a text of a member after its first line and 120 bytes, and drops what is not
// printable.
func short(text string) string {
	text, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), ":"), "\n")
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:120], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
