package scenario

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// Flags choose a scenario: a ScaledJob with a workload, or a file.
type Flags struct {
	input.ManifestFlags
	input.QueueFlags
	scenario     string
	arrivals     []string
	trace        string
	traceAs      string
	service      string
	startup      string
	warmUp       string
	wait         time.Duration
	duration     time.Duration
	metricValues []string
	ack          string
	items        int64
	seed         uint64
	release      input.Releases
	interval     time.Duration
	dumps        []string

	// changed reports whether a flag was given.
	changed     func(flag string) bool
	Assumptions []Assumption
	File        string // the text of --scenario
	recorded    string // the source of service and start times, if not the flags
	Warnings    []string
}

// worldly are the flags that a scenario file replaces.
var worldly = []string{"arrivals", "trace", "trace-as", "service", "startup", "warm-up", "wait", "duration", "metric", "partitions", "acknowledge", "name", "items-per-job", "seed",
	"release", "target", "polling-interval", "jobs"}

// Add adds the flags to a command.
func (f *Flags) Add(c *cobra.Command) {
	flags := c.Flags()
	f.ManifestFlags.Add(c)
	f.AddTarget(c)
	f.AddPartitions(c)
	f.release.Add(c, "release", "rules of this")
	flags.StringVar(&f.scenario, "scenario", "", "`file` with a scenario in YAML, instead of -f and the flags about the workload")
	flags.StringArrayVar(&f.arrivals, "arrivals", nil, "when items arrive: `[trigger=]pattern:rate`, once for each trigger")
	flags.StringVar(&f.trace, "trace", "", "`file` with recorded arrivals: CSV or JSON with time, items and service, or a Prometheus range query")
	flags.StringVar(&f.traceAs, "trace-as", "", "what the numbers of --trace are: `items|rate|counter`, where rate is items per second and counter a total that rises; by default items, and for Prometheus from the name of the series")
	flags.StringVar(&f.service, "service", "30s", "how long a Job works on an item: a `time` or distribution")
	flags.StringVar(&f.startup, "startup", "5s", "from the scheduling of a pod until it runs: a `time` or distribution")
	flags.StringVar(&f.warmUp, "warm-up", "0s", "from the time that a pod runs until it asks for its first item: a `time` or distribution")
	flags.DurationVar(&f.wait, "wait", 0, "`time` that a Job waits for an item before it ends")
	flags.DurationVar(&f.duration, "duration", time.Hour, "`time` for which items arrive; with --trace, by default until its end")
	flags.StringSliceVar(&f.metricValues, "metric", nil, "which items a trigger counts: `[trigger=]all|waiting|active`; by default from the manifest")
	flags.DurationVar(&f.interval, "polling-interval", 0, "`time` from poll to poll; by default that of the manifest")
	flags.StringArrayVar(&f.dumps, "jobs", nil, "`file` with your Jobs and pods (kubectl get jobs,pods -o json), for service and startup; may be repeated")
	flags.StringVar(&f.ack, "acknowledge", "end", "when a Job tells the queue that it has an item: `end|start` of the work")
	flags.Int64Var(&f.items, "items-per-job", 0, "`items` that a Job does before it ends, or 0 for all until the queue is empty; by default the target of the trigger")
	flags.Uint64Var(&f.seed, "seed", 1, "first seed of the random numbers")
	f.changed = flags.Changed
	_ = c.MarkFlagFilename("scenario", "yaml", "yml", "json")
	_ = c.MarkFlagFilename("trace", "csv")
}

// Read returns the scenario of the file, or of the flags.
func (f *Flags) Read(stdin io.Reader) (*Scenario, error) {
	if f.scenario != "" {
		return f.fromFile(stdin)
	}
	m, err := f.Single(nil, stdin)
	if err != nil {
		return nil, err
	}
	if err := f.CheckTargets([]*input.ScaledJob{m}); err != nil {
		return nil, err
	}
	configured, _, err := f.Triggers(m)
	if err != nil {
		return nil, m.Titled(err)
	}
	if f.interval%time.Second != 0 || f.interval < 0 || f.interval > math.MaxInt32*time.Second {
		return nil, input.Usagef("--polling-interval %s: use whole seconds", f.interval)
	}
	world := &Scenario{Policy: Policy{Release: f.release.Single(), Spec: m.KEDA.Spec}}
	world.Name, world.Seed, world.Duration = m.Name(), f.seed, simulation.Duration(f.duration)
	metrics := f.metrics(m, configured, &world.Policy)
	items := f.perJob(configured)
	world.Jobs = simulation.JobBehavior{Acknowledge: f.ack, ItemsPerJob: items, DrainQueue: items == 0, Wait: simulation.Duration(f.wait)}
	if err := f.readTimes(m, items, stdin); err != nil {
		return nil, err
	}
	f.assumeTimes(&world.Policy)
	problem := f.setQueues(world, m, configured, metrics)
	if f.trace != "" {
		if err := f.setTrace(world); err != nil {
			return nil, err
		}
	}
	if problem != nil {
		return nil, input.Usage(problem)
	}
	if err := world.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.File, err)
	}
	return world, nil
}

