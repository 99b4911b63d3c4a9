package placement

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/strategy"
)

// A FieldError is one problem of a manifest or an observation, or a warning.
type FieldError struct {
	Field string // its path, such as spec.memberClusters[0].weight
	Found string
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s: want %s", e.Field, e.Found, e.Want)
}

// A report collects what is wrong, and what only seems so.
type report struct {
	problems []error
	warnings []*FieldError
}

func (r *report) check(ok bool, field string, found any, want string) {
	if !ok {
		r.problems = append(r.problems, &FieldError{field, fmt.Sprint(found), want})
	}
}

func (r *report) warn(wrong bool, field string, found any, want string) {
	if wrong {
		r.warnings = append(r.warnings, &FieldError{field, fmt.Sprint(found), want})
	}
}

const (
	atLeast0   = "0 or more"
	scheduling = "spec.clusterScheduling."
	failover   = scheduling + "failoverPolicy."
	jobSpec    = "spec.scaledJobSpec."
	objectSpec = "spec.scaledObjectSpec."
)

// Validate returns every problem of the policy, joined, and what is a warning, each
// a [*FieldError] with the path of the field in a DistributedScaledObject.
// PlanObject is defined for a policy with problems all the same.
func (p *ObjectPolicy) Validate() (warnings []*FieldError, err error) {
	var r report
	r.members(p.Members)
	r.weights(p.Members)
	r.check(p.Min >= 0, objectSpec+"minReplicaCount", p.Min, atLeast0)
	r.check(p.Max >= 0, objectSpec+"maxReplicaCount", p.Max, atLeast0)
	r.check(p.Min <= p.Max || p.Max < 0, objectSpec+"minReplicaCount", p.Min, fmt.Sprintf("no more than maxReplicaCount, which is %d", p.Max))
	const policy = "spec.rebalancingPolicy."
	r.duration(policy+"gracePeriod", p.Rebalancing.GracePeriod)
	r.duration(policy+"recoveryDelay", p.Rebalancing.RecoveryDelay)
	r.grace(policy+"gracePeriod", p.Rebalancing.GracePeriod, p.PollingInterval)
	if n := p.Rebalancing.MaxPercentage; n != nil {
		r.check(*n >= 1 && *n <= 100, policy+"maxRebalancePercentage", *n, "1 to 100")
	}
	return r.warnings, errors.Join(r.problems...)
}

// Validate returns every problem of the policy, joined, and what is a warning, each
// a [*FieldError] with the path of the field in a DistributedScaledJob. PlanJobs is
// defined for a policy with problems all the same.
func (p *JobPolicy) Validate() (warnings []*FieldError, err error) {
	var r report
	r.check(p.MaxMembers <= 0 || len(p.Members) <= p.MaxMembers, "spec.memberClusters", fmt.Sprintf("of %d members", len(p.Members)),
		fmt.Sprintf("at most %d", p.MaxMembers))
	r.members(p.Members)
	switch p.Scheduling {
	case "", WeightedRoundRobin:
		r.roundRobin(p)
	case PriorityFailover:
		r.priorities(p)
	default:
		r.check(false, scheduling+"strategy", strconv.Quote(string(p.Scheduling)), "weightedRoundRobin or priorityFailover")
	}
	r.failover(p)
	r.scaling(&p.Scaling)
	return r.warnings, errors.Join(r.problems...)
}

func (r *report) members(all []Member) {
	seen := map[string]bool{}
	for i, m := range all {
		path := fmt.Sprintf("spec.memberClusters[%d].", i)
		r.check(m.Name != "", path+"name", "empty", "the name of a cluster")
		r.check(m.Name == "" || !seen[m.Name], path+"name", strconv.Quote(m.Name), "a name that no other member has")
		r.check(m.Weight >= 0, path+"weight", m.Weight, atLeast0)
		if m.MaxJobs != nil {
			r.check(*m.MaxJobs >= 0, path+"maxJobs", *m.MaxJobs, atLeast0)
		}
		seen[m.Name] = true
	}
}

// weights checks that some listed member has one, unless a weight is wrong anyway.
func (r *report) weights(all []Member) {
	zero := len(all) > 0
	for _, m := range all {
		zero = zero && m.Weight == 0
	}
	r.check(!zero, "spec.memberClusters", "without weight", "at least one weight above 0")
}

func (r *report) duration(path string, d time.Duration) { r.check(d >= 0, path, d, atLeast0) }

func (r *report) grace(path string, grace, poll time.Duration) {
	r.warn(grace >= 0 && grace < poll, path, grace, fmt.Sprintf("the polling interval of %v or more, since nobody looks more often", poll))
}

func (r *report) roundRobin(p *JobPolicy) {
	r.weights(p.Members)
	r.check(p.Affinity == nil, scheduling+"workloadAffinity", "set", "nothing under weightedRoundRobin")
	for i, m := range p.Members {
		if m.Priority != nil {
			r.warn(true, fmt.Sprintf("spec.memberClusters[%d].scheduling.priority", i), *m.Priority, "nothing: weightedRoundRobin ignores it")
		}
	}
}

func (r *report) priorities(p *JobPolicy) {
	const required = "under priorityFailover"
	affinity := scheduling + "workloadAffinity"
	switch {
	case p.Affinity == nil:
		r.check(false, affinity, "missing", "class and size "+required)
	case p.Affinity.Size == nil:
		r.check(false, affinity+".size", "missing", atLeast0)
	default:
		r.check(*p.Affinity.Size >= 0, affinity+".size", *p.Affinity.Size, atLeast0)
	}
	r.check(len(p.Members) > 0, "spec.memberClusters", "empty", "members with a priority "+required)
	for i, m := range p.Members {
		path := fmt.Sprintf("spec.memberClusters[%d].scheduling.priority", i)
		if m.Priority == nil {
			r.check(false, path, "missing", "0 to 1000 "+required)
		} else {
			r.check(*m.Priority >= 0 && *m.Priority <= 1000, path, *m.Priority, "0 to 1000")
		}
	}
	r.check(p.Scaling.replaces(), jobSpec+"scalingStrategy.strategy", p.Scaling.name(), "pendingAware or nothing "+required)
}

