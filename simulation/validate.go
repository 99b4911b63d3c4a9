package simulation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/strategy"
)

// A FieldError is one problem of a Scenario.
type FieldError struct {
	Field string // its path, such as queues[0].arrivals
	Found string
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s: want %s", e.Field, e.Found, e.Want)
}

// What a run is held to, so that it comes to an end in the memory of a machine.
const (
	mostItems = 1e8
	mostPolls = 1e7
	mostJobs  = 1e6 // at once
)

// A report collects problems.
type report struct{ problems []error }

func (r *report) check(ok bool, field string, found any, want string) {
	if ok {
		return
	}
	text := fmt.Sprint(found)
	if text == "" {
		text = "empty"
	}
	r.problems = append(r.problems, &FieldError{field, text, want})
}

func (r *report) duration(field string, d Duration) {
	r.check(d >= 0 && d < longest, field, d, "0s or more, and less than 20 years")
}

// Validate returns every problem of the scenario, joined, each a [*FieldError].
func (s *Scenario) Validate() error {
	var r report
	r.world(s)
	r.decisions(s)
	return errors.Join(r.problems...)
}

// world checks all but the policy.
func (r *report) world(s *Scenario) {
	r.duration("duration", s.Duration)
	if s.Drain != nil {
		r.duration("drain", *s.Drain)
	}
	r.check(len(s.Queues) > 0, "queues", "empty", "at least one queue")
	arrivals, _ := s.times()
	r.check(s.Duration != 0 || arrivals > 0 || len(s.Queues) == 0, "duration", s.Duration, "more than 0s, unless a queue has a trace")
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
		r.check(end/interval <= mostPolls, "policy.spec.pollingInterval", interval, "at most 1e7 polls in the run")
	}
}

func (r *report) unique(field, name string, seen map[string]bool) {
	r.check(name == "" || !seen[name], field, fmt.Sprintf("%q", name), "a name that no other has")
	seen[name] = true
}

func (r *report) queue(path string, q *Queue, arrivals Duration) {
	r.check(len(q.Trace) == 0 || len(q.Arrivals.Rates) == 0, path+"arrivals", q.Arrivals, "none, since there is a trace")
	r.arrivals(path+"arrivals", &q.Arrivals, arrivals)
	items := 0.0
	for i, a := range q.Trace {
		at := fmt.Sprintf("%strace[%d].", path, i)
		r.duration(at+"at", a.At)
		r.duration(at+"service", a.Service)
		r.check(a.Items >= 0, at+"items", a.Items, "0 or more")
		items += float64(max(1, a.Items))
	}
	r.check(items <= mostItems, path+"trace", fmt.Sprintf("of %g items", items), "at most 1e8")
	r.distribution(path+"service", &q.Service)
	r.check(q.Target >= 0 && q.Target <= math.MaxFloat64, path+"target", q.Target, "more than 0, and finite; 0 is 1")
	r.check(q.ActivationThreshold >= 0 && q.ActivationThreshold <= math.MaxFloat64,
		path+"activationThreshold", q.ActivationThreshold, "0 or more, and finite")
	r.check(slices.Contains([]Metric{"", AllItems, WaitingItems}, q.Metric), path+"metric", q.Metric, "all or waiting")
	r.duration(path+"staleness", q.Staleness)
	r.duration(path+"visibilityTimeout", q.VisibilityTimeout)
	r.check(q.MaxDeliveries >= 0, path+"maxDeliveries", q.MaxDeliveries, "0 or more")
}

func (r *report) arrivals(path string, a *Arrivals, until Duration) {
	if a.Pattern == "" && len(a.Rates) == 0 {
		return
	}
	known := slices.Contains([]Pattern{Constant, Poisson, Bursts, Daily}, a.Pattern)
	r.check(known, path, a, "constant, poisson, bursts or daily")
	r.check(len(a.Rates) == 1 || len(a.Rates) > 1 && a.Pattern == Daily, path, a, "one rate, or for daily one and more")
	highest := 0.0
	for _, rate := range a.Rates {
		fits := rate.Items >= 0 && rate.Items <= math.MaxInt32 && rate.Per > 0 && rate.Per < longest
		r.check(fits, path, a, "rates of 0 to 2147483647 items in more than 0s")
		if fits {
			highest = max(highest, rate.perNanosecond())
		}
	}
	r.check(highest > 0, path, a, "a rate above 0")
	items := highest * float64(until)
	if a.Pattern == Bursts && len(a.Rates) == 1 && highest > 0 { // the first of which is at once
		items = math.Ceil(float64(until)/float64(a.Rates[0].Per)) * a.Rates[0].Items
	}
	r.check(items <= mostItems, path, a, "at most 1e8 items in the run")
	if a.Pattern == Bursts && len(a.Rates) == 1 {
		r.check(a.Rates[0].Items == math.Trunc(a.Rates[0].Items), path, a, "a whole number of items in a burst")
	}
}

func (r *report) distribution(path string, d *Distribution) {
	switch d.Shape {
	case "", Fixed, Exponential:
	case LogNormal:
		r.check(d.Mean > 0, path, d, "a mean above 0s")
	case Recorded:
		r.check(len(d.Values) > 0, path, d, "at least one value")
	default:
		r.check(false, path, d, "constant, exp, lognormal or recorded")
	}
	r.duration(path, d.Mean)
	r.duration(path, d.Deviation)
	for _, v := range d.Values {
		r.duration(path, v)
	}
}