func (f *Flags) fromFile(stdin io.Reader) (*Scenario, error) {
	if len(f.Files) > 0 {
		return nil, input.Usagef("both --scenario and -f: the scenario has the policy")
	}
	var overruled []string
	for _, flag := range worldly {
		if f.changed(flag) {
			overruled = append(overruled, "--"+flag)
		}
	}
	if len(overruled) > 0 {
		return nil, input.Usagef("both --scenario and %s: the scenario says that", strings.Join(overruled, ", "))
	}
	source, err := input.ReadSource(f.scenario, stdin, input.MaxDocument)
	if err != nil {
		return nil, err
	}
	f.File = string(source.Data)
	return Read(source)
}

func (f *Flags) setQueues(world *Scenario, m *input.ScaledJob, configured []manifest.Trigger, metrics []string) (err error) {
	w := Workload{Arrivals: f.arrivals, Service: f.service, Startup: f.startup, WarmUp: f.warmUp, Metrics: metrics}
	err = errors.Join(w.Set(&world.Scenario, configured, "--"), checkNames("metric", f.metricValues, configured))
	for i := range world.Queues {
		q := &world.Queues[i]
		if arrivals := q.Arrivals.String(); arrivals != "" {
			f.assume(q.Name+" arrivals", arrivals+" for "+world.Duration.String(), "", "arrivals")
		}
		f.limit(q, triggers.LimitOf(configured[i].Type, world.Policy.Release.Version(), m.Spec.Spec.Triggers[i].Metadata))
	}
	if len(f.arrivals) == 0 && f.trace == "" {
		err = errors.Join(err, errors.New("nothing arrives; use --arrivals poisson:2/s, or --trace queue.csv"))
	}
	return err
}

// limit lets the partitions bound the metric of a trigger with such a limit.
func (f *Flags) limit(q *simulation.Queue, limit *triggers.Limit) {
	if limit == nil {
		return
	}
	value := "unlimited"
	if q.Partitions = f.Partitions; f.Partitions > 0 {
		value = fmt.Sprintf("one for each of %d %s", f.Partitions, limit.Noun())
	}
	f.assume(q.Name+" asks for Jobs", value, "number of partitions not given", "partitions")
	if limit.Even {
		f.Warnings = append(f.Warnings, q.Name+": ensureEvenDistributionOfPartitions is not simulated: KEDA rounds the Jobs up to a divisor of the partitions")
	}
}

// setTrace sets the arrivals of the first queue from a trace.
func (f *Flags) setTrace(world *Scenario) (err error) {
	arrivals, fractions, err := trace.Read(f.trace, f.traceAs)
	if err != nil {
		return err
	}
	if fractions && f.traceAs == "" {
		f.Warnings = append(f.Warnings, f.trace+": items has fractions, which add up to whole items; if they are items per second, use --trace-as rate")
	}
	i := max(0, slices.IndexFunc(world.Queues, func(q simulation.Queue) bool { return q.Watches == "" }))
	world.Queues[i].Trace = arrivals
	items := int64(0)
	for _, a := range arrivals {
		items += a.Items
	}
	f.assume(world.Queues[i].Name+" arrivals", fmt.Sprintf("%s in %s of %s", field.Plural(items, "item"), field.Plural(len(arrivals), "row"), filepath.Base(f.trace)), "", "trace")
	f.assumeTrace(arrivals)
	if !f.changed("duration") {
		world.Duration = 0
	}
	return nil
}

// perTrigger returns the value of a flag for a trigger: that after its name, or the last one without a name.
func perTrigger(values []string, trigger string) (value string, found bool) {
	for _, text := range values {
		i := strings.LastIndex(text, "=")
		if i >= 0 && text[:i] == trigger {
			return text[i+1:], true
		}
		if i < 0 {
			value, found = text, true
		}
	}
	return value, found
}

func checkNames(flag string, values []string, triggers []manifest.Trigger) (problems error) {
	for _, text := range values {
		if i := strings.LastIndex(text, "="); i >= 0 && input.Index(triggers, text[:i]) < 0 {
			problems = errors.Join(problems, fmt.Errorf("--%s: no trigger is called %q; use %s", flag, text[:i], input.TriggerNames(triggers)))
		}
	}
	return problems
}
