package replicas

import (
	"fmt"

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
