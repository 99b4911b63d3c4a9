// Package jobs decides which of several clusters each Job of an owner runs on, how many
// Jobs to create there, and which to delete. It is pure: the time is a parameter.
//
//	policy := jobs.DefaultPolicy()
//	decision := jobs.Plan(policy, state)
//
// The rules are those of a DistributedScaledJob. Package scaling decides the number of
// Jobs. testdata/multicluster.json has the test vectors.
//
// # Members
//
// Each new Job goes to the member with the fewest Jobs for its weight ([Scheduling],
// package apportion). Ties go to the member with fewer Jobs, then by [Policy].Seed, then by
// name. A member that appears twice has the least of its weights, priorities and limits. A
// cluster with two names counts once, and its second name gets no Job.
//
// # Stuck Jobs
//
// A Job that has been pending for the grace period is stuck. Under strategy.PendingAware it
// is replaced on another cluster. A Job and its replacements are a chain, and [Duplication]
// decides which of them are deleted. A replacement that has succeeded has run, even if no
// poll saw it run.
//
// # Taints
//
// A failure taints a cluster softly. Another failure while the taint lasts excludes it
// (package taint). All failures of a poll count once, and each stuck Job counts once. It
// counts again after its cluster was neither registered nor a member until the taint ended.
//
//	                          WeightedRoundRobin   PriorityFailover
//	Failures.Call             escalates            escalates
//	Failures.Create           escalates            no effect
//	Failures.Rejected         no Job in this poll  no Job in this poll
//	a stuck Job               escalates            excludes its class, size and larger sizes
//
// Hard taints and taints against workloads hold for all owners if the caller passes
// [Checkpoint.Exclusions] on as [State].Shared.
//
// # Unknown Jobs
//
// A cluster that has not been reached since the start may have Jobs. It counts with its
// numbers in the Checkpoint, or with 0. Until the grace period ends, or the cluster has a hard
// taint, no member gets a Job: Scaling.Rule is RuleJobsUnknown, and Reason is empty. After
// that the other members get Jobs.
//
// R + terminating + create never exceeds the maximum unless R + terminating did. With
// FailoverOverMax it never exceeds twice the maximum.
//
// # Cost
//
// Plan takes n log n steps in the Jobs and in the members, for any number of stuck Jobs and
// of taints.
//
// # Tests
//
//	an oracle finds the same places, replacements and maximum       TestPlaces
//	the order of members, clusters and Jobs does not matter         TestOrder, TestDuplicateNames
//	nothing changes before NextCheck                                TestOrder
//	a replacement that finishes between two polls removes its source TestReplacementFinishesBetweenPolls
//	the history keeps that replacement until its source is deleted  TestHistoryKeepsWhatASourceWaitsFor
//	a stuck Job counts once, across restarts too                    TestRestartKeepsWhatIsCounted
//	a member that is never reached delays the others for a while    TestNeverReached
//	hard taints are shared, soft ones are not                       TestSharedTaints
//	a late create holds its capacity                                TestLateCreates
//	an unknown version of a Checkpoint is an error                  TestCheckpointVersion
//	over hours with failures and restarts, everything is served     TestReplay
package jobs
