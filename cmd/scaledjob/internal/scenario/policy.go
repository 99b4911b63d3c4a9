package scenario

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is a policy as a scenario file has it. The zero value is the specification
// with the defaults of a ScaledJob.
type Policy struct {
	Name    string        `json:"name,omitempty"`
	Release input.Release `json:"release"`
	Spec    keda.Spec     `json:"spec"`

	// The specification only:
	SubtractPending bool                 `json:"subtractPending,omitempty"` // see strategy.Accurate
	MinAsFloor      bool                 `json:"minAsFloor,omitempty"`
	StuckAfter      *simulation.Duration `json:"stuckAfter,omitempty"`
	Placement       *placement           `json:"placement,omitempty"`

	// counts returns which items the metric of each trigger counts under a release, "" if that is not
	// known. It is nil if the scenario has them.
	counts func(input.Release) []string
}

func (p *Policy) metrics() []string {
	if p.counts == nil {
		return nil
	}
	return p.counts(p.Release)
}

// A placement has the names of jobs.Policy. The zero value is what a manifest means that
// says nothing.
type placement struct {
	Members    []member        `json:"members,omitempty"` // none is every cluster
	Scheduling jobs.Scheduling `json:"scheduling,omitempty"`
	Workload   struct {
		Class string `json:"class,omitempty"`
		Size  *int32 `json:"size,omitempty"`
	} `json:"workload,omitzero"`
	Failover struct {
		GracePeriod *simulation.Duration `json:"gracePeriod,omitempty"`
		HardTaint   *simulation.Duration `json:"hardTaint,omitempty"`
		SoftTaint   *simulation.Duration `json:"softTaint,omitempty"`
		Duplication jobs.Duplication     `json:"duplication,omitempty"`
	} `json:"failover,omitzero"`
	FailoverOverMax bool `json:"failoverOverMax,omitempty"`
}

type member struct {
	Name     string `json:"name"`
	Weight   *int32 `json:"weight,omitempty"` // nil is 1
	Priority *int32 `json:"priority,omitempty"`
	MaxJobs  *int64 `json:"maxJobs,omitempty"`
}

// Build returns the policy for so many clusters, or all its problems. The problems of a
// release of KEDA are found by package simulation.
func (p *Policy) Build(clusters int) (simulation.Autoscaler, error) {
	if p.Release.Profile != nil {
		return simulation.KEDA{Name: p.Name, Profile: *p.Release.Profile, Spec: p.Spec, Metrics: p.metrics()}, nil
	}
	var problems field.Errors
	documented := simulation.KEDA{Spec: p.Spec}
	documented.Spec.ScalingStrategy = keda.ScalingStrategy{} // the specification may have more strategies
	problems.Join("policy", documented.Validate())
	settings := documented.Settings()
	of := scaling.DefaultPolicy()
	of.Bounds.Min, of.Bounds.Max = settings.Min, settings.Max
	if p.MinAsFloor {
		of.Bounds.Mode = scaling.Floor
	}
	if name := p.Spec.ScalingStrategy.MultipleScalersCalculation; name != "" {
		err := of.Aggregation.UnmarshalText([]byte(name))
		problems.Check(err == nil, "policy.spec.scalingStrategy.multipleScalersCalculation", name, "one of "+strings.Join(scaling.Aggregations(), ", "))
	}
	of.Strategy = p.strategy(&problems)
	if p.Placement != nil || clusters > 1 {
		built := p.place(of, &problems)
		return simulation.Placement{Name: p.Name, Policy: built, Interval: settings.Interval}, problems.Err()
	}
	return simulation.Scaling{Name: p.Name, Policy: of, Interval: settings.Interval, StuckAfter: p.StuckAfter}, problems.Err()
}

// strategy follows the specification. Custom without a percentage is default, as it is
// documented.
func (p *Policy) strategy(problems *field.Errors) strategy.Strategy {
	const path = "policy.spec.scalingStrategy"
	s := p.Spec.ScalingStrategy
	if s.Strategy == "" {
		return nil
	}
	of, err := strategy.FromSpec(s.Strategy, s.Parameters)
	if _, ok := of.(strategy.Accurate); ok {
		of = strategy.Accurate{SubtractPending: p.SubtractPending}
	}
	problems.Join(path, err)
	return of
}

