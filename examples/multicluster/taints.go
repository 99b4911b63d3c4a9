package main

import (
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// taints are those against workloads, which all DistributedScaledJobs share: where
// one has found no room, others of its class do not try. The zero value has none.
type taints struct {
	mu  sync.Mutex
	set taint.Set
}

// merge adds more, forgets what has ended, and returns all.
func (t *taints) merge(more taint.Set, now time.Time) taint.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set = taint.Merge(t.set, more).At(now)
	return taint.Merge(t.set)
}

// remember takes over the taints in the object's status, from before a restart.
func (c *controller) remember(u *unstructured.Unstructured) {
	var status jobStatus
	data, err := json.Marshal(u.Object["status"])
	if err == nil && json.Unmarshal(data, &status) == nil {
		c.taints.merge(status.Memory.Workloads, time.Now())
	}
}
