package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/strategy"
)

// What a run is held to, so that it comes to an end in the memory of a machine.
const (
	mostItems = 1e8
	mostPolls = 1e7
	peakJobs  = 1e6 // at once
)

// A report collects problems.
type report struct{ field.Errors }

func (r *report) duration(path string, d Duration) {
	r.Check(d >= 0 && d < longest, path, d, "0s or more, and less than 20 years")
}

// Validate returns every problem of the scenario, joined, each a [*field.Error].
func (s *Scenario) Validate() error {
	var r report
	r.world(s)
	r.decisions(s)
	return r.Err()
}

// world checks all but the policy.
func (r *report) world(s *Scenario) {
	r.duration("duration", s.Duration)
	if s.Drain != nil {
		r.duration("drain", *s.Drain)
	}
	r.Check(len(s.Queues) > 0, "queues", nil, "at least one queue")
	arrivals, _ := s.times()
	r.Check(s.Duration != 0 || arrivals > 0 || len(s.Queues) == 0, "duration", s.Duration, "more than 0s, or a queue with a trace")
	names := map[string]bool{}
	for i := range s.Queues {
		path := fmt.Sprintf("queues[%d].", i)
		r.queue(path, &s.Queues[i], arrivals)
		r.unique(path+"name", s.Queues[i].Name, names)
	}
	r.jobs(&s.Jobs)
	names = map[string]bool{}
	for i := range s.Clusters {
		path := fmt.Sprintf("clusters[%d].", i)
		r.cluster(path, &s.Clusters[i])
		r.unique(path+"name", s.Clusters[i].Name, names)
	}
}

// decisions checks the policy, and how often it decides.
func (r *report) decisions(s *Scenario) {
	r.policy(&s.Policy, s.clusters())
	_, end := s.times()
	if interval := s.Policy.interval(); interval > 0 {
		r.Check(end/interval <= mostPolls, "policy.spec.pollingInterval", interval, "a longer one, for at most 1e7 polls in the run")
	}
}

func (r *report) unique(path, name string, seen map[string]bool) {
	r.Check(name == "" || !seen[name], path, name, "a name that no other has")
	seen[name] = true
}

func (r *report) queue(path string, q *Queue, arrivals Duration) {
	if len(q.Trace) > 0 && len(q.Arrivals.Rates) > 0 {
		r.Add(field.Error{Path: path + "arrivals", Found: fmt.Sprintf("%v beside a trace", q.Arrivals), Fix: "one of the two"})
	}
	r.arrivals(path+"arrivals", &q.Arrivals, arrivals)
	items := 0.0
	for i, a := range q.Trace {
		at := fmt.Sprintf("%strace[%d].", path, i)
		r.duration(at+"at", a.At)
		r.duration(at+"service", a.Service)
		r.AtLeast(at+"items", a.Items, 0)
		items += float64(max(1, a.Items))
	}
	if items > mostItems {
		r.Add(field.Error{Path: path + "trace", Found: fmt.Sprintf("%g items", items), Fix: "at most 1e8 items"})
	}
	r.distribution(path+"service", &q.Service)
	r.Check(q.Target >= 0 && q.Target <= math.MaxFloat64, path+"target", q.Target, "a finite number of 0 or more, where 0 means 1")
	r.Check(q.ActivationThreshold >= 0 && q.ActivationThreshold <= math.MaxFloat64,
		path+"activationThreshold", q.ActivationThreshold, "a finite number of 0 or more")
	r.Check(slices.Contains([]Metric{"", AllItems, WaitingItems}, q.Metric), path+"metric", q.Metric, "all or waiting")
	r.duration(path+"staleness", q.Staleness)
	r.duration(path+"visibilityTimeout", q.VisibilityTimeout)
	r.AtLeast(path+"maxDeliveries", q.MaxDeliveries, 0)
}