func (r *report) failover(p *JobPolicy) {
	f := &p.Failover
	r.duration(failover+"gracePeriod", f.GracePeriod)
	r.duration(failover+"hardTaintDuration", f.HardTaint)
	r.duration(failover+"softTaintDuration", f.SoftTaint)
	r.grace(failover+"gracePeriod", f.GracePeriod, p.PollingInterval)
	r.warn(f.HardTaint == 0, failover+"hardTaintDuration", f.HardTaint, "more than 0: otherwise no cluster is ever excluded")
	const path = failover + "duplicationPolicy"
	switch f.Duplication {
	case "", KeepAll:
	case PreferFailover, PreferSource, ImmediateSourceCleanup:
		r.warn(!p.Scaling.replaces(), path, f.Duplication, "keepAll or nothing: only pendingAware makes duplicates")
	default:
		r.check(false, path, strconv.Quote(string(f.Duplication)), "one of keepAll, preferFailover, preferSource, immediateSourceCleanup")
	}
}

func (r *report) scaling(s *Scaling) {
	const path = jobSpec + "scalingStrategy."
	r.check(s.Min >= 0, jobSpec+"minReplicaCount", s.Min, atLeast0)
	r.check(s.Max >= 0, jobSpec+"maxReplicaCount", s.Max, atLeast0)
	r.warn(s.Max >= 0 && s.Min > s.Max, jobSpec+"minReplicaCount", s.Min, fmt.Sprintf("no more than maxReplicaCount: %d is used", s.Max))
	r.warn(s.FailoverOverMax && !s.replaces(), jobSpec+"failoverOverMax", true, "nothing: only pendingAware replaces Jobs")
	if s.Own != nil {
		return
	}
	switch s.Strategy {
	case "", "basic", "accurate", "eager", "pendingAware":
		r.warn(s.QueueLengthDeduction != 0, path+"customScalingQueueLengthDeduction", s.QueueLengthDeduction, "nothing: only custom uses it")
		r.warn(s.RunningJobPercentage != "", path+"customScalingRunningJobPercentage", strconv.Quote(s.RunningJobPercentage), "nothing: only custom uses it")
	case "custom":
		_, err := strategy.ParsePercentage(s.RunningJobPercentage)
		r.warn(err != nil, path+"customScalingRunningJobPercentage", strconv.Quote(s.RunningJobPercentage),
			`a decimal such as "0.5": otherwise custom is the strategy basic`)
	default:
		r.check(false, path+"strategy", strconv.Quote(s.Strategy), "one of "+strings.Join(strategies, ", "))
	}
}

var strategies = []string{"basic", "custom", "accurate", "eager", "pendingAware"}

// name is what the strategy is called in a message.
func (s *Scaling) name() string {
	if s.Own != nil {
		return "the caller's own"
	}
	return strconv.Quote(s.Strategy)
}

// Validate returns every problem of an observation, joined, each a [*FieldError]:
// two Jobs or two clusters that cannot be told apart, and a Job that replaces itself.
// PlanJobs is defined for it all the same.
func (s *JobState) Validate() error {
	var r report
	names, uids := map[string]bool{}, map[string]bool{}
	r.check(s.Demand.Jobs >= 0, "demand.jobs", s.Demand.Jobs, atLeast0)
	for i := range s.Clusters {
		c := &s.Clusters[i]
		path := fmt.Sprintf("clusters[%d].", i)
		r.check(!names[c.Name], path+"name", strconv.Quote(c.Name), "a name that no other cluster has")
		names[c.Name] = true
		for j := range c.Jobs {
			job := &c.Jobs[j]
			path := fmt.Sprintf("%sjobs[%d].", path, j)
			r.check(job.UID != "", path+"uid", "empty", "the UID of the Job")
			r.check(job.UID == "" || !uids[job.UID], path+"uid", strconv.Quote(job.UID), "a UID that no other Job has")
			r.check(job.UID == "" || job.Replaces.UID != job.UID, path+"replaces.uid", strconv.Quote(job.UID), "the UID of another Job")
			uids[job.UID] = true
		}
	}
	return errors.Join(r.problems...)
}

// Validate returns every problem of the counts, joined, each a [*FieldError].
func (c Counts) Validate() error {
	var r report
	r.check(c.Stuck >= 0, "stuck", c.Stuck, atLeast0)
	r.check(c.Terminating >= 0, "terminating", c.Terminating, atLeast0)
	r.check(c.Stuck <= c.Pending, "stuck", c.Stuck, fmt.Sprintf("no more than pending, which is %d", c.Pending))
	r.check(c.Pending <= c.Running, "pending", c.Pending, fmt.Sprintf("no more than running, which is %d", c.Running))
	return errors.Join(r.problems...)
}

// Unregistered returns a warning for each listed member that is not registered. It
// gets nothing until it is.
func Unregistered(listed []Member, registered ...string) (warnings []*FieldError) {
	known := map[string]bool{}
	for _, name := range registered {
		known[name] = true
	}
	var r report
	for i, m := range listed {
		r.warn(!known[m.Name], fmt.Sprintf("spec.memberClusters[%d].name", i), strconv.Quote(m.Name), "the name of a registered cluster")
	}
	return r.warnings
}
