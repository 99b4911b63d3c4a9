// Package jobs decides which of several clusters each Job of an owner runs on, how many
// Jobs to create there, and which to delete. It is pure: the time is a parameter.
//
//	policy := jobs.DefaultPolicy()
//	decision := jobs.Decide(policy, observation, checkpoint)
//
// The rules are those of a DistributedScaledJob. Package scaling decides the number of
// Jobs. testdata/multicluster.json has the test vectors.
//
// # Members
//
// The members take turns by weight ([Scheduling], [apportion.RoundRobin]): the Jobs that are
// created follow the weights, also if one is wanted at a time, and no member has more than
// its share of the unfinished Jobs, rounded up. If Jobs take longer on some members, the
// unfinished Jobs follow the weights, and not those created. The turns are in the
// [Checkpoint]. Without it, and after weights were edited, they begin at a position that
// depends on [Policy].Seed. A member that was excluded does not catch up.
//
// # Stuck Jobs
//
// A Job that has been pending for the grace period is stuck. Under strategy.PendingAware it
// is replaced on another cluster. A Job and its replacements are a chain, and [Duplication]
// decides which of them are deleted. Of two Jobs of a chain, the older is the source S and
// the newer the replacement R. The table has the one to delete, or - if both stay:
//
//	preferFailover          pending  unconfirmed  running  pending-away  running-away  succeeded  failed
//	pending                 -        -            S        -             -             S          -
//	running                 -        -            S        -             -             -          -
//	pending-away            -        -            S        -             -             S          -
//	running-away            -        -            S        -             -             -          -
//	succeeded               -        -            -        -             -             -          -
//	failed                  -        -            -        -             -             -          -
//	gone                    -        -            -        -             -             -          -
//
//	preferSource            pending  unconfirmed  running  pending-away  running-away  succeeded  failed
//	pending                 -        -            -        -             -             -          -
//	running                 R        R            R        R             R             -          -
//	pending-away            -        -            -        -             -             -          -
//	running-away            -        -            -        -             -             -          -
//	succeeded               R        R            -        R             -             -          -
//	failed                  -        -            -        -             -             -          -
//	gone                    -        -            -        -             -             -          -
//
//	immediateSourceCleanup  pending  unconfirmed  running  pending-away  running-away  succeeded  failed
//	pending                 S        -            S        S             S             S          -
//	running                 S        -            S        S             S             S          -
//	pending-away            S        -            S        S             S             S          -
//	running-away            S        -            S        S             S             S          -
//	succeeded               -        -            -        -             -             -          -
//	failed                  -        -            -        -             -             -          -
//	gone                    -        -            -        -             -             -          -
//
// Rows are states of the source, columns of the replacement. A Job is away if its member is
// not reachable; what was last observed counts, and its deletion is deferred. The create of
// an unconfirmed Job was not answered. A terminating Job is gone. A Job of a longer chain is
// deleted if the table deletes it beside any other Job of the chain. A replacement that has
// succeeded has run, even if no poll saw it run. With keepAll all stay.
//
// # Scope of evidence
//
// A fault has the scope of its evidence:
//
//	a cluster does not answer       Cluster.Taint and Since, from a [taint.Fleet]: all owners
//	Jobs of an owner do not start   this owner on this cluster; under PriorityFailover also
//	                                his class, size and larger sizes, by Observation.Shared
//	requests of an owner fail       this owner on this cluster
//
// A failure of an owner taints a cluster softly for him. Another failure while the taint
// lasts excludes it (package taint). All failures of a poll count once, and each stuck Job
// counts once. It counts again after its cluster was neither registered nor a member until
// the taint ended.
//
//	                          WeightedRoundRobin   PriorityFailover
//	Failures.Call             escalates            escalates
//	Failures.Create           escalates            no effect
//	Failures.Rejected         no Job in this poll  no Job in this poll
//	a stuck Job               escalates            excludes its class, size and larger sizes
//
// After a hard taint for stuck Jobs a single Job probes the cluster. If it becomes stuck, the
// next taint lasts twice as long, up to 16 times. A Job that starts ends the backoff.
//
// # Clusters that do not answer
//
// Nothing there is replaced or lost until Cluster.Since is set: the hub may be cut off. A
// pending Job there is stuck the grace period after Since. With Failover.LostAfter, Jobs are
// lost that time after Since: they do not count, and PendingAware replaces them. When the
// cluster returns they count again, [Duplication] decides which of a pair is deleted, and
// nothing is created until there are fewer than the maximum.
//
// A cluster that has not been reached since the start may have Jobs. It counts with its
// numbers in the Checkpoint, or with 0. Until the grace period after Since ends, or the
// cluster has a hard taint, no member gets a Job: Scaling.Reason is ReasonJobsUnknown. After
// that the other members get Jobs.
//
// R + terminating + create never exceeds the maximum unless R + terminating did. With
// FailoverOverMax it never exceeds twice the maximum. With LostAfter that holds for the
// clusters that are not lost; in all there are at most the maximum times 1 plus the lost
// clusters.
//
// # Cost
//
// Decide takes n log n steps in the Jobs and in the members, for any number of stuck Jobs, and
// under PriorityFailover a step for each member and each taint against workloads.
package jobs
