package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// remembered returns the checkpoint of a status.
func remembered(f *v1.FailureStatus) (c adapter.FailureCheckpoint) {
	if f == nil {
		return c
	}
	stored := func(t *metav1.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return t.Time
	}
	return adapter.FailureCheckpoint{
		Failures: f.Count, Counted: stored(f.LastFinished), Until: stored(f.NextJob),
		Longest: f.Longest, QueueLength: float64(f.QueueDepth), Revision: f.Revision,
	}
}

// remember takes the checkpoint of a plan over.
func (o *outcome) remember(plan adapter.Plan) {
	c, optional := plan.Failures, func(t time.Time) *metav1.Time {
		if t.IsZero() {
			return nil
		}
		return new(metav1.NewTime(t.Truncate(time.Second)))
	}
	if c.Revision == "" {
		return // the Jobs are not known
	}
	if o.failures = new(v1.FailureStatus); c.Failures == 0 {
		return
	}
	*o.failures = v1.FailureStatus{
		Count: c.Failures, LastFinished: optional(c.Counted), NextJob: optional(c.Until),
		Longest: c.Longest, QueueDepth: int64(c.QueueLength), Revision: c.Revision,
	}
}
