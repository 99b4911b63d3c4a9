package jobs

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// A Checkpoint is the state that must survive from one decision to the next. Store it
// as JSON before the first create of its decision. The zero value is for a new owner.
//
// It has this owner's taints and backoffs, the turns of the members, and the number of
// unfinished Jobs of each cluster, including the Jobs to create. Its size grows with the number of clusters and of
// his taints against workloads, not with the Jobs or with the owners of his namespace.
type Checkpoint struct {
	clusters  map[string]clusterCheckpoint
	workloads taint.Set
}

// A clusterCheckpoint is the part of a Checkpoint for a cluster.
type clusterCheckpoint struct {
	Taint  taint.Taint `json:"taint,omitzero"`
	Starts Starts      `json:"starts,omitzero"`
	// Unfinished Jobs, which count while the cluster is NeverReached.
	Running     int64 `json:"running,omitempty"`
	Pending     int64 `json:"pending,omitempty"` // the part of Running
	Terminating int64 `json:"terminating,omitempty"`
	// Of a member that was in a round: its weight, and its credit at that weight.
	Weight int32 `json:"weight,omitempty"`
	Credit int64 `json:"credit,omitempty"`
}

// sane returns c without negative numbers.
func (c clusterCheckpoint) sane() clusterCheckpoint {
	c.Running, c.Terminating = max(0, c.Running), max(0, c.Terminating)
	c.Pending = max(0, min(c.Pending, c.Running))
	return c
}

// total returns the Jobs that occupy capacity.
func (c *clusterCheckpoint) total() int64 { return plus(c.Running, c.Terminating) }

// checkpointVersion is the version of the JSON form.
const checkpointVersion = 1

type checkpointJSON struct {
	Version   int                          `json:"version"`
	Clusters  map[string]clusterCheckpoint `json:"clusters,omitempty"`
	Workloads taint.Set                    `json:"workloads,omitempty"`
}

// MarshalJSON returns the stored form, which has a version.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	return json.Marshal(checkpointJSON{checkpointVersion, c.clusters, c.workloads})
}

