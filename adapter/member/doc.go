// Package member observes and changes the clusters that the packages below placement
// plan for.
//
//	Cluster                 a member: its clients, its health and the tracker of its Jobs
//	Clusters.Track          an adapter.Target, with overrides for members
//	Clusters.Observe        -> jobs.Cluster
//	Clusters.Apply          <- jobs.Decision
//	ObserveReplicas         -> replicas.Cluster
//	Scale                   <- replicas.Decision
//	PodOverrides            the differences of a member's pods
//
// The owners of the Jobs are in another cluster, the hub, and may be of any kind.
//
// # Isolation
//
// Each [Cluster] has clients, a rate limit, a tracker and a health check of its own.
// Observe makes no request. Apply, ObserveReplicas and Scale act on all members at once,
// each within its own timeouts: a member that hangs delays no other. A member that
// failed its health check gets no request until a health check passes. With Clusters.Patience
// Apply does not wait for slow members.
//
// # Ownership
//
// A Job on a member has no owner reference: its owner does not exist there, and the
// member's garbage collector would delete the Job. Labels take its place:
//
//	LabelHome            the hub cluster, Options.Home; the pods have it too
//	adapter.LabelOwner   the UID of the owner; the pods have it too
//	LabelOwnerNamespace  its namespace
//	LabelSelector        its name
//	LabelCreation        a random value, which no other Job of the same name has
//	LabelSource          the Job that it replaces: name, dot, creation
//	LabelAttempt         the number of the replacement, from 1
//
// The first two are ownership. A Job that has them and a controller is neither counted
// nor changed. [Clusters.DeleteJobs] deletes the Jobs that an owner leaves behind.
//
// Anybody who may create Jobs on the member can copy these labels. With Options.Key each Job
// has a proof as well, LabelProof: a code of the member, the namespace, the name, the owner and
// the labels above, which only the key makes. A Job without it is not counted, replaces nothing
// and is not deleted; its number is taken. Its pods have a code of their namespace and owner: pods without it
// are not kept. One forgery is left: a Job of ours that was deleted,
// created again in its namespace with its name and labels, counts until it finishes.
//
// [Clusters.Owners] counts the Jobs of each owner on each member. [Cluster.Orphans] lists those
// of owners that do not exist in the hub cluster. They are deleted by [Cluster.Delete] only.
//
// # Idempotent creation
//
// On each member the rules of package adapter hold: Jobs have numbers, a create that was
// not answered is never sent again, and after twice Options.Timeout the member is asked
// for it. Names contain a hash of the member's name, so that no two members have Jobs of
// one name. Numbers recur, so that a Job is identified by its name and its creation.
//
// A Job in flight on a member that is unreachable is pending since it was sent. It is
// replaced elsewhere after the grace period, as other Jobs there. If it turns out to
// exist, it and its replacement are a pair. Until then no Job is deleted for it.
//
// The sum over all members never exceeds the maximum under these conditions:
//
//   - One process at a time acts. Its successor starts twice Options.Timeout after the last
//     request, such as by a lease that lasts longer. Options.Terms check the lease.
//   - The Checkpoint of a decision is stored before Apply. It has the Jobs of members that are
//     unreachable after a restart.
//   - A create has no effect later than twice Options.Timeout after it began.
//
// # Failures
//
// Health checks, lists and watches that fail count against the member for all owners, by the
// rules of [taint.Fleet]: only after another member has answered a request sent later. 401,
// 407, 500 and above, and no answer are no answer of the member. [Clusters.CutOff] reports
// that none answers. If a member refuses (403) the lists and watches in one of several
// Options.Namespaces, it is unreachable for the owners of that namespace only. An owner whose
// namespace was changed by an edit may have Jobs in the refused one: after a restart they are
// unknown until that namespace is read again.
// Requests of an owner count against him on that member only:
//
//	Call      a get or delete failed, other than for a missing Job
//	Create    a create was not answered, or with 408, 429 or 5xx
//	Rejected  a create was answered with another 4xx
//
// One observation of each owner has each failure. A request that was not sent is no
// failure of the member. A request without an answer of the member counts after the member has
// passed a health check, and not at all if a check has failed meanwhile: then the member or the
// network failed, and not the owner.
//
// # Permissions
//
// On a member the clients need to get, list, watch, create and delete Jobs. With
// Options.Pods they list and watch pods. [Clusters.Causes] lists pods and events: Jobs that a
// quota or an admission keeps without pods have FailedCreate events only. For replicas they get and patch the subresource
// scale, such as deployments/scale.
package member
