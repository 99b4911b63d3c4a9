package api

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/strategy"
)

// maxMembers is the most members that the custom resource allows.
const maxMembers = 64

const (
	scheduling    = "spec.clusterScheduling."
	strategyField = jobField + ".scalingStrategy."
)

// paused reads the annotations. paused-replicas has no effect on Jobs.
func (d *DistributedScaledJob) paused(c *JobConfig, e *field.Errors) bool {
	if text, ok := d.Annotations[annotationPausedReplicas]; ok {
		c.Warnings = append(c.Warnings, noEffect("metadata.annotations["+annotationPausedReplicas+"]", strconv.Quote(text)))
	}
	paused, err := paused(d.Annotations)
	e.Join("", err)
	return paused
}

// strategy returns the scaling strategy; an unset strategy is pendingAware. A custom strategy
// with an invalid percentage is basic, with a warning.
func (d *DistributedScaledJob) strategy(c *JobConfig, e *field.Errors) strategy.Strategy {
	in := &d.Spec.ScaledJobSpec.ScalingStrategy
	deduction, percentage := in.CustomScalingQueueLengthDeduction, in.CustomScalingRunningJobPercentage
	if in.Strategy == "custom" {
		custom, err := strategy.FromSpec("custom", in.Parameters)
		if err != nil || percentage == "" {
			c.Warnings = append(c.Warnings, &field.Error{Path: strategyField + "customScalingRunningJobPercentage", Found: strconv.Quote(percentage),
				Fix: "a decimal such as 0.5: otherwise custom is the strategy basic"})
			return strategy.Default{}
		}
		return custom
	}
	if deduction != nil && *deduction != 0 {
		c.Warnings = append(c.Warnings, noEffect(strategyField+"customScalingQueueLengthDeduction", fmt.Sprint(*deduction)))
	}
	if percentage != "" {
		c.Warnings = append(c.Warnings, noEffect(strategyField+"customScalingRunningJobPercentage", strconv.Quote(percentage)))
	}
	if in.Strategy == "" {
		return strategy.PendingAware{}
	}
	chosen, err := strategy.FromSpec(in.Strategy, in.Parameters)
	e.Join(jobField+".scalingStrategy", err)
	return chosen
}

// check adds what the custom resource requires beyond the policy.
func (d *DistributedScaledJob) check(c *JobConfig, e *field.Errors) {
	members, affinity := d.Spec.MemberClusters, d.Spec.ClusterScheduling.WorkloadAffinity
	e.Check(len(members) <= maxMembers, "spec.memberClusters", fmt.Sprintf("%d members", len(members)), fmt.Sprintf("at most %d", maxMembers))
	if grace := c.Policy.Failover.GracePeriod; grace >= 0 && grace < c.PollingInterval {
		c.Warnings = append(c.Warnings, &field.Error{Path: scheduling + "failoverPolicy.gracePeriod", Found: grace.String(),
			Fix: fmt.Sprintf("the polling interval, %v, or more", c.PollingInterval)})
	}
	if c.Policy.Scheduling != jobs.PriorityFailover {
		e.Check(affinity == nil, scheduling+"workloadAffinity", "a value", "nothing under weightedRoundRobin")
		return
	}
	switch {
	case affinity == nil:
		e.Check(false, scheduling+"workloadAffinity", nil, "class and size under priorityFailover")
	case affinity.Size == nil:
		e.Check(false, scheduling+"workloadAffinity.size", nil, "0 or more under priorityFailover")
	}
	e.Check(len(members) > 0, "spec.memberClusters", nil, "members with a priority under priorityFailover")
	for i := range members {
		path := fmt.Sprintf("spec.memberClusters[%d].scheduling.priority", i)
		if n := members[i].Scheduling.Priority; n == nil {
			e.Check(false, path, nil, "0 to 1000 under priorityFailover")
		} else {
			e.Check(*n >= 0 && *n <= 1000, path, *n, "0 to 1000")
		}
	}
}

// paths maps fields of jobs.Policy to fields of a DistributedScaledJob.
var paths = strings.NewReplacer(
	"Members[", "spec.memberClusters[", "Members", "spec.memberClusters",
	".Name", ".name", ".Weight", ".weight", ".Priority", ".scheduling.priority", ".MaxJobs", ".maxJobs",
	"Scheduling", scheduling+"strategy", "Workload.Size", scheduling+"workloadAffinity.size",
	"Failover.GracePeriod", scheduling+"failoverPolicy.gracePeriod",
	"Failover.HardTaint", scheduling+"failoverPolicy.hardTaintDuration",
	"Failover.SoftTaint", scheduling+"failoverPolicy.softTaintDuration",
	"Failover.LostAfter", scheduling+"failoverPolicy.lostAfter",
	"Failover.Duplication", scheduling+"failoverPolicy.duplicationPolicy",
	"FailoverOverMax", jobField+".failoverOverMax",
	"Scaling.Bounds.Min", jobField+".minReplicaCount", "Scaling.Bounds.Max", jobField+".maxReplicaCount",
	"Scaling.Strategy", strategyField+"strategy",
)

// inManifest returns the problem with the path of a DistributedScaledJob.
func inManifest(f *field.Error) *field.Error {
	return &field.Error{Path: paths.Replace(f.Path), Found: f.Found, Fix: f.Fix}
}
