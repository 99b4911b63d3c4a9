package jobs

import (
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// An Observation is what was read for one decision. The zero value has no cluster and no metric.
type Observation struct {
	Metrics  []scaling.Metric // {Value: n, Target: 1} asks for n Jobs
	Clusters []Cluster        // the registered clusters
	// Shared has the taints against workloads of other owners, which PriorityFailover reads:
	// see [Checkpoint.Workloads]. Pass those of the same namespace only.
	Shared taint.Set
	Now    time.Time
}

// A Cluster is the observation of a registered cluster. The zero value has never been
// reached. [NewCluster] returns a reachable cluster.
type Cluster struct {
	Name  string
	Reach Reach
	Jobs  []Job // all Jobs of this owner, as last observed
	// Taint is that of the cluster for all owners, such as of a [taint.Fleet]. A hard taint
	// excludes it.
	Taint taint.Taint
	// Since is the start of the time for which the cluster has not answered while another
	// cluster did: see [taint.Standing]. While it is the zero time, no Job there is replaced
	// or lost, and a NeverReached cluster is awaited.
	Since time.Time
	// MaxJobs is the most unfinished Jobs of this owner there, beside Member.MaxJobs, such as
	// for what the caller can observe. nil means no limit.
	MaxJobs  *int64
	Failures Failures
	// Unanswered counts creates without an answer. Their Jobs do not exist, but may still appear.
	// They occupy capacity. New Jobs on this cluster take their names first, and need no
	// further capacity for them. A caller that has no record of them leaves it 0.
	Unanswered int64
}

// NewCluster returns a reachable cluster that has exactly these Jobs.
func NewCluster(name string, jobs ...Job) Cluster {
	return Cluster{Name: name, Reach: Reachable, Jobs: jobs}
}

// Reach describes whether a cluster is reachable. The zero value is NeverReached.
type Reach uint8

const (
	// NeverReached means that the Jobs have not been listed since the start, or that the
	// cluster does not track this owner. The numbers of the Checkpoint count in their place.
	// No Job is created anywhere until the grace period after Since has ended.
	NeverReached Reach = iota
	// Unreachable means that Jobs holds the last observation. The cluster gets no new Job.
	Unreachable
	// Reachable means that Jobs is complete.
	Reachable
)

// Failures are the requests of this owner to a cluster that have failed since the previous
// decision. All failures of a poll count once, and against this owner only: the reason may
// be his own, such as a webhook.
type Failures struct {
	Call     bool // a get or delete: escalates the owner's taint
	Create   bool // a create that may succeed later (no answer, 408, 429, 5xx): likewise, but not under PriorityFailover
	Rejected bool // a create that was rejected (other 4xx): no taint, and no new Job in this decision
}

// A Job is the observation of a Job. The zero value is running.
type Job struct {
	Name  string
	UID   string // unique over all clusters
	Phase Phase
	// PendingSince is the time from which a pending Job counts as stuck after the grace
	// period: its creation, or when it last ran. A Job with the zero time is never stuck,
	// such as a suspended Job, or a Job that the cache does not show yet.
	PendingSince time.Time
	// Created is the time of its creation by the same clock. Jobs that were created after
	// stuck Jobs and have started end the backoff. The zero time never does.
	Created      time.Time
	Replaces     Source    // the zero value if it replaces nothing
	Deleting     bool      // has a deletion timestamp; if it is unfinished, it is terminating
	Finished     time.Time // of a finished Job: see history.Times
	Revision     rollout.Revision
	NeverStarted bool // no pod of it has ever started; false if unknown
	// Unconfirmed reports that its create was not answered, so that it may not exist. It
	// occupies capacity and needs no replacement, but no other Job is deleted for it.
	Unconfirmed bool
}

// A Phase is the phase of a Job. The zero value is Running.
type Phase uint8

const (
	Running   Phase = iota // unfinished; a pod is Running or Succeeded
	Pending                // unfinished; no pod is Running or Succeeded
	Succeeded              // finished
	Failed                 // finished
)

// A Source identifies the Job that a replacement stands for. Store it on the
// replacement, such as in labels.
type Source struct {
	UID     string // of the first Job of the chain, also if a replacement is replaced
	Attempt int32  // number of the replacement, from 1
}

// finished reports whether the Job has succeeded or failed.
func (j *Job) finished() bool { return j.Phase == Succeeded || j.Phase == Failed }

// live reports whether the Job is neither finished nor terminating.
func (j *Job) live() bool { return !j.Deleting && j.Phase < Succeeded }

// started reports whether a pod of the Job has started.
func (j *Job) started() bool {
	return j.Phase == Running || j.Phase == Succeeded || (j.Phase == Failed && !j.NeverStarted)
}

// stuck reports whether the Job has been pending for the grace period. If it has not, next is
// the time at which it will have been, or the zero time if that is never. An age below
// 0, of a clock that was set back, is 0. On a cluster that does not answer the period
// begins when that counts against it.
func (f *fleet) stuck(j *job) (stuck bool, next time.Time) {
	start, m := j.PendingSince, &f.members[j.member]
	pending := j.Phase == Pending && !j.Deleting && !start.IsZero()
	if judged := m.Reach == Reachable || !m.Since.IsZero(); !pending || !judged {
		return false, time.Time{}
	}
	if m.Reach != Reachable && m.Since.After(start) {
		start = m.Since
	}
	return elapsed(start, f.Failover.GracePeriod, f.Now)
}

// elapsed reports whether d has passed since start. If it has not, end is when it will
// have.
func elapsed(start time.Time, d time.Duration, now time.Time) (passed bool, end time.Time) {
	d = max(0, d)
	if max(0, now.Sub(start)) >= d {
		return true, time.Time{}
	}
	return false, start.Add(d)
}

// A horizon finds the next time at which a decision can change.
type horizon struct{ now, next time.Time }

// add adds a time, unless it is the zero time or past.
func (h *horizon) add(t time.Time) {
	if t.After(h.now) && (h.next.IsZero() || t.Before(h.next)) {
		h.next = t
	}
}
