// Package history says which finished Jobs to delete, so that a number of the
// newest is kept for each outcome.
//
// Jobs of one outcome are ordered by the time they finished, ties by name, and
// the oldest go until the [Limit] is met. Succeeded and failed Jobs have a limit
// each and never displace one another. Two kinds of Jobs are neither chosen nor
// counted as kept: those that have not finished, and those that are being deleted
// already.
//
// A Job finished when it completed, else when its condition Failed became true,
// else when it was created: [Times.Finished]. Only a success has a completion
// time, so that ordering by it alone would leave failed Jobs in no order at all.
//
// # Cost
//
// [Choose] counts the Jobs first, and where none is to go that is all: one pass,
// no allocation. Else the result is all that it allocates (TestAllocations), and
// the place where it works: while it goes through the n Jobs of an outcome, the k
// oldest so far lie there as a heap, and they alone are sorted in the end. In
// random order, where a Job seldom displaces another, few to go cost O(n); at
// worst, with the newest first, it is O(n log k). BenchmarkChoose has both, and
// the case that all but 100 go.
package history
