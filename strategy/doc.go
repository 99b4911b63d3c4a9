// Package strategy answers one question: how many Jobs does a queue's load ask
// for?
//
// A [Load] is five whole numbers, and a [Strategy] turns it into one more, the
// proposal:
//
//	T  Target   Jobs that would serve the queue, rounded up
//	R  Running  Jobs that have not finished, pending ones included, terminating ones not
//	P  Pending  the part of R of which no pod is Running or Succeeded
//	S  Stuck    the part of P that has been pending for at least a grace period
//	M  Max      the most Jobs that the queue may have
//
//	default       T - R
//	accurate      T + R > M ? M - R : T - P
//	eager         min(M - R - P, T)
//	custom        min(M, T - deduction - trunc(R * percentage))
//	pendingAware  min(max(0, T - R + S), max(0, M - R))
//
// The first four are those of the ScaledJob specification, the last is that of
// the DistributedScaledJob. Which one fits depends on what the queue's metric
// counts:
//
//	default       the metric includes the items being worked on, as in a queue
//	              whose workers acknowledge when they are done
//	accurate      the metric leaves them out, as in a queue whose workers take
//	              the item away when they start
//	eager         Jobs are slow to start and idle Jobs cost little
//	custom        none of them fits, and the two parameters have been measured
//	pendingAware  Jobs get stuck before they start, on a cluster without room
//
// A proposal may be negative and may be larger than what there is room for.
// Bounding it is the caller's last step (package scaling does it), so that every
// strategy is safe, a stranger's too.
//
// The functions here are total: no input panics, and arithmetic saturates at the
// ends of int64 where it would overflow. TestStrategiesEqualTheOracle checks each
// formula on every load with numbers up to 8, FuzzStrategies at the extremes.
// A proposal takes a few nanoseconds and no allocation (BenchmarkPropose).
//
// Package strategytest checks the laws of any strategy.
package strategy
