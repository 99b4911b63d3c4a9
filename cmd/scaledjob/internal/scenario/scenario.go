// Package scenario reads scenario files, and builds the policies of a simulation.
package scenario

import (
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Help is a scenario file with every field.
const Help = `# A scenario. Times are text such as 30s or 1h30m; what is left out has the default. What follows #| is another choice.
name: nightly import
seed: 1                         # makes the random numbers
duration: 2h                    # how long items arrive; until the last of the traces if left out
drain: 1h                       # how long the run may go on after that
policy:
  release: spec                 #| "2.21", with quotes; the written specification is for several clusters too
  spec:                         # of a ScaledJob: the polling interval, replica counts, history limits and scaling strategy
    pollingInterval: 30
    maxReplicaCount: 50
    scalingStrategy: {strategy: accurate}
  stuckAfter: 1m                # spec: when a pending Job is stuck
  subtractPending: false        # spec: accurate compares T + R - P with M
  minAsFloor: false             # spec: minReplicaCount as a floor
  #| placement:                 # spec: of several clusters
  #|   members: [{name: east, weight: 2, priority: 100, maxJobs: 15}]
  #|   scheduling: priorityFailover
  #|   workload: {class: team-a, size: 4}
  #|   failover: {gracePeriod: 1m, hardTaint: 5m, softTaint: 3m, duplication: preferFailover}
queues:                         # one for each trigger
  - name: orders
    arrivals: poisson:0.2/s     #| constant:2/s, bursts:100/10m, daily:1/s,5/s,2/s
    #| trace: [{at: 0s, items: 3}, {at: 1m30s, items: 10, service: 5s}]
    service: exp:30s            #| 30s, lognormal:30s,1m, recorded:12s,30s
    target: 1                   # items that one Job serves
    activationThreshold: 0
    metric: waiting             #| all: with the items being worked on
    staleness: 15s              # how old the metric is when a poll reads it
    outages: [{from: 30m, until: 40m}]  # when the metric cannot be read
    visibilityTimeout: 5m       # when an item that was taken and not acknowledged can be taken again
    maxDeliveries: 3            # how often an item is handed out before it is given up
jobs:
  startup: 20s                  # until a pod asks for an item
  completion: 1s                # from the end of a pod until its Job has succeeded
  acknowledge: end              #| start: an item is lost if the Job fails
  itemsPerJob: 1
  drainQueue: false             # instead: go on until the queue is empty
  wait: 10s                     # for an item, before a Job ends that finds none
  failureProbability: 0.01      # each time an item is worked on
  backoffLimit: 6
  backoff: 10s
  termination: 0s
clusters:
  - name: east
    capacity: 20                # pods; further Jobs stay pending
    outages: [{from: 10m, until: 20m, kind: noStart}]  #| unreachable, rejects, down
    listAge: 5s                 # how old the list of Jobs is when a poll reads it
`

// Read reads a scenario.
func Read(s input.Source) (*Scenario, error) {
	read := &Scenario{}
	return read, input.Decode(s, read, read.Check, "simulate --help-scenario")
}

// A Scenario is a scenario file. Its policy is a manifest's, which package simulation
// does not know.
type Scenario struct {
	simulation.Scenario
	Policy Policy `json:"policy"`
}

// Check builds the policy, and returns all problems.
func (s *Scenario) Check() error {
	var problems field.Errors
	built, err := s.Policy.Build(len(s.Clusters))
	problems.Join("", err)
	if s.Scenario.Policy = built; err != nil {
		s.Scenario.Policy = simulation.Scaling{StuckAfter: s.Policy.StuckAfter} // its other problems are known
		if len(s.Clusters) > 1 {
			s.Scenario.Policy = simulation.Placement{}
		}
	}
	if r := s.Policy.Release; r.Profile != nil {
		of := "nothing under " + r.String() + ", or release: spec"
		problems.Check(s.Policy.StuckAfter == nil, "policy.stuckAfter", s.Policy.StuckAfter, of)
		problems.Check(!s.Policy.SubtractPending, "policy.subtractPending", true, of)
		problems.Check(!s.Policy.MinAsFloor, "policy.minAsFloor", true, of)
		if s.Policy.Placement != nil {
			problems.Add(field.Error{Path: "policy.placement", Found: "a placement", Fix: of})
		}
	}
	problems.Join("", s.Validate())
	return problems.Err()
}
