package placement

import (
	"maps"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// A Failure is a request to a cluster that failed. All failures of a cluster that
// one plan is told of count as one.
type Failure struct {
	Cluster string
	Kind    FailureKind
}

// FailureKind is what a failed request means. The zero value is CallFailed.
type FailureKind uint8

const (
	CallFailed     FailureKind = iota // a list, get, delete or health check: the cluster's ladder
	CreateFailed                      // a create that may work later (time-out, connection, 429, 5xx): the ladder, but nothing under PriorityFailover
	CreateRejected                    // a create that the cluster refused (other 4xx): no taint, and no Job in this plan
)

// A Memory is what must survive from one plan to the next. It is kept as JSON.
// The zero value is that nothing has failed.
//
// Workloads may be shared by all owners: [taint.Merge] what several plans hand
// back.
type Memory struct {
	Clusters  map[string]taint.State `json:"clusters,omitempty"`
	Workloads taint.Set              `json:"workloads,omitempty"`
	// Counted is how far stuck Jobs have been counted as failures, for each
	// cluster: the latest PendingSince of one. So each counts once, however long it
	// stays.
	Counted map[string]time.Time `json:"counted,omitempty"`
	// Jobs are the unfinished ones of each registered cluster, with those that the
	// plan creates: so that a Memory is to be stored before its plan is carried out.
	// They count while the cluster's Jobs are not known, for after a restart what is on
	// a cluster that does not answer must not be made again elsewhere. None of them is
	// stuck or replaced: which they are is not known.
	Jobs map[string]Counts `json:"jobs,omitempty"`
}

// remember returns the memory after what this plan was told and what it sees, without
// what has ended. A stuck Job is a failure of the cluster's ladder; under
// PriorityFailover it is instead a hard taint against its workload, from when it
// became stuck.
func (f *fleet) remember() Memory {
	after := Memory{
		Clusters:  map[string]taint.State{},
		Workloads: taint.Merge(f.Memory.Workloads, f.stuckWorkloads()).At(f.Now),
		Counted:   map[string]time.Time{},
	}
	failed := map[string]bool{}
	for _, failure := range f.Failures {
		if f.climbs(failure.Kind) {
			failed[failure.Cluster] = true
		}
	}
	if f.Scheduling != PriorityFailover {
		f.countStuck(failed, after.Counted)
	}
	maps.Copy(after.Clusters, f.Memory.Clusters)
	for name := range failed {
		after.Clusters[name] = after.Clusters[name].Fail(taint.Durations{Soft: f.Failover.SoftTaint, Hard: f.Failover.HardTaint}, f.Now)
	}
	maps.DeleteFunc(after.Clusters, func(_ string, s taint.State) bool { return s.At(f.Now).Level == taint.None })
	return after
}

// climbs reports whether a failure is one of the cluster's ladder.
func (f *fleet) climbs(kind FailureKind) bool {
	return kind == CallFailed || kind == CreateFailed && f.Scheduling != PriorityFailover
}

// countStuck notes which clusters have a Job that became stuck after the last that
// was counted, and which has been counted now.
func (f *fleet) countStuck(failed map[string]bool, counted map[string]time.Time) {
	for i := range f.jobs {
		j := &f.jobs[i]
		if !j.stuck {
			continue
		}
		name, since := f.members[j.member].Name, j.PendingSince.UTC().Round(0)
		if since.After(f.Memory.Counted[name]) {
			failed[name] = true
		}
		if latest, ok := counted[name]; !ok || since.After(latest) {
			counted[name] = since
		}
	}
	for name := range counted {
		if before := f.Memory.Counted[name]; before.After(counted[name]) {
			counted[name] = before
		}
	}
}

// stuckSince is when a stuck Job became stuck.
func (j *Job) stuckSince(grace time.Duration) time.Time {
	return j.PendingSince.Add(max(0, grace)).UTC().Round(0)
}

// stuckWorkloads are the taints that the stuck Jobs are reason for.
func (f *fleet) stuckWorkloads() (s taint.Set) {
	if f.Scheduling != PriorityFailover {
		return nil
	}
	for i := range f.jobs {
		j := &f.jobs[i]
		if !j.stuck || !f.members[j.member].listed {
			continue
		}
		until := j.stuckSince(f.Failover.GracePeriod).Add(max(0, f.Failover.HardTaint))
		s = append(s, taint.Entry{Path: f.members[j.member].path(), Workload: f.workload, Until: until})
	}
	return s
}