// place returns the policy for several clusters, in which the minimum is a floor.
func (p *Policy) place(of scaling.Policy, problems *field.Errors) jobs.Policy {
	in := p.Placement
	if in == nil {
		in = &placement{}
	}
	all := jobs.DefaultPolicy()
	of.Bounds.Mode = scaling.Floor
	all.Scaling = of
	for limit, n := range map[**int64]*int32{&all.History.Succeeded: p.Spec.SuccessfulJobsHistoryLimit, &all.History.Failed: p.Spec.FailedJobsHistoryLimit} {
		if n != nil {
			*limit = history.Keep(int64(*n))
		}
	}
	for _, m := range in.Members {
		to := jobs.NewMember(m.Name)
		if m.Weight != nil {
			to.Weight = *m.Weight
		}
		to.Priority, to.MaxJobs = m.Priority, m.MaxJobs
		all.Members = append(all.Members, to)
	}
	all.Scheduling, all.FailoverOverMax = in.Scheduling, in.FailoverOverMax
	all.Workload.Class = in.Workload.Class
	if n := in.Workload.Size; n != nil {
		all.Workload.Size = *n
	}
	f := &all.Failover
	f.Duplication = cmp.Or(in.Failover.Duplication, f.Duplication)
	for to, from := range map[*time.Duration]*simulation.Duration{
		&f.GracePeriod: in.Failover.GracePeriod, &f.HardTaint: in.Failover.HardTaint, &f.SoftTaint: in.Failover.SoftTaint,
	} {
		if from != nil {
			*to = time.Duration(*from)
		}
	}
	for _, problem := range field.All(all.Validate()) {
		problems.Add(field.Error{Path: "policy.placement." + lower(problem.Path), Found: problem.Found, Fix: problem.Fix})
	}
	if all.Scheduling == jobs.PriorityFailover {
		problems.Check(in.Workload.Size != nil, "policy.placement.workload.size", nil, "0 or more under priorityFailover")
		problems.Check(len(in.Members) > 0, "policy.placement.members", nil, "a member with a priority for each cluster under priorityFailover")
		for i, m := range in.Members {
			path := fmt.Sprintf("policy.placement.members[%d].priority", i)
			if m.Priority == nil {
				problems.Check(false, path, nil, "0 to 1000 under priorityFailover")
			} else {
				problems.Check(*m.Priority >= 0 && *m.Priority <= 1000, path, *m.Priority, "0 to 1000")
			}
		}
	}
	return all
}

// lower returns the path of a Go field as JSON has it: Members[0].MaxJobs is
// members[0].maxJobs.
func lower(path string) string {
	steps := strings.Split(path, ".")
	for i, step := range steps {
		runes := []rune(step)
		runes[0] = unicode.ToLower(runes[0])
		steps[i] = string(runes)
	}
	return strings.Join(steps, ".")
}

// Settings returns the settings that a simulation uses.
func (p *Policy) Settings() string {
	s := simulation.KEDA{Spec: p.Spec}.Settings()
	return fmt.Sprintf("%s, min %d, max %d, every %s", cmp.Or(p.Spec.ScalingStrategy.Strategy, "default"), s.Min, s.Max, time.Duration(cmp.Or(s.Interval, simulation.Duration(30*time.Second))))
}

// Compared are the policies to compare; without names, that of the scenario alone. A name is a strategy, a
// release, both (eager@2.18), a setting (min=2, max=50, interval=10s), several of them (eager+max=50), "today",
// or a file with another manifest. What a single name, a setting or a file is compared with is today's policy.
func (s *Flags) Compared(world *Scenario, names []string) (policies []Policy, err error) {
	today := world.Policy
	if len(names) == 0 {
		return []Policy{today}, nil
	}
	today.Name = Today
	implicit := len(names) == 1
	for _, name := range names {
		p := world.Policy
		p.Name = name
		for part := range strings.SplitSeq(name, "+") {
			if err := s.change(&p, part); err != nil {
				return nil, input.Usagef("--compare %s: %w", name, err)
			}
		}
		implicit = implicit || isFile(name) || strings.Contains(name, "=")
		s.assumeMetrics(world, &p)
		policies = append(policies, p)
	}
	if implicit && !slices.Contains(names, Today) {
		policies = append([]Policy{today}, policies...)
	}
	return policies, nil
}