func (r *report) jobs(j *Jobs) {
	r.distribution("jobs.startup", &j.Startup)
	r.check(slices.Contains([]Acknowledge{"", AtEnd, AtStart}, j.Acknowledge), "jobs.acknowledge", j.Acknowledge, "end or start")
	r.check(j.ItemsPerJob >= 0, "jobs.itemsPerJob", j.ItemsPerJob, "0 or more")
	r.check(!j.DrainQueue || j.ItemsPerJob == 0, "jobs.itemsPerJob", j.ItemsPerJob, "none, since Jobs drain the queue")
	r.duration("jobs.wait", j.Wait)
	r.check(j.FailureProbability >= 0 && j.FailureProbability <= 1, "jobs.failureProbability", j.FailureProbability, "0 to 1")
	r.check(j.backoffLimit() >= 0, "jobs.backoffLimit", j.backoffLimit(), "0 or more")
	r.duration("jobs.backoff", j.Backoff)
	r.duration("jobs.termination", j.Termination)
}

func (r *report) cluster(path string, c *Cluster) {
	if c.Capacity != nil {
		r.check(*c.Capacity >= 0, path+"capacity", *c.Capacity, "0 or more")
	}
	for i, o := range c.Outages {
		at := fmt.Sprintf("%soutages[%d].", path, i)
		r.duration(at+"from", o.From)
		r.check(o.Until > o.From && o.Until < longest, at+"until", o.Until, "later than from, and less than 20 years")
		r.check(slices.Contains([]Failure{"", Unreachable, NoStart, Down}, o.Kind), at+"kind", o.Kind, "unreachable, noStart or down")
	}
}

func (r *report) policy(p *Policy, clusters []Cluster) {
	const spec = "policy.spec."
	for _, n := range []struct {
		field string
		value *int32
		least int32
	}{
		{"pollingInterval", p.Spec.PollingInterval, 1},
		{"minReplicaCount", p.Spec.MinReplicaCount, 0},
		{"maxReplicaCount", p.Spec.MaxReplicaCount, 0},
		{"successfulJobsHistoryLimit", p.Spec.SuccessfulJobsHistoryLimit, 0},
		{"failedJobsHistoryLimit", p.Spec.FailedJobsHistoryLimit, 0},
	} {
		if n.value != nil {
			r.check(*n.value >= n.least, spec+n.field, *n.value, fmt.Sprintf("%d or more", n.least))
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
		r.check(err == nil, "policy.as", as, fmt.Sprintf("a release from %s to %s", releases[0], releases[len(releases)-1]))
		r.check(p.Spec.ScalingStrategy.Strategy != "pendingAware", spec+"scalingStrategy.strategy", "pendingAware", "one that KEDA has")
	case as == asPlacement:
		r.placement(p, clusters)
		return
	default:
		r.check(as == asCore, "policy.as", as, "core, placement, or a release such as keda@2.21")
	}
	r.check(len(clusters) == 1, "policy.as", as, fmt.Sprintf("placement, since there are %d clusters", len(clusters)))
}

// strategy checks the names. KEDA makes default of a custom strategy whose percentage
// it cannot read.
func (r *report) strategy(p *Policy, isKEDA bool) {
	const path = "policy.spec.scalingStrategy."
	s := p.Spec.ScalingStrategy
	switch _, err := p.strategy(); {
	case err == nil:
	case s.Strategy != "custom":
		r.check(false, path+"strategy", fmt.Sprintf("%q", s.Strategy), "one of "+strings.Join(strategy.Names(), ", "))
	case !isKEDA:
		r.check(false, path+"customScalingRunningJobPercentage", fmt.Sprintf("%q", s.CustomScalingRunningJobPercentage), "a decimal such as 0.5, and not below 0")
	}
	_, err := p.aggregation()
	r.check(err == nil, path+"multipleScalersCalculation", fmt.Sprintf("%q", s.MultipleScalersCalculation), "max, min, avg or sum")
}

// scenarioPaths are the fields of a scenario that stand for those of a
// DistributedScaledJob.
var scenarioPaths = strings.NewReplacer(
	"spec.memberClusters", "clusters",
	"scheduling.priority", "priority",
	"spec.clusterScheduling.failoverPolicy.", "policy.placement.",
	"spec.clusterScheduling.workloadAffinity", "policy.placement",
	"spec.clusterScheduling.", "policy.placement.",
	"spec.scaledJobSpec.", "policy.spec.",
)

// placement adds what package placement has against the policy.
func (r *report) placement(p *Policy, clusters []Cluster) {
	policy := p.jobs(clusters)
	_, err := policy.Validate()
	var each interface{ Unwrap() []error }
	if !errors.As(err, &each) {
		return
	}
	for _, problem := range each.Unwrap() {
		var field *placement.FieldError
		if errors.As(problem, &field) {
			r.check(false, scenarioPaths.Replace(field.Field), field.Found, field.Want)
		}
	}
}
