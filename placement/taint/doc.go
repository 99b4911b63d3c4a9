// Package taint remembers which clusters failed, and until when that counts.
//
// There are two kinds, and both can be stored as JSON. All times are
// parameters; every interval is half-open, so that a taint until t has ended at t.
//
// A [Taint] is the taint of a cluster. A failure makes it soft, which excludes nothing.
// Another failure while it is soft makes it hard, which excludes the cluster. Another
// failure while it is hard can prolong it:
//
//	none  at a failure  soft until t + Soft, or hard until t + Hard if Soft is 0
//	soft  at a failure  hard until t + Hard
//	hard  at a failure  hard until t + Hard, or as before if that is later
//
// After a taint has ended, the next failure makes it soft again. Success changes nothing.
//
// A [Fleet] judges clusters for all owners, from calls that no tenant can influence. A
// failure counts only when another cluster has answered a request sent after it.
//
// A [Set] excludes workloads of a class and a size. If a Job of size 4 found no capacity, a
// larger Job finds none either, and a smaller Job may. Merging sets is idempotent,
// commutative and associative, so that sets of several owners can be merged repeatedly.
package taint