func (r *report) arrivals(path string, a *Arrivals, until Duration) {
	if a.Pattern == "" && len(a.Rates) == 0 {
		return
	}
	known := slices.Contains([]Pattern{Constant, Poisson, Bursts, Daily}, a.Pattern)
	r.Check(known, path, a, "constant, poisson, bursts or daily")
	r.Check(len(a.Rates) == 1 || len(a.Rates) > 1 && a.Pattern == Daily, path, a, "one rate, or several for daily")
	highest := 0.0
	for _, rate := range a.Rates {
		fits := rate.Items >= 0 && rate.Items <= math.MaxInt32 && rate.Per > 0 && rate.Per < longest
		r.Check(fits, path, a, "rates of 0 to 2147483647 items in more than 0s")
		if fits {
			highest = max(highest, rate.perNanosecond())
		}
	}
	r.Check(highest > 0, path, a, "a rate above 0")
	items := highest * float64(until)
	if a.Pattern == Bursts && len(a.Rates) == 1 && highest > 0 { // the first of which is at once
		items = math.Ceil(float64(until)/float64(a.Rates[0].Per)) * a.Rates[0].Items
	}
	r.Check(items <= mostItems, path, a, "at most 1e8 items in the run")
	if a.Pattern == Bursts && len(a.Rates) == 1 {
		r.Check(a.Rates[0].Items == math.Trunc(a.Rates[0].Items), path, a, "a whole number of items in a burst")
	}
}

func (r *report) distribution(path string, d *Distribution) {
	switch d.Shape {
	case "", Fixed, Exponential:
	case LogNormal:
		r.Check(d.Mean > 0, path, d, "a mean above 0s")
	case Recorded:
		r.Check(len(d.Values) > 0, path, d, "at least one value")
	default:
		r.Check(false, path, d, "constant, exp, lognormal or recorded")
	}
	r.duration(path, d.Mean)
	r.duration(path, d.Deviation)
	for _, v := range d.Values {
		r.duration(path, v)
	}
}

func (r *report) jobs(j *JobBehavior) {
	r.distribution("jobs.startup", &j.Startup)
	r.Check(slices.Contains([]Acknowledge{"", AtEnd, AtStart}, j.Acknowledge), "jobs.acknowledge", j.Acknowledge, "end or start")
	r.AtLeast("jobs.itemsPerJob", j.ItemsPerJob, 0)
	r.Check(!j.DrainQueue || j.ItemsPerJob == 0, "jobs.itemsPerJob", j.ItemsPerJob, "0, since drainQueue is true")
	r.duration("jobs.wait", j.Wait)
	r.Check(j.FailureProbability >= 0 && j.FailureProbability <= 1, "jobs.failureProbability", j.FailureProbability, "0 to 1")
	r.AtLeast("jobs.backoffLimit", j.backoffLimit(), 0)
	r.duration("jobs.backoff", j.Backoff)
	r.duration("jobs.termination", j.Termination)
}

func (r *report) cluster(path string, c *Cluster) {
	if c.Capacity != nil {
		r.AtLeast(path+"capacity", *c.Capacity, 0)
	}
	for i, o := range c.Outages {
		at := fmt.Sprintf("%soutages[%d].", path, i)
		r.duration(at+"from", o.From)
		r.Check(o.Until > o.From && o.Until < longest, at+"until", o.Until, "a time after from, and less than 20 years")
		r.Check(slices.Contains([]OutageKind{"", Unreachable, NoStart, Down}, o.Kind), at+"kind", o.Kind, "unreachable, noStart or down")
	}
}

