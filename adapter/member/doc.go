// Package member observes and acts on the clusters that package placement plans
// for.
//
//	PodOverrides            what is different about a member's pods; pure
//	Cluster                 one member: what is watched there, and the way to it
//	Clusters.Observe        -> placement.JobCluster, placement.Failure
//	Clusters.Apply          <- placement.JobPlan
//	Clusters.ObserveObject  -> placement.ObjectCluster
//	Clusters.Scale          <- placement.ObjectPlan
//
// # One cluster never waits for another
//
// Each [Cluster] has its own clients, its own limit of requests, its own cache of
// Jobs, and a health check that runs by itself. Observe reads what is in memory and
// makes no request. Apply, ObserveObject and Scale work on all clusters at once, each
// within its own time: the Jobs of the others exist while one still hangs
// (TestOneHangs), and one that fails its health check is not asked at all until it
// passes (TestNotAsked).
//
// # Ownership
//
// A Job on a member has no owner reference: its owner does not exist there, and the
// member's garbage collector would delete it. It has labels instead:
//
//	adapter.LabelHome            the home cluster, Options.Home
//	adapter.LabelOwner           the UID of the home object
//	adapter.LabelOwnerNamespace  its namespace
//	adapter.LabelName            its name
//	adapter.LabelSource          the UID of the Job that it replaces
//	adapter.LabelAttempt         which replacement of that Job it is
//
// The first two together are ownership; a Job that has them and a controller is
// somebody else's, and neither counted nor touched. [Clusters.DeleteJobs] deletes what
// an owner leaves behind, since no garbage collector does.
//
// # No Job is made twice
//
// A name is made of the owner's UID, its generation, the cluster, and a number that
// goes on from the highest seen there, so that it is the same for whoever creates that
// Job, and no two clusters have Jobs of one name.
//
// A Job that the cache does not show yet is in flight, and one whose create was not
// answered may be (adapter.Order): it holds its room until the cache shows it, or the
// cluster says that there is none of that name (TestTimeoutAfterSuccess). While its cluster
// does not answer it is pending since it was sent, so that it is replaced elsewhere after the
// grace period, as other Jobs there are; when it turns out to exist, it and its
// replacement are known for a pair (TestReplacedBeforeItWasKnown). Until then its source
// is not deleted for it (TestReplacementThatFails).
//
// After a restart the Jobs on a cluster that does not answer are not known. A plan's
// Memory has how many there are, if it was stored before the plan was applied: with that
// no maximum is exceeded, whatever fails and whoever is restarted (TestNothingTwice).
//
// # Failures
//
//	placement.CallFailed      a health check, list or watch; a get or delete that failed, other than that there is no such Job
//	placement.CreateFailed    a create that was not answered, or with 408, 429 or 5xx
//	placement.CreateRejected  a create that was answered with another 4xx
//
// Each is told to one plan of each owner. A request that was not made, because of
// the limit, the deadline or a cancelled context, is no failure of the cluster.
//
// # Rights
//
// On a member the package needs to get, list, watch, create and delete Jobs; to list
// and watch pods, with Options.Pods; and to get and patch the subresource scale of what
// is scaled, such as deployments/scale.
package member
