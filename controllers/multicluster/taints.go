package main

import (
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// taints are the taints against workloads that the DistributedScaledJobs of a namespace
// share. The zero value has none.
type taints struct {
	mu   sync.Mutex
	sets map[string]taint.Set // by namespace
}

// merge adds more, drops those that have ended, and returns all of the namespace.
func (t *taints) merge(namespace string, added taint.Set, now time.Time) taint.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sets == nil {
		t.sets = map[string]taint.Set{}
	}
	t.sets[namespace] = taint.Merge(t.sets[namespace], added).At(now)
	return taint.Merge(t.sets[namespace])
}

// remember takes over the taints in the object's status, from before a restart. The
// poller reports a status that cannot be read.
func (c *controller) remember(u *unstructured.Unstructured) {
	var status struct{ Checkpoint jobs.Checkpoint }
	data, err := json.Marshal(u.Object["status"])
	if err == nil && json.Unmarshal(data, &status) == nil {
		c.taints.merge(u.GetNamespace(), status.Checkpoint.Workloads(), time.Now())
	}
}
