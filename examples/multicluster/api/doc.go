// Package api reads a DistributedScaledJob and a DistributedScaledObject: from what
// the API server has to the policies of package placement.
//
//	Read[*DistributedScaledJob](object)  -> every field; one that does not exist is an error
//	DistributedScaledJob.Config()        -> placement.JobPolicy, triggers, what Jobs are made of
//	DistributedScaledObject.Config()     -> placement.ObjectPolicy, triggers, what is scaled
//
// All problems are told at once, each a [*placement.FieldError] with the path of the
// field. What a field says that has no effect here is a warning (TestNoEffect).
//
// # Extensions
//
// These fields are not the standard's:
//
//	memberClusters[].targetNamespace          the namespace on that member
//	memberClusters[].maxJobs                  the most unfinished Jobs there
//	scaledJobSpec.failoverOverMax             see placement.Scaling
//	rebalancingPolicy.recoveryDelay           see placement.Rebalancing
//	rebalancingPolicy.maxRebalancePercentage  likewise
//
// # Rollout
//
// Jobs are rolled out when jobTargetRef has changed. A ScaledJob rolls out at any
// change of its spec; here the spec has members and weights too, and a member that is
// added must not end the Jobs of all others.
package api