// UnmarshalJSON reads the stored form. An unknown or missing version is an error, and c
// is not modified.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var version struct {
		Version json.RawMessage `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return err
	}
	if found := string(version.Version); found != fmt.Sprint(checkpointVersion) {
		if found == "" {
			found = "nothing"
		}
		return fmt.Errorf("checkpoint.version: found %s; use %d, or a release that knows that version", found, checkpointVersion)
	}
	var stored checkpointJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*c = Checkpoint{stored.Clusters, stored.Workloads}
	return nil
}

// Workloads returns the taints against workloads, for the decisions of other owners of the
// same namespace.
func (c Checkpoint) Workloads() taint.Set { return taint.Merge(c.workloads) }

// Starts is the evidence of whether Jobs of this owner start on a cluster. The zero value
// has none against it.
type Starts struct {
	// Counted is the latest PendingSince of a stuck Job that has been counted.
	Counted time.Time `json:"counted,omitzero"`
	// Failed is the number of hard taints for stuck Jobs since a Job last started.
	// Each lasts twice as long as the previous one, up to 16 times HardTaint. After it, a
	// single Job probes the cluster.
	Failed int32 `json:"failed,omitempty"`
}

// maxDoublings bounds the backoff.
const maxDoublings = 4

// observe takes over the latest PendingSince of a stuck Job and the latest creation of a
// Job that has started. It returns whether a stuck Job counts that did not count before.
func (m *member) observe(stuck, started time.Time) (failed bool) {
	s := m.before.Starts
	if failed = stuck.After(s.Counted); failed {
		s.Counted = stuck
	}
	afterStuck := stuck.IsZero() || started.After(stuck)
	m.starting = !started.IsZero() && !started.Before(s.Counted) && afterStuck
	if m.starting {
		s.Failed = 0
	}
	m.starts = s
	return failed
}

// fail counts a hard taint for stuck Jobs, unless later Jobs have started.
func (m *member) fail() {
	if !m.starting {
		m.starts.Failed = min(m.starts.Failed+1, maxDoublings+1)
	}
}

// hard returns how long the next hard taint for stuck Jobs lasts.
func (s Starts) hard(p *Failover) time.Duration {
	d := max(0, p.HardTaint)
	for range min(s.Failed, maxDoublings) {
		d = min(2*d, math.MaxInt64/4)
	}
	return d
}

// taint computes this owner's taints after the failures and the stuck Jobs of this poll. A
// stuck Job escalates the taint of its cluster once. Under PriorityFailover it is a taint
// against its workload instead, from when it became stuck.
func (f *fleet) taint(c *Checkpoint) {
	stuck, started := make([]time.Time, len(f.members)), make([]time.Time, len(f.members))
	for i := range f.jobs {
		switch j := &f.jobs[i]; {
		case j.stuck && j.PendingSince.After(stuck[j.member]):
			stuck[j.member] = j.PendingSince.UTC()
		case j.started() && j.Created.After(started[j.member]):
			started[j.member] = j.Created
		}
	}
	var workloads taint.Set
	c.clusters = map[string]clusterCheckpoint{}
	for i := range f.members {
		m := &f.members[i]
		workloads = append(workloads, f.escalate(m, m.observe(stuck[i], started[i]))...)
	}
	// Taints of clusters that are neither registered nor members at present, and the stuck
	// Jobs that count in them. Both are dropped when the taint ends, so that the checkpoint
	// does not grow. A stuck Job of such a cluster counts again if the cluster comes back.
	for name, before := range f.previous.clusters {
		if state := before.Taint.At(f.Now); state.Level != taint.None {
			c.clusters[name] = clusterCheckpoint{Taint: state, Starts: before.Starts}
		}
	}
	c.workloads = taint.Merge(f.previous.workloads, workloads).At(f.Now)
	f.workloads = taint.Merge(c.workloads, f.Shared).At(f.Now)
}

// escalate sets the taint of a member after a stuck Job or failed requests, and returns
// the taint against the workload.
func (f *fleet) escalate(m *member, stuck bool) taint.Set {
	durations := taint.Durations{Soft: f.Failover.SoftTaint, Hard: f.Failover.HardTaint}
	m.own = m.before.Taint.At(f.Now)
	if m.Failures.Call || (m.Failures.Create && f.Scheduling != PriorityFailover) {
		m.own = m.own.Fail(durations, f.Now)
	}
	if !stuck || !m.listed {
		return nil
	}
	hard := m.starts.hard(&f.Failover)
	if f.Scheduling == PriorityFailover {
		until := m.starts.Counted.Add(max(0, f.Failover.GracePeriod)).Add(hard)
		if until.After(f.Now) {
			m.fail()
		}
		return taint.Set{{Path: m.path(), Workload: f.Workload, Until: until.UTC()}}
	}
	previous := m.own.Level
	if durations.Hard = hard; m.starts.Failed > 0 {
		durations.Soft = 0
	}
	if m.own = m.own.Fail(durations, f.Now); m.own.Level == taint.Hard && previous != taint.Hard {
		m.fail()
	}
	return nil
}

// probes reports whether the member may have a single new Job, which shows whether Jobs
// start there again.
func (m *member) probes() bool { return m.starts.Failed > 0 }

// store completes the checkpoint with the Jobs to create, adds the times at which taints
// end, and describes the members.
func (f *fleet) store(d *Decision) {
	created := map[string]int64{}
	for _, p := range d.Create {
		created[p.Cluster] = p.Jobs()
	}
	d.Members = make([]MemberDecision, len(f.members))
	workloads := map[taint.Path]taint.Set{}
	for _, e := range f.workloads {
		workloads[e.Path] = append(workloads[e.Path], e)
		f.change.add(e.Until)
	}
	for i := range f.members {
		m := &f.members[i]
		d.Members[i] = MemberDecision{m.name(), m.Reach, m.reason, m.counts, m.gone, m.names, m.Taint.At(f.Now), m.own, workloads[m.path()]}
		n := created[m.name()]
		after := clusterCheckpoint{
			Taint: m.own, Starts: m.starts,
			Running: plus(plus(m.counts.Running, m.gone), n), Pending: plus(m.counts.Pending, n),
			Terminating: plus(m.counts.Terminating, max(0, m.Unanswered)),
		}
		if inRound := m.listed && m.Weight > 0; inRound && (f.credited || len(d.Create) > 0) {
			after.Weight, after.Credit = m.Weight, m.credit
		}
		if after != (clusterCheckpoint{}) {
			d.Checkpoint.clusters[m.name()] = after
		} else {
			delete(d.Checkpoint.clusters, m.name())
		}
		f.change.add(m.Taint.At(f.Now).Until)
		if m.Reach == NeverReached && !m.Since.IsZero() {
			_, excluded := elapsed(m.Since, f.Failover.GracePeriod, f.Now)
			f.change.add(excluded)
		}
	}
	for _, c := range d.Checkpoint.clusters {
		f.change.add(c.Taint.Until)
	}
	if len(d.Checkpoint.clusters) == 0 {
		d.Checkpoint.clusters = nil // a checkpoint without content is the zero value
	}
}