// Today is the name of the manifest's own policy.
const Today = "today"

func isFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func (s *Flags) change(p *Policy, part string) (err error) {
	if key, value, setting := strings.Cut(part, "="); setting {
		return p.set(key, value)
	}
	if isFile(part) {
		m, err := (&input.ManifestFlags{Files: []string{part}}).Single(nil, nil)
		if err == nil {
			p.Spec = m.KEDA.Spec
		}
		return err
	}
	if part == Today {
		return nil
	}
	name, release, both := strings.Cut(part, "@")
	if !both && (part == input.Spec || strings.ContainsRune(part, '.')) {
		name, release = "", part
	}
	if release != "" || both {
		if p.Release, err = input.ParseRelease(release); err != nil {
			return err
		}
	}
	if name == "" {
		return nil
	}
	names := keda.Strategies()
	if p.Release.Profile == nil {
		names = strategy.Names()
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("%q is no policy; use a strategy (%s), a release, a setting such as max=50, or a file", name, strings.Join(names, ", "))
	}
	p.Spec.ScalingStrategy.Strategy = name
	return nil
}

func (p *Policy) set(key, value string) error {
	if key == "interval" {
		d, err := time.ParseDuration(value)
		if whole := d > 0 && d%time.Second == 0; err != nil || !whole || d > math.MaxInt32*time.Second {
			return fmt.Errorf("interval %q: use whole seconds, such as 10s", value)
		}
		p.Spec.PollingInterval = new(int32(d / time.Second))
		return nil
	}
	fields := map[string]**int32{"min": &p.Spec.MinReplicaCount, "max": &p.Spec.MaxReplicaCount}
	field, known := fields[key]
	if !known {
		return fmt.Errorf("%q is no setting; use min, max or interval", key)
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%s %q: use a whole number of 0 or more", key, value)
	}
	*field = new(int32(n))
	return nil
}

// BuildAll builds the policies, and returns the problems of all of them.
func BuildAll(all []Policy, clusters int) ([]simulation.Autoscaler, error) {
	var problems field.Errors
	var built []simulation.Autoscaler
	for i := range all {
		p, err := all[i].Build(clusters)
		problems.Join(all[i].Name, err)
		built = append(built, p)
	}
	return built, problems.Err()
}

// Candidates returns the policies of a search for some maxima: the strategies, polling intervals
// around the manifest's, and minima up to half of the Jobs at work.
func Candidates(base Policy, busy float64, maxima []int32) (all []Policy) {
	interval, least := int64(30), int64(0)
	if n := base.Spec.PollingInterval; n != nil {
		interval = int64(*n)
	}
	if n := base.Spec.MinReplicaCount; n != nil {
		least = int64(*n)
	}
	minima := slices.Compact(slices.Sorted(slices.Values(append(values(least, int64(busy)/2), 0))))
	for _, name := range []string{"default", "accurate", "eager"} {
		for _, every := range values(interval/3, interval, 2*interval, 4*interval) {
			for _, least := range minima {
				for _, most := range maxima {
					if least > most {
						continue
					}
					p := base
					p.Spec.ScalingStrategy.Strategy = name
					p.Spec.PollingInterval, p.Spec.MinReplicaCount, p.Spec.MaxReplicaCount = &every, &least, &most
					p.Name = p.Settings()
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// Maxima returns the numbers from one to another, or about forty of them, both ends included.
func Maxima(from, to int64) []int32 {
	const many = 40
	var all []int64
	for n := from; n <= to; n = max(n+1, int64(math.Ceil(float64(from)*math.Pow(float64(to)/float64(from), float64(len(all))/many)-1e-6))) {
		all = append(all, n)
	}
	return values(all...)
}

// values are valid in a manifest: at least 1, each once.
func values(of ...int64) (all []int32) {
	seen := map[int64]bool{}
	for _, v := range of {
		if v = max(1, v); v <= math.MaxInt32 && !seen[v] {
			seen[v] = true
			all = append(all, int32(v))
		}
	}
	return all
}
