// Package api reads a DistributedScaledJob and a DistributedScaledObject: from the
// objects of the API server to the policies of the packages below placement.
//
//	Read[*DistributedScaledJob](object)  -> every field; an unknown field is an error
//	DistributedScaledJob.Config()        -> jobs.Policy, triggers, the target of the Jobs
//	DistributedScaledObject.Config()     -> replicas.Policy, triggers, the workload
//	NewObjectStatus(plan)                -> the status of a DistributedScaledObject
//
// All problems are returned at once, each a [*field.Error] with the path of the
// field. A field without effect is a warning (TestWarningsOfJob).
//
// # Extensions
//
// These fields are not the standard's:
//
//	memberClusters[].targetNamespace          the namespace on that member
//	memberClusters[].maxJobs                  the most unfinished Jobs there
//	scaledJobSpec.failoverOverMax             see jobs.Policy
//	rebalancingPolicy.progressDeadline        see replicas.Policy
//	rebalancingPolicy.maxSurge                likewise
//	status.memberClusterStatuses.*.reason     see replicas.Reason
//
// # Rollout
//
// Jobs are rolled out when jobTargetRef has changed. A ScaledJob rolls out at any
// change of its spec; here the spec has members and weights too, and a member that is
// added must not end the Jobs of all others.
package api
