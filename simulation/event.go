package simulation

import (
	"fmt"
	"strings"
	"time"
)

// A Kind is the kind of an Event.
type Kind uint8

const (
	Arrived       Kind = iota // an item is in the queue for the first time
	Delivered                 // a Job begins to work on an item
	Done                      // a Job has done an item
	Duplicated                // a Job has done an item that was done or lost already
	Redelivered               // an item can be taken again
	Lost                      // an item will not be done
	Polled                    // the policy has decided; Number is the number of Jobs that it created just before
	Created                   // a Job exists; its pod is not scheduled yet
	Scheduled                 // a pod of the Job is scheduled, and starts
	Started                   // the pod asks for items
	Unscheduled               // a starting pod waits for a cluster that starts pods
	Retried                   // a pod failed, and will be replaced
	Succeeded                 // a Job has ended
	Failed                    // a Job has ended, after its last failure
	Deleted                   // an unfinished Job is deleted
	Rejected                  // the API server of a cluster rejects creates; Number counts them
	Pruned                    // finished Jobs are deleted; Number counts them
	OutageStarted             // an outage of a cluster begins
	OutageEnded               // an outage of a cluster ends
)

var kinds = [...]string{"arrived", "delivered", "done", "duplicated", "redelivered", "lost", "polled", "created", "scheduled", "started", "unscheduled",
	"retried", "succeeded", "failed", "deleted", "rejected", "pruned", "outage started", "outage ended"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Event is an event of a run.
type Event struct {
	At      time.Duration // since the start
	Kind    Kind
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
	case e.Kind == Polled || e.Kind == Pruned || e.Kind == Rejected:
		fmt.Fprintf(&b, "%s: %d", e.Kind, e.Number)
	case e.Kind == Delivered:
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
