package main

import (
	"encoding/json"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// slowDown lowers the maximum of a policy while every Job has failed, on whatever member, since one
// succeeded, and returns why. It does nothing without -failure-backoff.
func (j *job) slowDown(policy *jobs.Policy, clusters []jobs.Cluster, metrics []scaling.Metric, now time.Time) (reason string) {
	if !j.failureBackoff {
		return ""
	}
	observation := adapter.FailureObservation{Metrics: metrics, Revision: policy.Revision, Now: now}
	for i := range clusters {
		for k := range clusters[i].Jobs {
			observation.Jobs = append(observation.Jobs, finished(&clusters[i].Jobs[k]))
		}
	}
	backoff, checkpoint := adapter.NewFailureBackoff(j.config.PollingInterval), adapter.FailureCheckpoint{}
	_ = json.Unmarshal(j.status.Failures, &checkpoint) // of another release: begin anew
	limit, hold, checkpoint := backoff.Decide(math.MaxInt64, checkpoint, observation)
	if j.status.Failures = nil; checkpoint.Failures > 0 {
		j.status.Failures, _ = json.Marshal(checkpoint) // a struct of numbers, texts and times
	}
	if hold == nil {
		return ""
	}
	if limit > 0 { // the Jobs that never start occupy the maximum: it leaves room for a single one more
		for i := range observation.Jobs {
			if observation.Jobs[i].Phase == adapter.Pending {
				limit++
			}
		}
		policy.FailoverOverMax = policy.FailoverOverMax && policy.Scaling.Bounds.Max < limit
	}
	policy.Scaling.Bounds.Max = min(policy.Scaling.Bounds.Max, limit)
	return hold.Text
}

// finished returns a Job as a FailureBackoff reads it.
func finished(j *jobs.Job) adapter.Job {
	phases := map[jobs.Phase]adapter.Phase{jobs.Running: adapter.Running, jobs.Pending: adapter.Pending, jobs.Succeeded: adapter.Succeeded, jobs.Failed: adapter.Failed}
	return adapter.Job{Phase: phases[j.Phase], Created: j.Created, PendingSince: j.PendingSince, Finished: j.Finished, Revision: j.Revision}
}
