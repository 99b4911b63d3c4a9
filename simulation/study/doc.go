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
// A trace is played as it was: its arrivals are the same in each run, and only service, start-up and
// failures vary by seed. With [Options].Resample 40 shuffled copies are played as well, which widen
// the intervals: each is made of blocks of the trace (block bootstrap) of at least 20 polls, which move
// by at most an hour or two blocks of the time of day; at least 10 blocks are needed. A scenario
// without anything random has a single run, and its numbers are exact.
//
// Two policies are equal in a number if it is the same in each run, different if the 95 % interval of
// the difference excludes 0, and otherwise too close to call.
//
// # Capacity
//
// A load is given as the mean rate of items. The queue grows at a load if the unfinished
// work at the same phase of successive cycles rises with 99 % confidence. A cycle is the
// day of a daily curve or the time between bursts. The work that
// happens to arrive is a control variate, since its mean is known. A probe has at most
// 50,000 items, and reads at most 100,000 metrics. It starts from an
// empty queue, and again from a long queue. A trace has no capacity: it is judged as it was.
//
// Growth is not monotone in the load: a policy that ignores the queue while Jobs of the
// minimum are missing may fail at a low load only. So loads are tested on a grid, and each
// change is refined to 1 %.
package study
