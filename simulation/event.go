package simulation

import (
	"fmt"
	"strings"
	"time"
)

// An Event is an event of a run. Its Kind is:
//
//	arrived         an item is in the queue for the first time
//	delivered       a Job begins to work on an item
//	done            a Job has done an item
//	duplicated      a Job has done an item that was done or lost already
//	redelivered     an item can be taken again
//	lost            an item will not be done
//	polled          the policy has decided; Number is the number of Jobs that it created just before
//	created         a Job exists; its pod is not scheduled yet
//	scheduled       a pod of the Job is scheduled, and starts
//	started         the pod asks for items
//	unscheduled     a starting pod waits for a cluster that starts pods
//	retried         a pod failed, and will be replaced
//	completing      the pod of a Job has ended, and the Job not yet
//	succeeded       a Job has ended
//	failed          a Job has ended, after its last failure
//	deleted         an unfinished Job is deleted
//	rejected        the API server of a cluster rejects creates; Number counts them
//	pruned          finished Jobs are deleted; Number counts them
//	outage started  an outage of a cluster begins
//	outage ended    an outage of a cluster ends
type Event struct {
	At      time.Duration // since the start
	Kind    string
	Item    int64 // in order of arrival, from 1; 0 is none
	Job     int64 // in order of creation, from 1; 0 is none
	Number  int64 // of Jobs, for kinds that have it
	Queue   int   // index in the scenario's queues, of an event of an item
	Cluster int   // index in the scenario's clusters, of an event of a Job or a cluster
}

// String returns the event in a line, such as "1m0s item 3 delivered to Job 2".
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", Duration(e.At))
	switch {
	case e.Kind == "polled" || e.Kind == "pruned" || e.Kind == "rejected":
		fmt.Fprintf(&b, "%s: %d", e.Kind, e.Number)
	case e.Kind == "delivered":
		fmt.Fprintf(&b, "item %d delivered to Job %d", e.Item, e.Job)
	case e.Item != 0 && e.Job != 0:
		fmt.Fprintf(&b, "item %d %s by Job %d", e.Item, e.Kind, e.Job)
	case e.Item != 0:
		fmt.Fprintf(&b, "item %d %s", e.Item, e.Kind)
	case e.Job != 0:
		fmt.Fprintf(&b, "Job %d %s", e.Job, e.Kind)
	default:
		fmt.Fprintf(&b, "cluster %d %s", e.Cluster, e.Kind)
	}
	return b.String()
}
