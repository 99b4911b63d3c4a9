// Package taint remembers which clusters failed, and until when that counts.
//
// There are two kinds, and both are values that can be kept as JSON. All times are
// parameters; every interval is half-open, so that a taint until t has ended at t.
//
// A [State] is a cluster's own, against whatever would go there. A failure makes
// it soft, which excludes nothing but is remembered; another failure while it is
// soft makes it hard, which excludes the cluster; another while it is hard can
// only prolong it:
//
//	none  at a failure  soft until t + Soft, or hard until t + Hard where Soft is 0
//	soft  at a failure  hard until t + Hard
//	hard  at a failure  hard until t + Hard, or what it was if that is later
//
// What has ended is none, so that the ladder then starts from below again.
// Success changes nothing. TestLadder replays every event second by second.
//
// A [Set] is against workloads of a class and a size: where a Job of size 4 found
// no room a larger one will not either, while a smaller one may. Merging sets is
// idempotent, commutative and associative (FuzzMerge), so that replaying what
// happened, or merging what several owners have seen, does no harm.
package taint
