// Package placement decides which cluster each replica or Job goes to, when there are
// several.
//
//	PlanObject  a workload with replicas, such as a Deployment in each cluster:
//	            how many replicas each member is to have
//	PlanJobs    Jobs for a queue: how many to create and where, and which to delete
//
// Both are pure and total: plain structs in, plain structs out, with the time as one of
// them. No input makes them panic, and the order of members, clusters and Jobs does not
// matter (FuzzObjectShares, FuzzJobOrder). What must survive from one call to the next is
// a value that can be kept as JSON ([Health], [Memory]), and each plan says when it could
// change by itself (NextCheck; FuzzObjectNextCheck, FuzzJobNextCheck).
//
// What is computed is that of the DistributedScaledObject and the DistributedScaledJob,
// whose names and field paths are used. testdata/multicluster.json holds the cases, and
// golden_test.go runs them.
//
// # Members
//
// The members of a manifest are a list of allowed clusters; without a list every registered
// cluster is one, with weight 1. Weights are exact: by [apportion.Webster], so that one
// replica more is one more for one member, and when a member goes, only what it had moves
// (FuzzObjectFailover). Ties go to the member with fewer, then by the policy's seed, then
// by name.
//
// # Objects
//
// A member that does not answer keeps its part for a grace period, and then none; when it
// answers again it has its part back. If nobody answers, the parts stay those of all. A
// pause leaves every member as it is, or fixes the total.
//
// # Jobs
//
// A Job that has been pending for the grace period is stuck. Under the strategy
// pendingAware, which is the default, it is replaced on another cluster, and the
// [Duplication] says which of the two goes when.
//
// Clusters that fail are tainted, softly first and then for all Jobs (package taint).
// Under [PriorityFailover] a stuck Job taints its cluster for Jobs of its class and size
// only. What counts as a failure:
//
//	                                      weightedRoundRobin   priorityFailover
//	a list, get, delete or health check   ladder               ladder
//	a create that may work later          ladder               nothing
//	a create that was refused             no Job in this plan  no Job in this plan
//	a stuck Job                           ladder, once         its class and size
//
// All failures of one poll count as one (FuzzReplay). A cluster whose Jobs have never been
// seen may have any number of them: nothing is created until they are known, or the
// cluster has a hard taint. Of one that has been seen, before a restart, those that
// [Memory] has count meanwhile.
//
// R + terminating + create is at most the maximum, unless R + terminating was more
// (FuzzPropose). Replacements are part of that: when stuck Jobs take up all of it the plan
// is Blocked, unless FailoverOverMax lets it have as much again.
//
// # Cost
//
// PlanObject depends on the number of members and not on that of replicas: a thousand take
// some 200 us (BenchmarkPlanObject). PlanJobs is linear in the Jobs, and each stuck one
// that is replaced looks at every member: 10,000 Jobs on 64 members take a few
// milliseconds (BenchmarkPlanJobs).
package placement
