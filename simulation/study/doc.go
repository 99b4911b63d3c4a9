// Package study measures policies with package simulation: how much they wait and cost, how
// they differ, how much load they sustain, and which of them meets an objective.
//
//	Replicate  runs policies under several seeds; a Study has means with intervals
//	Capacity   the loads at which the queue of a policy grows
//	Search     the smallest maximum that meets conditions
//
// Results do not depend on the number of processors.
//
// # Replications
//
// Under one seed all policies receive the same items (common random numbers). There are at
// least 10 seeds, and at most 200: no more than are needed for each half width of the wait
// of 95 % of the items, of the undone items and of the idle time to be below 5 % of the
// mean, or below 1 s, 1 item and 1 % of the time of the pods.
//
// A trace is a sample of an unknown process, which seeds do not change. Each replication
// therefore plays a trace made of blocks of the recorded trace (block bootstrap). A block has
// at least 20 polls, and moves by at most an hour or two blocks of the time of day. With
// fewer than 10 blocks there are no intervals. A scenario without anything random has a
// single run, and its numbers are exact.
//
// # Three words
//
//	same         the number is equal in each run
//	differs by   the 95 % interval of the difference excludes 0
//	cannot tell  anything else
//
// # Capacity
//
// A load is given as the mean rate of items. The queue grows at a load if the unfinished
// work at the same phase of successive cycles rises with 99 % confidence. A cycle is the
// day of a daily curve, the length of a trace or the time between bursts. The work that
// happens to arrive is a control variate, since its mean is known. A probe has at most
// 50,000 items, and reads at most 100,000 metrics. It starts from an
// empty queue, and again from a long queue.
//
// Growth is not monotone in the load: a policy that ignores the queue while Jobs of the
// minimum are missing may fail at a low load only. So loads are tested on a grid, and each
// change is refined to 1 %.
//
// # Tests
//
//	every probe agrees with long runs, for random workloads    TestProbesAgreeWithLongRuns
//	intervals cover the mean of many runs                      TestCoverage
//	waits and sustained loads are those of queueing theory     TestErlang
//	the search agrees with an exhaustive search                TestSearchIsExhaustive
package study
