package jobs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// A Checkpoint is the state that must survive from one decision to the next. Store it
// as JSON before the first create of its decision. The zero value is for a new owner.
//
// It has the taints, the stuck Jobs that have been counted as failures, and the number of
// unfinished Jobs of each cluster, including the Jobs to create. Its size grows with the
// number of clusters and of workload taints, not with the Jobs.
type Checkpoint struct {
	clusters  map[string]clusterCheckpoint
	workloads taint.Set
}

// A clusterCheckpoint is the part of a Checkpoint for a cluster.
type clusterCheckpoint struct {
	Taint     taint.State `json:"taint,omitzero"`
	Counted   time.Time   `json:"counted,omitzero"`   // the latest PendingSince of a stuck Job that has been counted
	Unreached time.Time   `json:"unreached,omitzero"` // since when it is NeverReached
	// Unfinished Jobs, which count while the cluster is NeverReached.
	Running     int64 `json:"running,omitempty"`
	Pending     int64 `json:"pending,omitempty"` // the part of Running
	Terminating int64 `json:"terminating,omitempty"`
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

// Exclusions returns the taints that exclude, for the decisions of other owners.
func (c Checkpoint) Exclusions() taint.Exclusions {
	e := taint.Exclusions{Clusters: map[string]time.Time{}, Workloads: taint.Merge(c.workloads)}
	for name, cluster := range c.clusters {
		if cluster.Taint.Level == taint.Hard {
			e.Clusters[name] = cluster.Taint.Until
		}
	}
	return e
}

// taint computes the taints after the failures and the stuck Jobs of this poll. A stuck
// Job escalates the taint of its cluster once. Under PriorityFailover it is a taint
// against its workload instead, from when it became stuck.
func (f *fleet) taint(c *Checkpoint) {
	latest := make([]time.Time, len(f.members)) // PendingSince of a stuck Job
	for i := range f.jobs {
		if j := &f.jobs[i]; j.stuck && j.PendingSince.After(latest[j.member]) {
			latest[j.member] = j.PendingSince
		}
	}
	var stuck taint.Set
	c.clusters = map[string]clusterCheckpoint{}
	durations := taint.Durations{Soft: f.Failover.SoftTaint, Hard: f.Failover.HardTaint}
	for i := range f.members {
		m := &f.members[i]
		failed := m.Failures.Call
		if f.Scheduling == PriorityFailover {
			stuck = append(stuck, f.against(m, latest[i])...)
		} else {
			since := latest[i].UTC()
			failed = failed || m.Failures.Create || since.After(m.before.Counted)
			if since.After(m.before.Counted) {
				m.before.Counted = since
			}
		}
		m.taint = m.before.Taint.Harden(f.Shared.Clusters[m.name()], f.Now)
		if failed {
			m.taint = m.taint.Fail(durations, f.Now)
		}
		if m.registered && m.Reach == NeverReached {
			m.unreached = m.before.Unreached
			if m.unreached.IsZero() || m.unreached.After(f.Now) { // after, if the clock was set back
				m.unreached = f.Now.UTC()
			}
		}
	}
	// Taints of clusters that are neither registered nor members at present, and the stuck
	// Jobs that count in them. Both are dropped when the taint ends, so that the checkpoint
	// does not grow. A stuck Job of such a cluster counts again if the cluster comes back.
	for name, before := range f.Checkpoint.clusters {
		if state := before.Taint.At(f.Now); state.Level != taint.None {
			c.clusters[name] = clusterCheckpoint{Taint: state, Counted: before.Counted}
		}
	}
	c.workloads = taint.Merge(f.Checkpoint.workloads, f.Shared.Workloads, stuck).At(f.Now)
}

// against returns the taint that stuck Jobs of a member are the reason for; latest is
// their latest PendingSince, or the zero time.
func (f *fleet) against(m *member, latest time.Time) taint.Set {
	if latest.IsZero() || !m.listed {
		return nil
	}
	until := latest.Add(max(0, f.Failover.GracePeriod)).Add(max(0, f.Failover.HardTaint))
	return taint.Set{{Path: m.path(), Workload: f.Workload, Until: until.UTC()}}
}

// store completes the checkpoint with the Jobs to create, adds the times at which taints
// end, and describes the members.
func (f *fleet) store(d *Decision) {
	created := map[string]int64{}
	for _, p := range d.Create {
		created[p.Cluster] = p.Jobs()
	}
	d.Members = make([]MemberPlan, len(f.members))
	workloads := map[taint.Path]taint.Set{}
	for _, e := range d.Checkpoint.workloads {
		workloads[e.Path] = append(workloads[e.Path], e)
		f.change.add(e.Until)
	}
	for i := range f.members {
		m := &f.members[i]
		d.Members[i] = MemberPlan{m.name(), m.Reach, m.reason, m.counts, m.taint, workloads[m.path()]}
		n := created[m.name()]
		after := clusterCheckpoint{
			Taint: m.taint, Counted: m.before.Counted, Unreached: m.unreached,
			Running: plus(m.counts.Running, n), Pending: plus(m.counts.Pending, n),
			Terminating: plus(m.counts.Terminating, max(0, m.Late)),
		}
		if after != (clusterCheckpoint{}) {
			d.Checkpoint.clusters[m.name()] = after
		} else {
			delete(d.Checkpoint.clusters, m.name())
		}
		if !m.unreached.IsZero() {
			_, excluded := elapsed(m.unreached, f.Failover.GracePeriod, f.Now)
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

func (m *member) hard() bool { return m.taint.Level == taint.Hard }
