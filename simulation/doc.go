// Package simulation plays an autoscaler against a workload in virtual time, to see what it
// does before it runs.
//
// [Run] runs a scenario: an autoscaler, queues, Jobs and clusters. Package study compares policies,
// measures how much load they sustain, and searches for the smallest one.
//
// An [Autoscaler] decides each poll: [Scaling] by package scaling, with any strategy; [KEDA] as
// a release of KEDA; [Placement] by package placement/jobs; or a type of the program. Equal
// scenarios have equal results, however many run at once.
//
//	scenario.Autoscaler = simulation.NewScaling(strategy.Accurate{}, 100)
//	result, err := simulation.Run(scenario, simulation.Options{})
//
// # Scenarios
//
// A Scenario without its autoscaler can be written by hand. Times and distributions are text:
//
//	duration: 8h
//	seed: 1
//	queues:
//	- arrivals: poisson:2/s      # or constant:, bursts:, daily:, or a trace
//	  service: lognormal:30s,1m  # or 30s, exp:, recorded:
//	  target: 1
//	  metric: waiting            # or all, with the items in work
//	jobs:
//	  startup: 20s
//	  acknowledge: end           # or start
//	  failureProbability: 0.01
//
// The command scaledjob simulate reads such files, with a policy in the form of a manifest.
//
// The numbers of an item are the same under each policy: when it arrives, how
// long it takes, whether it fails the first time that it is tried. So the
// difference of two results is that of the policies.
//
// # The world
//
// Items wait in a queue, first come, first served. An item that was taken is in work
// until a Job has done it. If the Job fails before that, the item waits again, at the
// front, or is lost if it was acknowledged when it was taken. With a visibility timeout it
// waits again when that is over, also if the Job is still at work, and is then perhaps
// done twice.
//
// A Job has one pod, which is in one of these phases:
//
//	unscheduled  pending: the cluster has no room, or starts no pods
//	starting     pending, though it holds room
//	warming      runs, and has not asked for an item yet
//	working      on an item
//	looking      for an item, for at most Wait
//	backing off  pending: the pod failed, and its replacement is not created yet
//	completing   the pod has ended, and the Job not yet: it counts as running, and holds no room
//	terminating  the Job is deleted, and its pod not gone yet
//
// A poll reads the metrics and the list of Jobs, as old as they are. What it creates exists
// at once, unless an API server rejects it. At an instant things happen in this order:
// outages, work that ends, Jobs that are gone or finished, items that become visible, arrivals,
// starts, and at last the poll, which therefore sees all of them. The first poll is at the start.
//
// # Results
//
// A [Result] has a [Summary], with every unit in its doc comment, and a [Tick] for each
// poll. Each field of the two is a plain number that can be a column of a table; a run
// can also be followed event by event ([Options].Observe).
//
// The examples show what goes wrong when a strategy does not fit the metric.
package simulation
