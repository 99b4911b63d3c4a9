// Package replicas decides how many replicas of a workload each cluster has: a
// Deployment, a StatefulSet, or anything else with a scale subresource.
//
//	Split    total, members             -> the share of each, by weight
//	Decide   Policy, Observation        -> Decision: the number to write to each member,
//	         with the previous Checkpoint  and the Checkpoint for the next plan
//
// It is pure and total: the time is a parameter, nothing panics, and the order of
// members and clusters does not matter. The [Checkpoint] is kept as JSON, and each
// plan has the next time at which it can change (Decision.NextCheck).
//
// # Rules
//
//  1. The total is the number that the metrics ask for, at least Min and at most Max. Unknown
//     metrics and a policy without a maximum leave all members as they are. A caller
//     that cannot read its checkpoint must do the same ([ReasonCheckpointVersion]).
//
//  2. Members share the total by [apportion.Webster]. An additional replica goes to a
//     single member. If a member is excluded, exactly its share moves. Ties go to the
//     member with fewer, then by Policy.Seed, then by name.
//
//  3. A member that is unreachable, was not asked, or failed the last write keeps its
//     share for the grace period. Then it is excluded until it is healthy again. While the
//     hub may be cut off no time counts. A cluster without the workload is excluded at once.
//     A member without progress keeps the replicas that exist, and a missing replica.
//
//  4. If all are excluded, the shares are those of all members that may be healthy again.
//
//  5. A former member, which has an entry in the checkpoint and is not on the list,
//     has no share. A cluster that was never a member is left alone. So is a cluster
//     that was unregistered.
//
//  6. Grow first, then shrink. A member below its share gets it at once. A member
//     above its share gives up a replica only if, without it, the replicas that exist
//     on the members that were read are still as many as the total. So a member that
//     cannot take its share costs no other member a replica.
//
//  7. There are at most MaxSurge replicas above Max while replicas move. Orders count,
//     whether their replicas exist or not. That bound does not count replicas that cannot be
//     scaled down: the replicas of unreachable members, the missing replicas of members after
//     a failed write, a missing replica of each member without progress, and the replicas
//     that a member shows above the last write.
//
// # Cost
//
// The cost grows with the members, sorted once, and not with the replicas
// (BenchmarkNewPlan).
package replicas
