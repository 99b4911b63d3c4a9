package main

import (
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// taints are the exclusions that all DistributedScaledJobs share: hard taints of clusters,
// and taints against workloads. The zero value has none.
type taints struct {
	mu  sync.Mutex
	all taint.Exclusions
}

// merge adds more, drops those that have ended, and returns all.
func (t *taints) merge(more taint.Exclusions, now time.Time) taint.Exclusions {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = t.all.Merge(more).At(now)
	return t.all.Merge(taint.Exclusions{})
}

// remember takes over the taints in the object's status, from before a restart. The
// poller reports a status that cannot be read.
func (c *controller) remember(u *unstructured.Unstructured) {
	var status jobStatus
	data, err := json.Marshal(u.Object["status"])
	if err == nil && json.Unmarshal(data, &status) == nil {
		c.taints.merge(status.Checkpoint.Exclusions(), time.Now())
	}
}
