package jobs

import (
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/field"
)

// Validate returns each problem of the policy as a [*field.Error], joined. [Decide] is defined for every
// policy.
func (p Policy) Validate() error {
	var e field.Errors
	e.Join("Scaling", p.Scaling.Validate())
	p.validateMembers(&e)
	name := p.Scheduling
	e.Check(name == "" || name == WeightedRoundRobin || name == PriorityFailover, "Scheduling", name,
		"weightedRoundRobin or priorityFailover")
	e.Check(name != PriorityFailover || p.replaces(), "Scaling.Strategy", p.strategy(), "pendingAware with priorityFailover")
	e.AtLeast("Workload.Size", int64(p.Workload.Size), 0)
	f := &p.Failover
	e.Check(f.GracePeriod >= 0, "Failover.GracePeriod", f.GracePeriod, "0 or more")
	e.Check(f.HardTaint >= 0, "Failover.HardTaint", f.HardTaint, "0 or more")
	e.Check(f.SoftTaint >= 0, "Failover.SoftTaint", f.SoftTaint, "0 or more")
	e.Check(f.LostAfter >= 0, "Failover.LostAfter", f.LostAfter, "0 or more")
	e.Check(slices.Contains([]Duplication{"", KeepAll, PreferFailover, PreferSource, ImmediateSourceCleanup}, f.Duplication),
		"Failover.Duplication", f.Duplication, "keepAll, preferFailover, preferSource or immediateSourceCleanup")
	return e.Err()
}

func (p *Policy) validateMembers(e *field.Errors) {
	names, weighty := map[string]bool{}, len(p.Members) == 0
	for i, m := range p.Members {
		path := fmt.Sprintf("Members[%d].", i)
		e.Check(m.Name != "", path+"Name", nil, "the name of a cluster")
		e.Check(m.Name == "" || !names[m.Name], path+"Name", m.Name, "a name that no other member has")
		e.AtLeast(path+"Weight", int64(m.Weight), 0)
		if m.MaxJobs != nil {
			e.AtLeast(path+"MaxJobs", *m.MaxJobs, 0)
		}
		names[m.Name] = true
		weighty = weighty || m.Weight != 0
	}
	if !weighty {
		e.Add(field.Error{Path: "Members", Found: "no weight", Fix: "at least one weight above 0, such as that of NewMember"})
	}
}

// Warnings returns the valid settings that may surprise, each a [*field.Error], joined.
func (p Policy) Warnings() error {
	var e field.Errors
	warn := func(wrong bool, path string, found any, fix string) {
		if wrong {
			e.Add(field.Error{Path: path, Found: fmt.Sprint(found), Fix: fix})
		}
	}
	if p.Scheduling != PriorityFailover {
		for i, m := range p.Members {
			if m.Priority != nil {
				warn(true, fmt.Sprintf("Members[%d].Priority", i), *m.Priority, "nothing: weightedRoundRobin ignores it")
			}
		}
	}
	b := p.Scaling.Bounds
	warn(b.Max >= 0 && b.Min > b.Max, "Scaling.Bounds.Min", b.Min, fmt.Sprintf("the maximum, %d, or less", b.Max))
	warn(p.FailoverOverMax && !p.replaces(), "FailoverOverMax", true, "nothing: only pendingAware replaces Jobs")
	f := &p.Failover
	warn(f.HardTaint == 0, "Failover.HardTaint", f.HardTaint, "more than 0: otherwise no cluster is ever excluded")
	warn(!p.replaces() && f.Duplication != "" && f.Duplication != KeepAll, "Failover.Duplication", f.Duplication,
		"keepAll or nothing: only pendingAware creates duplicates")
	return e.Err()
}

// Validate returns each problem of the observation as a [*field.Error], joined: clusters
// and Jobs that cannot be distinguished, a cluster with two names, a Job that replaces
// itself, and negative numbers. [Decide] is defined for every observation.
func (s *Observation) Validate() error {
	var e field.Errors
	names, uids := map[string]bool{}, map[string]string{}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		path := fmt.Sprintf("Clusters[%d].", i)
		e.Check(!names[c.Name], path+"Name", c.Name, "a name that no other cluster has")
		e.AtLeast(path+"Unanswered", c.Unanswered, 0)
		names[c.Name] = true
		shared := ""
		for k := range c.Jobs {
			j := &c.Jobs[k]
			path := fmt.Sprintf("%sJobs[%d].", path, k)
			e.Check(j.UID != "", path+"UID", nil, "the UID of the Job")
			e.Check(j.UID == "" || j.Replaces.UID != j.UID, path+"Replaces.UID", j.UID, "the UID of another Job")
			e.Check(j.Phase <= Failed, path+"Phase", j.Phase, "Running, Pending, Succeeded or Failed")
			switch other, found := uids[j.UID]; {
			case j.UID == "":
			case !found:
				uids[j.UID] = c.Name
			case other == c.Name:
				e.Check(false, path+"UID", j.UID, "a UID that no other Job has")
			default:
				shared = other
			}
		}
		e.Check(shared == "", path+"Name", c.Name, fmt.Sprintf("one name: it is the same cluster as %q", shared))
	}
	return e.Err()
}