func (r *report) policy(p *Policy, clusters []Cluster) {
	const spec = "policy.spec."
	for _, n := range []struct {
		name  string
		value *int32
		least int64
	}{
		{"pollingInterval", p.Spec.PollingInterval, 1},
		{"minReplicaCount", p.Spec.MinReplicaCount, 0},
		{"maxReplicaCount", p.Spec.MaxReplicaCount, 0},
		{"successfulJobsHistoryLimit", p.Spec.SuccessfulJobsHistoryLimit, 0},
		{"failedJobsHistoryLimit", p.Spec.FailedJobsHistoryLimit, 0},
	} {
		if n.value != nil {
			r.AtLeast(spec+n.name, int64(*n.value), n.least)
		}
	}
	if p.StuckAfter != nil {
		r.duration("policy.stuckAfter", *p.StuckAfter)
	}
	as := p.as(len(clusters))
	release, isKEDA := strings.CutPrefix(as, asKEDA)
	r.strategy(p, isKEDA)
	switch {
	case isKEDA:
		_, err := keda.Release(release)
		releases := keda.Releases()
		r.Check(err == nil, "policy.as", as, fmt.Sprintf("a release from keda@%s to keda@%s", releases[0], releases[len(releases)-1]))
		r.Check(p.Spec.ScalingStrategy.Strategy != "pendingAware", spec+"scalingStrategy.strategy", "pendingAware", "default, accurate, eager or custom")
	case as == asPlacement:
		r.placement(p, clusters)
		return
	default:
		r.Check(as == asCore, "policy.as", as, "core, placement, or a release such as keda@2.21")
	}
	r.Check(len(clusters) == 1, "policy.as", as, fmt.Sprintf("placement, since there are %d clusters", len(clusters)))
}

// strategy checks the names. KEDA makes default of a custom strategy whose percentage
// it cannot read.
func (r *report) strategy(p *Policy, isKEDA bool) {
	const path = "policy.spec.scalingStrategy."
	s := p.Spec.ScalingStrategy
	switch _, err := p.strategy(); {
	case err == nil:
	case s.Strategy != "custom":
		r.Check(false, path+"strategy", s.Strategy, "one of "+strings.Join(strategy.Names(), ", "))
	case !isKEDA:
		r.Check(false, path+"customScalingRunningJobPercentage", s.CustomScalingRunningJobPercentage, "a decimal of 0 or more, such as 0.5")
	}
	_, err := p.aggregation()
	r.Check(err == nil, path+"multipleScalersCalculation", s.MultipleScalersCalculation, "max, min, avg or sum")
}

// scenarioPaths are the fields of a scenario that stand for those of jobs.Policy.
var scenarioPaths = strings.NewReplacer(
	"Members[", "clusters[", ".Name", ".name", ".Weight", ".weight", ".MaxJobs", ".maxJobs", "Members", "clusters",
	"Scheduling", "policy.placement.strategy",
	"Failover.GracePeriod", "policy.placement.gracePeriod",
	"Failover.HardTaint", "policy.placement.hardTaintDuration",
	"Failover.SoftTaint", "policy.placement.softTaintDuration",
	"Failover.Duplication", "policy.placement.duplicationPolicy",
	"Workload.Size", "policy.placement.size",
	"Scaling.Bounds.Min", "policy.spec.minReplicaCount", "Scaling.Bounds.Max", "policy.spec.maxReplicaCount",
	"Scaling.Strategy", "policy.spec.scalingStrategy.strategy",
)

// placement adds what package placement/jobs has against the policy, and what
// priorityFailover requires.
func (r *report) placement(p *Policy, clusters []Cluster) {
	policy := p.jobs(clusters)
	_, err := policy.Validate()
	for _, problem := range field.All(err) {
		r.Add(field.Error{Path: scenarioPaths.Replace(problem.Path), Found: problem.Found, Fix: problem.Fix})
	}
	if policy.Scheduling != jobs.PriorityFailover {
		return
	}
	r.Check(p.Placement.Size != nil, "policy.placement.size", nil, "0 or more under priorityFailover")
	for i, c := range clusters {
		path := fmt.Sprintf("clusters[%d].priority", i)
		if c.Priority == nil {
			r.Check(false, path, nil, "0 to 1000 under priorityFailover")
		} else {
			r.Check(*c.Priority >= 0 && *c.Priority <= 1000, path, *c.Priority, "0 to 1000")
		}
	}
}
