package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// Annotations of pods that say what they do.
const (
	pends          = "test/pends"           // that they never run
	works          = "test/works"           // how long
	exits          = "test/exits"           // with which code
	exitsScheduled = "test/exits-scheduled" // with which code, unless the run is on demand
)

// pods run as their annotations say, and note what they see.
type pods struct {
	mu   sync.Mutex
	seen []sight
}

// A sight is what a pod sees.
type sight struct {
	namespace, tag string
	environment    string // of its containers, init containers first
	at             time.Time
}

func (p *pods) run(pod *corev1.Pod) (r cluster.Run) {
	tag := pod.Labels[scheduledjob.LabelTag]
	var environments []string
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		environments = append(environments, environment(pod, c.Env))
	}
	p.mu.Lock()
	p.seen = append(p.seen, sight{pod.Namespace, tag, strings.Join(environments, ", "), time.Now()})
	p.mu.Unlock()
	if pod.Annotations[pends] != "" {
		r.Start = -1
	}
	r.Work, _ = time.ParseDuration(pod.Annotations[works])
	exit := pod.Annotations[exits]
	if code, ok := pod.Annotations[exitsScheduled]; ok && !strings.HasPrefix(tag, "asked-") {
		exit = code
	}
	code, _ := strconv.Atoi(exit)
	r.Exit = int32(code)
	return r
}

// environment is "index/count" as a kubelet would resolve it.
func environment(pod *corev1.Pod, env []corev1.EnvVar) string {
	values := map[string]string{}
	for _, e := range env {
		values[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			key, _ := strings.CutPrefix(e.ValueFrom.FieldRef.FieldPath, "metadata.annotations['")
			values[e.Name] = pod.Annotations[strings.TrimSuffix(key, "']")]
		}
	}
	return fmt.Sprintf("%s/%s", values["JOB_POD_INDEX"], values["JOB_POD_COUNT"])
}

// of returns what the pods of a namespace have seen.
func (p *pods) of(namespace string) (seen []sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.seen {
		if s.namespace == namespace {
			seen = append(seen, s)
		}
	}
	return seen
}
