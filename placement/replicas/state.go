package replicas

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// An Observation is what was read for one decision. The zero value knows neither metrics nor clusters.
type Observation struct {
	// Replicas is the number that the metrics ask for, before the bounds. nil means that they
	// could not be read, or a pause, and leaves every member as it is.
	Replicas *int32
	Clusters []Cluster // each registered cluster
	Now      time.Time
}

// A Cluster is the observation of a registered cluster. A Cluster with a name alone is
// healthy, and its workload has no replicas.
type Cluster struct {
	Name string
	// Problem is ReasonUnreachable, ReasonUnconfirmed, ReasonWorkloadMissing,
	// ReasonWriteFailed, ReasonNotAsked, or empty. Any other value counts as
	// ReasonUnreachable.
	Problem Reason
	// Since is the start of ReasonUnreachable, such as that of a taint.Standing. The zero
	// time means the first plan with that problem.
	Since time.Time
	// Replicas is spec.replicas of the workload. The numbers of the previous plan count
	// if the workload could not be read.
	Replicas int32
	// Existing is the number of replicas that work, such as the number of ready pods. nil
	// means all of them. Replicas that never become ready must not be among them.
	Existing *int32
	// Ordered is the number of the last write, if it succeeded after the previous observation.
	// nil means that there was none. If the member shows more, another client or a member that
	// lies has changed it: the replicas above do not count against the maximum.
	Ordered *int32
	// Reported is status.replicas of the workload, for the caller. It changes no plan.
	Reported int32
	// Cause is why replicas do not work there, as the caller words it. It changes no plan.
	Cause string
}

// checkpointVersion is the version of the checkpoints that this package writes and
// reads.
const checkpointVersion = 1

// A Checkpoint is the state that must survive until the next plan. It holds an entry for
// each member, so that its size is bounded by the registered clusters. The zero value
// knows nothing.
type Checkpoint struct {
	Version int                         `json:"version,omitempty"`
	Members map[string]MemberCheckpoint `json:"members,omitempty"`
}

// A MemberCheckpoint is the part of a Checkpoint for a member.
type MemberCheckpoint struct {
	Problem  Reason    `json:"problem,omitempty"`  // the last failure; empty if the member is healthy
	Since    time.Time `json:"since,omitzero"`     // when the failure began
	Excluded bool      `json:"excluded,omitempty"` // the member had no share when Since began
	Replicas int32     `json:"replicas,omitempty"` // as last read
	Existing int32     `json:"existing,omitempty"` // as last read
	// WaitingSince is the time since which replicas are missing and none has been added.
	WaitingSince time.Time `json:"waitingSince,omitzero"`
}

// UnmarshalJSON rejects a checkpoint of another version with a [*field.Error]. A
// checkpoint without members may have no version.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var read struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if read.Version != 0 && read.Version != checkpointVersion { // another version may have other fields
		return unknownVersion(read.Version)
	}
	type plain Checkpoint
	var checkpoint plain
	if err := json.Unmarshal(data, &checkpoint); err != nil {
		return err
	}
	if checkpoint.Version == 0 && len(checkpoint.Members) > 0 {
		return unknownVersion(0)
	}
	*c = Checkpoint(checkpoint)
	return nil
}

func unknownVersion(version int) error {
	return &field.Error{Path: "version", Found: strconv.Itoa(version), Fix: fmt.Sprintf(
		"%d, the version of this release, or the release that wrote the checkpoint", checkpointVersion)}
}

// problem returns the problem of the cluster; an unknown value is ReasonUnreachable.
func (c *Cluster) problem() Reason {
	switch c.Problem {
	case "", ReasonUnreachable, ReasonUnconfirmed, ReasonWorkloadMissing, ReasonWriteFailed, ReasonNotAsked:
		return c.Problem
	}
	return ReasonUnreachable
}

// existing returns the number of replicas that exist and are to stay.
func (c *Cluster) existing() int32 {
	if c.Existing == nil {
		return max(0, c.Replicas)
	}
	return max(0, min(c.Replicas, *c.Existing))
}

// observe returns the state after another observation.
func (m MemberCheckpoint) observe(c *Cluster, p *Policy, now time.Time) MemberCheckpoint {
	problem, before := c.problem(), m.Existing
	m.Since, m.WaitingSince = past(m.Since, now), past(m.WaitingSince, now)
	if problem != ReasonUnreachable && problem != ReasonNotAsked && problem != ReasonUnconfirmed {
		m.Replicas, m.Existing = max(0, c.Replicas), c.existing()
	}
	if problem == ReasonWorkloadMissing {
		m.Replicas, m.Existing, problem = 0, 0, ""
	}
	m = m.health(problem, p, now)
	if problem == ReasonUnreachable && !c.Since.IsZero() && !m.Excluded {
		m.Since = past(c.Since.UTC(), now)
		m.Excluded, _ = m.excluded(p, now)
	}
	m.progress(m.Existing > before, now)
	return m
}

// health takes the last failure over, which is empty for none. A member that is excluded
// stays so until it is healthy. The grace period of a silent member begins anew.
func (m MemberCheckpoint) health(problem Reason, p *Policy, now time.Time) MemberCheckpoint {
	excluded, _ := m.excluded(p, now)
	switch {
	case problem == ReasonUnconfirmed && m.Problem != "" && !m.Excluded:
		return MemberCheckpoint{Replicas: m.Replicas, Existing: m.Existing, WaitingSince: m.WaitingSince}
	case problem == ReasonUnconfirmed:
		return m
	case problem == "":
		m.Since, m.Excluded = time.Time{}, false
	case m.Problem == "":
		m.Since, m.Excluded = now.UTC(), false
	default:
		m.Excluded = excluded
	}
	m.Problem = problem
	return m
}

// progress notes whether another replica exists.
func (m *MemberCheckpoint) progress(increased bool, now time.Time) {
	switch {
	case m.Existing >= m.Replicas:
		m.WaitingSince = time.Time{}
	case m.WaitingSince.IsZero() || increased:
		m.WaitingSince = now.UTC()
	}
}

// excluded reports whether the member has no share because of its health, and when
// that changes by itself.
func (m *MemberCheckpoint) excluded(p *Policy, now time.Time) (bool, time.Time) {
	switch {
	case m.Problem == "":
		return false, time.Time{}
	case m.Excluded:
		return true, time.Time{}
	}
	return elapsed(m.Since, p.GracePeriod, now)
}

// past returns a time, or now if that is earlier, since the clock was set back.
func past(t, now time.Time) time.Time {
	if t.After(now) {
		return now.UTC()
	}
	return t
}

// elapsed reports whether a duration from start is over, and if not, when it will be.
func elapsed(start time.Time, d time.Duration, now time.Time) (bool, time.Time) {
	d = max(0, d)
	if now.Sub(start) >= d {
		return true, time.Time{}
	}
	return false, start.Add(d)
}
