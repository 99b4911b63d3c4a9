package simulation

import (
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/field"
)

// The limits of a run, so that it comes to an end in the memory of a machine.
const (
	maxItems = 1e8
	maxPolls = 1e7
	maxJobs  = 1e6 // at once
)

// A plan is what a run needs to know about its scenario. check fills it in.
type plan struct {
	arrivals, end Duration // when the last item may arrive, and when the run ends at the latest
	items         float64  // that may arrive
	settings      Settings
	clusters      []Cluster // at least one
	watched       []int     // for each queue, the queue whose items its metric counts
}

type report struct{ field.Errors }

func (r *report) duration(path string, d Duration) {
	r.Check(d >= 0 && d < longest, path, d, "0s or more, and less than 20 years")
}

// Validate returns every problem of the scenario, joined, each a [*field.Error].
func (s *Scenario) Validate() error {
	_, err := s.check()
	return err
}

// check returns the plan of the scenario, and its problems.
func (s *Scenario) check() (p plan, err error) {
	var r report
	p.arrivals, p.end = s.times()
	p.settings, p.clusters = s.settings(), s.clusterList()
	r.workload(s, &p)
	r.autoscaler(s.Autoscaler, &p)
	return p, r.Err()
}

// times returns when the last item may arrive, and when the run ends at the latest.
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

func (s *Scenario) clusterList() []Cluster {
	if len(s.Clusters) == 0 {
		return make([]Cluster, 1)
	}
	return s.Clusters
}

// workload checks all but the autoscaler, counts the items, and finds the watched queues.
func (r *report) workload(s *Scenario, p *plan) {
	r.duration("duration", s.Duration)
	if s.Drain != nil {
		r.duration("drain", *s.Drain)
	}
	r.Check(len(s.Queues) > 0, "queues", nil, "at least one queue")
	endless := s.Duration == 0 && p.arrivals <= 0 && len(s.Queues) > 0
	r.Check(!endless, "duration", s.Duration, "more than 0s, or a queue with a trace")
	names := map[string]bool{}
	for i := range s.Queues {
		path := fmt.Sprintf("queues[%d].", i)
		p.items += r.queue(path, &s.Queues[i], p.arrivals)
		p.watched = append(p.watched, r.watches(path, s.Queues, i))
		r.unique(path+"name", s.Queues[i].Name, names)
	}
	if p.items > maxItems {
		r.Add(field.Error{Path: "queues", Found: fmt.Sprintf("%.3g items in the run", p.items), Fix: "at most 1e8, of all queues together"})
	}
	r.jobs(&s.Jobs)
	names = map[string]bool{}
	for i := range s.Clusters {
		path := fmt.Sprintf("clusters[%d].", i)
		r.cluster(path, &s.Clusters[i])
		r.unique(path+"name", s.Clusters[i].Name, names)
	}
}

// watches returns the queue whose items a queue's metric counts. A queue that counts the items of
// another must have none of its own.
func (r *report) watches(path string, queues []Queue, i int) (watched int) {
	q := &queues[i]
	if q.Watches == "" {
		return i
	}
	watched = slices.IndexFunc(queues, func(other Queue) bool { return other.Name == q.Watches })
	r.Check(watched >= 0 && watched != i && queues[max(watched, 0)].Watches == "", path+"watches", q.Watches, "the name of another queue that has items")
	empty := len(q.Trace) == 0 && q.Arrivals.pattern == "" && q.Backlog == 0
	r.Check(empty, path+"arrivals", q.Arrivals, "no items beside watches")
	return watched
}

func (r *report) autoscaler(a Autoscaler, p *plan) {
	if a == nil {
		r.Check(false, "policy", nil, "Scaling, KEDA, Placement or a type of your own")
		return
	}
	settings := &p.settings
	r.Check(settings.Interval >= 0, "policy.interval", settings.Interval, "0s or more, where 0s means 30s")
	if interval := settings.interval(); interval > 0 {
		r.Check(p.end/interval <= maxPolls, "policy.interval", interval, "a longer one, for at most 1e7 polls in the run")
	}
	r.AtLeast("policy.min", settings.Min, 0)
	r.AtLeast("policy.max", settings.Max, 0)
	if settings.StuckAfter != nil {
		r.duration("policy.stuckAfter", *settings.StuckAfter)
	}
	for i, m := range settings.Metrics {
		r.metric(fmt.Sprintf("policy.metrics[%d]", i), m)
	}
	r.Check(settings.Clusters || len(p.clusters) == 1, "policy", settings.Name,
		fmt.Sprintf("Placement, or another autoscaler that reads Observation.Clusters, for %d clusters", len(p.clusters)))
	if checker, ok := a.(interface{ check(*report, []Cluster) }); ok {
		checker.check(r, p.clusters)
	}
}

func (r *report) unique(path, name string, names map[string]bool) {
	r.Check(name == "" || !names[name], path, name, "a name that no other has")
	names[name] = true
}

func (r *report) metric(path, counts string) {
	r.Check(slices.Contains([]string{"", "all", waitingItems, activeItems}, counts), path, counts, "all, waiting or active")
}

