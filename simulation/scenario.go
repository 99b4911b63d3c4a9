package simulation

// A Scenario is an autoscaler and its workload. Its JSON is for files written by hand: times
// are text ("30s"), and a missing field has its default. The zero value has no queue and no
// autoscaler, and is not valid.
type Scenario struct {
	Name string `json:"name,omitempty"`
	// Seed is the seed of the random numbers. Under the same seed every autoscaler receives the
	// same items at the same times.
	Seed uint64 `json:"seed,omitempty"`
	// Duration is how long items arrive; 0 means until the last arrival of the traces.
	Duration Duration `json:"duration,omitempty"`
	// Drain is the longest time that the run continues after Duration. The run ends earlier,
	// with the first poll that finds no item and at most the minimum of Jobs. Nil means
	// Duration, and at least an hour.
	Drain *Duration `json:"drain,omitempty"`

	// Autoscaler decides. It is not part of the JSON.
	Autoscaler Autoscaler  `json:"-"`
	Queues     []Queue     `json:"queues"`
	Jobs       JobBehavior `json:"jobs,omitzero"`
	// Clusters run the Jobs. Without any there is one cluster without a limit.
	Clusters []Cluster `json:"clusters,omitempty"`
}

// Values of Queue.Metric, Jobs.Acknowledge and Outage.Kind that differ from the default.
const (
	waitingItems = "waiting"
	activeItems  = "active"
	onStart      = "start"
	unreachable  = "unreachable"
	noStart      = "noStart"
	rejects      = "rejects"
)

// A Queue is a trigger of the autoscaler: the items that arrive, and its metric. The zero
// value stays empty. If there are several queues, a Job takes the oldest item.
type Queue struct {
	Name     string    `json:"name,omitempty"`
	Arrivals Arrivals  `json:"arrivals,omitzero"`
	Trace    []Arrival `json:"trace,omitempty"` // instead of Arrivals
	// Backlog is the number of items that wait at the start.
	Backlog int64        `json:"backlog,omitempty"`
	Service Distribution `json:"service,omitzero"`

	// Target is the target average value: items that a Job serves. 0 is 1.
	Target float64 `json:"target,omitempty"`
	// ActivationThreshold is the value above which the trigger is active.
	ActivationThreshold float64 `json:"activationThreshold,omitempty"`
	// Metric selects the items that the queue's metric counts: all (also ""), which are waiting
	// and unacknowledged items, as the length of a RabbitMQ queue; waiting, as that of a Redis
	// list; or active, which are the unacknowledged items, as that of BullMQ's list active.
	Metric string `json:"metric,omitempty"`
	// Partitions limits the metric as KEDA's kafka trigger does: of a value that asks for more than
	// one Job for each partition and one more, one for each partition is left. 0 means no limit.
	Partitions int64 `json:"partitions,omitempty"`
	// Watches is the name of another queue whose items the metric counts. The queue then has no
	// items of its own.
	Watches string `json:"watches,omitempty"`
	// Staleness is the age of the value that a poll reads.
	Staleness Duration `json:"staleness,omitempty"`
	// Outages are times in which the metric cannot be read. They have no kind.
	Outages []Outage `json:"outages,omitempty"`

	// VisibilityTimeout is the time after which an unacknowledged item can be taken again,
	// even if its Job is still at work. 0 means that only a failure of the Job redelivers it.
	VisibilityTimeout Duration `json:"visibilityTimeout,omitempty"`
	// MaxDeliveries is the number of deliveries after which an item is lost; 0 means no limit.
	MaxDeliveries int64 `json:"maxDeliveries,omitempty"`
}

// JobBehavior describes the Jobs. Each has one pod, which works on one item at a time. The
// zero value starts at once and ends after one item, or if there is no item.
type JobBehavior struct {
	// Startup is the time from the scheduling of a pod until it runs. The pod is pending during
	// that time.
	Startup Distribution `json:"startup,omitzero"`
	// WarmUp is the time from a pod that runs until its first request for an item. The pod is
	// not pending, and its item still waits.
	WarmUp Distribution `json:"warmUp,omitzero"`
	// Completion is the time from the end of the pod until the Job has succeeded: about 1s in
	// Kubernetes, whose Job controller collects changes. The Job counts as running, also for
	// KEDA, and not as pending. Its pod holds no room: the scheduler and quotas leave out pods
	// that have ended.
	Completion Distribution `json:"completion,omitzero"`
	// Acknowledge is the time at which a Job acknowledges an item: end (also ""), when it is
	// done, so that it waits again if the Job fails; or start, so that it is then lost.
	Acknowledge string `json:"acknowledge,omitempty"`
	// ItemsPerJob is the number of items after which a Job ends; 0 means 1.
	ItemsPerJob int64 `json:"itemsPerJob,omitempty"`
	// DrainQueue lets a Job continue until it finds no item, instead of ItemsPerJob.
	DrainQueue bool `json:"drainQueue,omitempty"`
	// Wait is how long a Job waits for an item before it ends.
	Wait Duration `json:"wait,omitempty"`

	// FailureProbability is the probability that the pod fails during the work on an item.
	FailureProbability float64 `json:"failureProbability,omitempty"`
	// BackoffLimit is the number of failed pods that are replaced before the Job fails; nil
	// means 6, the default of Kubernetes.
	BackoffLimit *int64 `json:"backoffLimit,omitempty"`
	// Backoff is the time until the first replacement is created. It doubles each time, up to
	// 6 minutes. 0 means 10s, the default of Kubernetes.
	Backoff Duration `json:"backoff,omitempty"`
	// Termination is how long the pod of a deleted Job exists. It stops work at
	// once.
	Termination Duration `json:"termination,omitempty"`
}

// A Cluster runs Jobs. The zero value has no limit.
type Cluster struct {
	Name string `json:"name,omitempty"`
	// Capacity is the largest number of pods; nil means no limit. Further Jobs are pending,
	// and start in the order of their creation.
	Capacity *int64   `json:"capacity,omitempty"`
	Outages  []Outage `json:"outages,omitempty"`
	// ListAge is the age of the list of Jobs that a poll reads. The autoscaler also knows of
	// the Jobs that it created since, except for KEDA, which reads the list only.
	ListAge Duration `json:"listAge,omitempty"`
}

// An Outage is a fault that lasts from From on, and ends at Until.
type Outage struct {
	From  Duration `json:"from"`
	Until Duration `json:"until"`
	// Kind is the effect on a cluster:
	//
	//	unreachable  the API server does not answer: no Job is listed, created or deleted
	//	noStart      no pod starts
	//	rejects      the API server rejects new Jobs, as a quota does
	//	down         unreachable and noStart, and running pods fail; also ""
	//
	// Otherwise running Jobs continue.
	Kind string `json:"kind,omitempty"`
}

func (q *Queue) target() float64 {
	if q.Target == 0 {
		return 1
	}
	return q.Target
}
