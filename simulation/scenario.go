package simulation

// A Scenario is a policy and the world that it meets. Its JSON is made for files
// written by hand: times are text ("30s"), and what is left out has the default that
// the field tells. The zero value has no queue, and is not valid.
type Scenario struct {
	Name string `json:"name,omitempty"`
	// Seed makes the random numbers. Under the same seed every policy meets the same
	// items, of the same sizes, at the same times.
	Seed uint64 `json:"seed,omitempty"`
	// Duration is how long items arrive. 0 is until the last of the traces.
	Duration Duration `json:"duration,omitempty"`
	// Drain is how long the run may go on after that. It ends before, with the first
	// poll that finds no item left and no more Jobs than the minimum. Unset is as long
	// as Duration, and at least an hour.
	Drain *Duration `json:"drain,omitempty"`

	// Policy decides. It is not part of the JSON.
	Policy Policy      `json:"-"`
	Queues []Queue     `json:"queues"`
	Jobs   JobBehavior `json:"jobs,omitzero"`
	// Clusters are where Jobs run. With none there is one, which has room for all.
	Clusters []Cluster `json:"clusters,omitempty"`
}

// A Queue is one trigger of the policy: items that arrive, and how its metric counts
// them. The zero value stays empty.
//
// Where there are several queues, a Job takes the item that arrived first of all.
type Queue struct {
	Name     string       `json:"name,omitempty"`
	Arrivals Arrivals     `json:"arrivals,omitzero"`
	Trace    []Arrival    `json:"trace,omitempty"` // instead of Arrivals
	Service  Distribution `json:"service,omitzero"`

	// Target is the target average value: items that one Job serves. 0 is 1.
	Target float64 `json:"target,omitempty"`
	// ActivationThreshold is what the metric exceeds when the trigger is active.
	ActivationThreshold float64 `json:"activationThreshold,omitempty"`
	// Metric is what the queue's metric counts; "" is AllItems.
	Metric Metric `json:"metric,omitempty"`
	// Staleness is how old the metric's value is when a poll reads it.
	Staleness Duration `json:"staleness,omitempty"`
	// Outages are times in which the metric cannot be read. They have no kind.
	Outages []Outage `json:"outages,omitempty"`

	// VisibilityTimeout is when an item that was taken and not acknowledged can be taken
	// again, whether or not the Job that took it is still at work. 0 is when that Job has
	// failed, and not before.
	VisibilityTimeout Duration `json:"visibilityTimeout,omitempty"`
	// MaxDeliveries is how often an item is handed out before it is given up, which
	// counts as lost. 0 is without end.
	MaxDeliveries int64 `json:"maxDeliveries,omitempty"`
}

// Metric is what the metric of a queue counts.
type Metric string

const (
	// AllItems counts those that wait and those that were taken and are not
	// acknowledged, as the length of a RabbitMQ queue does.
	AllItems Metric = "all"
	// WaitingItems leaves out those that were taken, as the length of a Redis list does.
	WaitingItems Metric = "waiting"
)

// Acknowledge is when a Job tells the queue that it has an item.
type Acknowledge string

const (
	// AtEnd is when the item is done. If the Job fails, the item is in the queue again.
	AtEnd Acknowledge = "end"
	// AtStart is when the item is taken. If the Job fails, the item is lost.
	AtStart Acknowledge = "start"
)

// JobBehavior describes the pods of the Jobs. Each has one pod, which works on one item at a time. The zero
// value starts at once, does one item and ends, and ends too if it finds none.
type JobBehavior struct {
	// Startup is how long a pod that has found room takes until it asks for an item. It is
	// pending until then.
	Startup     Distribution `json:"startup,omitzero"`
	Acknowledge Acknowledge  `json:"acknowledge,omitempty"` // "" is AtEnd
	// ItemsPerJob is how many items a Job does before it ends. 0 is 1.
	ItemsPerJob int64 `json:"itemsPerJob,omitempty"`
	// DrainQueue is that a Job goes on until it finds no item, instead of ItemsPerJob.
	DrainQueue bool `json:"drainQueue,omitempty"`
	// Wait is how long a Job that finds no item waits for one before it ends.
	Wait Duration `json:"wait,omitempty"`

	// FailureProbability is how likely it is, each time an item is worked on, that the
	// pod fails, at some point in that time.
	FailureProbability float64 `json:"failureProbability,omitempty"`
	// BackoffLimit is how often a pod that failed is replaced before the Job fails.
	// Unset is 6, as Kubernetes has it.
	BackoffLimit *int64 `json:"backoffLimit,omitempty"`
	// Backoff is how long the first replacement takes to be created. It doubles each
	// time, up to 6 minutes. 0 is 10s, as Kubernetes has it.
	Backoff Duration `json:"backoff,omitempty"`
	// Termination is how long the pod of a Job that is deleted takes to go. It stops
	// work at once.
	Termination Duration `json:"termination,omitempty"`
}

// A Cluster is a place where Jobs run. The zero value has room for all of them.
type Cluster struct {
	Name string `json:"name,omitempty"`
	// Capacity is how many pods it has room for; Jobs without room stay pending, and
	// get it in the order in which they came. Unset is no limit.
	Capacity *int64   `json:"capacity,omitempty"`
	Outages  []Outage `json:"outages,omitempty"`
	// ListAge is the age of the list of Jobs that a poll reads. The policy also knows of
	// the Jobs that it created since, except for KEDA, which reads the list only.
	ListAge Duration `json:"listAge,omitempty"`
}

// An Outage is a time in which something of a cluster does not work: from From on,
// and before Until.
type Outage struct {
	From  Duration   `json:"from"`
	Until Duration   `json:"until"`
	Kind  OutageKind `json:"kind,omitempty"` // "" is Down
}

// An OutageKind says what does not work in an outage.
type OutageKind string

const (
	// Unreachable is that the API server does not answer: Jobs are neither seen nor
	// created nor deleted. Those that exist go on.
	Unreachable OutageKind = "unreachable"
	// NoStart is that no pod starts: Jobs stay pending. Those that run go on.
	NoStart OutageKind = "noStart"
	// Rejects is that the API server rejects new Jobs, as a quota does.
	Rejects OutageKind = "rejects"
	// Down is Unreachable and NoStart, and pods that run fail.
	Down OutageKind = "down"
)

func (s *Scenario) clusters() []Cluster {
	if len(s.Clusters) == 0 {
		return make([]Cluster, 1)
	}
	return s.Clusters
}

// arrivals is when the last item may arrive, and end when the run ends at the latest.
func (s *Scenario) times() (arrivals, end Duration) {
	arrivals = s.Duration
	if arrivals == 0 {
		for i := range s.Queues {
			for _, a := range s.Queues[i].Trace {
				arrivals = max(arrivals, a.At+1)
			}
		}
	}
	if s.Drain != nil {
		return arrivals, arrivals + *s.Drain
	}
	return arrivals, arrivals + max(arrivals, hour)
}

func (j *JobBehavior) backoffLimit() int64 {
	if j.BackoffLimit == nil {
		return 6
	}
	return *j.BackoffLimit
}

// backoff is how long the replacement takes after so many failures.
func (j *JobBehavior) backoff(failures int64) Duration {
	first := j.Backoff
	if first == 0 {
		first = 10 * second
	}
	const most = 6 * 60 * second
	for ; failures > 1 && first < most; failures-- {
		first *= 2
	}
	return min(first, most)
}

func (q *Queue) target() float64 {
	if q.Target == 0 {
		return 1
	}
	return q.Target
}