// queue checks a queue, and returns the number of items that may arrive.
func (r *report) queue(path string, q *Queue, arrivals Duration) (items float64) {
	if len(q.Trace) > 0 && len(q.Arrivals.rates) > 0 {
		r.Add(field.Error{Path: path + "arrivals", Found: fmt.Sprintf("%v beside a trace", q.Arrivals), Fix: "one of the two"})
	}
	items = r.arrivals(path+"arrivals", &q.Arrivals, arrivals)
	for i := range q.Trace {
		a := &q.Trace[i]
		items += float64(max(1, a.Items))
		if min(a.At, a.Service, Duration(a.Items)) < 0 || max(a.At, a.Service) >= longest { // a path for each row would take seconds
			row := fmt.Sprintf("%strace[%d].", path, i)
			r.duration(row+"at", a.At)
			r.duration(row+"service", a.Service)
			r.AtLeast(row+"items", a.Items, 0)
		}
	}
	r.distribution(path+"service", &q.Service)
	r.Check(q.Target >= 0 && q.Target <= math.MaxFloat64, path+"target", q.Target, "a finite number of 0 or more, where 0 means 1")
	r.Check(q.ActivationThreshold >= 0 && q.ActivationThreshold <= math.MaxFloat64,
		path+"activationThreshold", q.ActivationThreshold, "a finite number of 0 or more")
	r.AtLeast(path+"partitions", q.Partitions, 0)
	r.metric(path+"metric", q.Metric)
	r.duration(path+"staleness", q.Staleness)
	r.outages(path, q.Outages)
	for i, o := range q.Outages {
		r.Check(o.Kind == "", fmt.Sprintf("%soutages[%d].kind", path, i), o.Kind, "nothing: a metric is read or not")
	}
	r.duration(path+"visibilityTimeout", q.VisibilityTimeout)
	r.AtLeast(path+"maxDeliveries", q.MaxDeliveries, 0)
	r.AtLeast(path+"backlog", q.Backlog, 0)
	return items + float64(max(0, q.Backlog))
}

// arrivals checks the arrivals of a queue, and returns the number of items.
func (r *report) arrivals(path string, a *Arrivals, until Duration) (items float64) {
	if a.pattern == "" && len(a.rates) == 0 {
		return 0
	}
	r.Check(slices.Contains(patterns, a.pattern), path, a, "constant, poisson, bursts or daily")
	r.Check(len(a.rates) == 1 || (len(a.rates) > 1 && a.pattern == daily), path, a, "one rate, or several for daily")
	highest := 0.0
	for _, rate := range a.rates {
		validItems := rate.items >= 0 && rate.items <= math.MaxInt32
		valid := validItems && rate.per > 0 && rate.per < longest
		r.Check(valid, path, a, "rates of 0 to 2147483647 items in more than 0s")
		if valid {
			highest = max(highest, rate.perNanosecond())
		}
	}
	r.Check(highest > 0, path, a, "a rate above 0")
	items = highest * float64(until)
	if a.pattern == bursts && len(a.rates) == 1 {
		if highest > 0 { // the first of which is at once
			items = math.Ceil(float64(until)/float64(a.rates[0].per)) * a.rates[0].items
		}
		r.Check(a.rates[0].items == math.Trunc(a.rates[0].items), path, a, "a whole number of items in a burst")
	}
	return items
}

func (r *report) distribution(path string, d *Distribution) {
	switch d.shape {
	case "", fixed, exponential:
	case logNormal:
		r.Check(d.mean > 0, path, d, "a mean above 0s")
	case recorded:
		r.Check(len(d.values) > 0, path, d, "at least one value")
	default:
		r.Check(false, path, d, "constant, exp, lognormal or recorded")
	}
	r.duration(path, d.mean)
	r.duration(path, d.deviation)
	for _, v := range d.values {
		r.duration(path, v)
	}
}

func (r *report) jobs(j *JobBehavior) {
	r.distribution("jobs.startup", &j.Startup)
	r.distribution("jobs.warmUp", &j.WarmUp)
	r.distribution("jobs.completion", &j.Completion)
	r.Check(slices.Contains([]string{"", "end", onStart}, j.Acknowledge), "jobs.acknowledge", j.Acknowledge, "end or start")
	r.AtLeast("jobs.itemsPerJob", j.ItemsPerJob, 0)
	r.Check(!j.DrainQueue || j.ItemsPerJob == 0, "jobs.itemsPerJob", j.ItemsPerJob, "0, since drainQueue is true")
	r.duration("jobs.wait", j.Wait)
	r.Check(j.FailureProbability >= 0 && j.FailureProbability <= 1, "jobs.failureProbability", j.FailureProbability, "0 to 1")
	if j.BackoffLimit != nil {
		r.AtLeast("jobs.backoffLimit", *j.BackoffLimit, 0)
	}
	r.duration("jobs.backoff", j.Backoff)
	r.duration("jobs.termination", j.Termination)
}

func (r *report) outages(path string, outages []Outage) {
	for i, o := range outages {
		prefix := fmt.Sprintf("%soutages[%d].", path, i)
		r.duration(prefix+"from", o.From)
		r.Check(o.Until > o.From && o.Until < longest, prefix+"until", o.Until, "a time after from, and less than 20 years")
	}
}

func (r *report) cluster(path string, c *Cluster) {
	if c.Capacity != nil {
		r.AtLeast(path+"capacity", *c.Capacity, 0)
	}
	r.duration(path+"listAge", c.ListAge)
	r.outages(path, c.Outages)
	for i, o := range c.Outages {
		r.Check(slices.Contains([]string{"", unreachable, noStart, rejects, "down"}, o.Kind),
			fmt.Sprintf("%soutages[%d].kind", path, i), o.Kind, "unreachable, noStart, rejects or down")
	}
}
