package replicas

import (
	"fmt"
	"strconv"

	"github.com/scaledjob/scaledjob/field"
)

// Validate returns each problem of the policy as a [*field.Error], joined. A maximum of
// 0 is a problem here; package scaling accepts it. Decide is defined for invalid policies
// too.
func (p Policy) Validate() error {
	var e field.Errors
	e.AtLeast("Min", int64(p.Min), 0)
	e.AtLeast("Max", int64(p.Max), 1)
	if p.Max >= 1 {
		e.AtMost("Min", int64(p.Min), int64(p.Max))
	}
	e.Check(p.GracePeriod >= 0, "GracePeriod", p.GracePeriod, "0s or more")
	e.Check(p.ProgressDeadline >= 0, "ProgressDeadline", p.ProgressDeadline, "0s or more")
	e.AtLeast("MaxSurge", int64(p.MaxSurge), 0)
	checkMembers(&e, p.Members)
	return e.Err()
}

func checkMembers(e *field.Errors, members []Member) {
	names, weightless := map[string]bool{}, len(members) > 0
	for i, m := range members {
		path := fmt.Sprintf("Members[%d].", i)
		e.Check(m.Name != "", path+"Name", m.Name, "the name of a cluster")
		e.Check(m.Name == "" || !names[m.Name], path+"Name", m.Name, "a name that no other member has")
		e.AtLeast(path+"Weight", int64(m.Weight), 0)
		names[m.Name] = true
		weightless = weightless && m.Weight == 0
	}
	if weightless {
		e.Add(field.Error{Path: "Members", Found: "no weight", Fix: "at least one weight above 0"})
	}
}

// Validate returns a [*field.Error] if the version is unknown. A checkpoint without members
// may have none.
func (c *Checkpoint) Validate() error {
	if c.Version == checkpointVersion || (c.Version == 0 && len(c.Members) == 0) {
		return nil
	}
	return &field.Error{Path: "version", Found: strconv.Itoa(c.Version), Fix: fmt.Sprintf(
		"%d, the version of this release, or the release that wrote the checkpoint", checkpointVersion)}
}

// Validate returns each problem of the observation as a [*field.Error], joined. Decide is
// defined for invalid observations too.
func (o *Observation) Validate() error {
	var e field.Errors
	names := map[string]bool{}
	for i := range o.Clusters {
		c := &o.Clusters[i]
		path := fmt.Sprintf("Clusters[%d].", i)
		e.Check(c.Name != "", path+"Name", c.Name, "the name of a cluster")
		e.Check(c.Name == "" || !names[c.Name], path+"Name", c.Name, "a name that no other cluster has")
		names[c.Name] = true
		e.Check(c.Problem == c.problem(), path+"Problem", string(c.Problem), "Unreachable, Unconfirmed, WorkloadMissing, WriteFailed, NotAsked or nothing")
		e.AtLeast(path+"Replicas", int64(c.Replicas), 0)
		if c.Existing != nil {
			e.AtLeast(path+"Existing", int64(*c.Existing), 0)
		}
	}
	return e.Err()
}
