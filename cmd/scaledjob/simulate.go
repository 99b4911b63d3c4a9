package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

type simulate struct {
	input.ManifestFlags
	input.QueueFlags
	scenario  string
	arrivals  []string
	trace     string
	traceAs   string
	service   string
	startup   string
	duration  time.Duration
	metric    string
	ack       string
	items     int64
	seed      uint64
	seeds     int
	compare   []string
	release   input.Releases
	search    bool
	objective string
	price     float64
	loads     bool
	output    string
	interval  time.Duration
	metricAge time.Duration
	listAge   time.Duration
	faults    []string
	dumps     []string
	measured  string

	// changed reports whether a flag was given.
	changed     func(flag string) bool
	assumptions []assumption
	recorded    string // the source of service and start times, if not the flags
	began       time.Duration
}

// worldly are the flags that a scenario file replaces.
var worldly = []string{"arrivals", "trace", "trace-as", "service", "startup", "duration", "metric", "acknowledge", "name", "items-per-job", "seed",
	"release", "target", "polling-interval", "metric-age", "list-age", "fault", "jobs"}

func newSimulate() *cobra.Command {
	s := &simulate{}
	c := &cobra.Command{
		Use:   "simulate FILE --arrivals poisson:2/s --service exp:30s",
		Short: "Play a ScaledJob against a workload, and compare strategies",
		Long: `Play a ScaledJob against a workload in virtual time, compare strategies or releases on the same items, or search
for better parameters. The same command gives the same numbers.

Arrivals are constant:2/s, poisson:2/s, bursts:100/10m (all at once, every ten minutes) or daily:1/s,5/s,2/s (a curve
over the day); times are 30s, exp:30s, lognormal:30s,1m (mean, deviation) or recorded:12s,30s. A trace is CSV or
JSON with time, items and service, or the answer of a Prometheus range query; times are RFC 3339, Unix times, or offsets.
A measured queue length (--measured) has the same forms, and service and start times can be those of real Jobs (--jobs).

What the metric counts, the items of a Job and the polling interval are read from the manifest; the assumptions are printed.

Without -o a table and a verdict are printed; -o writes a report that needs no network (report.html), pictures
(run.svg), every poll (run.csv) or all of it (run.json).`,
		Example: `  scaledjob simulate orders.yaml --arrivals poisson:2/s --service exp:30s --startup 20s

  # which strategy?
  scaledjob simulate orders.yaml --arrivals bursts:200/30m --service 45s --compare default,accurate,eager -o report.html

  # as KEDA does it, before and after an upgrade
  scaledjob simulate orders.yaml --trace queue.csv --service exp:30s --compare 2.18,2.21

  # my own data: arrivals and queue length from Prometheus, times of real Jobs
  scaledjob simulate orders.yaml --trace published.json --measured queue.json --jobs jobs.json

  # an API server that rejects creates, and a list of Jobs that is 10 s old
  scaledjob simulate orders.yaml --arrivals poisson:2/s --fault rejects:10m-20m --list-age 10s

  # better parameters
  scaledjob simulate orders.yaml --arrivals poisson:2/s --service exp:30s --search --objective 'p95<2m'

  # anything that flags cannot say: several clusters, outages, failures; scaledjob simulate --help-scenario
  scaledjob simulate --scenario scenario.yaml`,
	}
	flags := c.Flags()
	s.ManifestFlags.Add(c)
	s.AddTarget(c)
	s.release.Add(c, "release", "rules of this")
	flags.StringVar(&s.scenario, "scenario", "", "`file` with a scenario in YAML, instead of -f and the flags about the workload")
	flags.StringArrayVar(&s.arrivals, "arrivals", nil, "when items arrive, `[trigger=]pattern:rate`; once for each trigger")
	flags.StringVar(&s.trace, "trace", "", "`file` of the times at which items arrived, for the first trigger: CSV, JSON, or a Prometheus range query")
	flags.StringVar(&s.traceAs, "trace-as", "", "`rate|counter`: meaning of a Prometheus series; by default from its name")
	flags.StringVar(&s.service, "service", "30s", "how long a Job works on an item: a `time` or distribution")
	flags.StringVar(&s.startup, "startup", "5s", "how long a pod takes to start: a `time` or distribution")
	flags.DurationVar(&s.duration, "duration", time.Hour, "`time` for which items arrive; with --trace, by default until its end")
	flags.StringVar(&s.metric, "metric", "", "what the triggers count: `all|waiting`, with or without the items being worked on; by default from the manifest")
	flags.DurationVar(&s.interval, "polling-interval", 0, "`time` from poll to poll; by default that of the manifest")
	flags.DurationVar(&s.metricAge, "metric-age", 0, "age of a metric when a poll reads it, a `time`")
	flags.DurationVar(&s.listAge, "list-age", 0, "age of the list of Jobs when a poll reads it, a `time`")
	flags.StringArrayVar(&s.faults, "fault", nil, "`kind:from-until` such as metric:10m-20m; metric (cannot be read), rejects (creates are rejected), unreachable, noStart or down; may be repeated")
	flags.StringArrayVar(&s.dumps, "jobs", nil, "`file` with real Jobs and pods, as kubectl get jobs,pods -o json prints them, for service and start times; may be repeated")
	flags.StringVar(&s.measured, "measured", "", "`file` with the measured queue length over time, to compare with: CSV, JSON, or a Prometheus range query")
	flags.StringVar(&s.ack, "acknowledge", "end", "when a Job tells the queue that it has an item: `end|start` of the work")
	flags.Int64Var(&s.items, "items-per-job", 0, "`items` that a Job does before it ends; 0 is until the queue is empty; by default the target of the trigger")
	flags.Uint64Var(&s.seed, "seed", 1, "first seed of the random numbers")
	flags.IntVar(&s.seeds, "seeds", 0, "`number` of seeds under which each policy runs; by default from 10 to 200, until the intervals are narrow")
	flags.StringSliceVar(&s.compare, "compare", nil, "`policies` to compare: strategies, releases such as 2.18, spec, or both such as eager@2.18")
	flags.BoolVar(&s.search, "search", false, "try strategies and parameters, and propose the smallest maximum that meets --objective")
	flags.StringVar(&s.objective, "objective", "", "`conditions` such as p95<2m,peak<=40, on the wait (mean, p50, p95, p99, max), idle, undone, peak or queue")
	flags.Float64Var(&s.price, "price", 0, "`price` of a pod for an hour: the report has the cost of each policy")
	flags.BoolVar(&s.loads, "loads", true, "also find the other loads at which the queue grows")
	flags.StringVarP(&s.output, "output", "o", "", "`file` to write: .html, .svg, .csv or .json; a plain json prints that")
	explainScenario := flags.Bool("help-scenario", false, "print what a scenario file may say")
	s.changed = flags.Changed
	c.RunE = func(c *cobra.Command, args []string) error {
		if *explainScenario {
			_, err := fmt.Fprint(c.OutOrStdout(), scenario.Help)
			return err
		}
		if c.Flags().Changed("compare") && len(s.compare) == 0 {
			return input.Usagef("--compare: found no policy; use strategies, or releases such as 2.18")
		}
		s.Files = append(s.Files, args...)
		return s.run(c.Context(), c)
	}
	_ = c.MarkFlagFilename("scenario", "yaml", "yml", "json")
	_ = c.MarkFlagFilename("trace", "csv")
	return c
}

func (s *simulate) run(ctx context.Context, c *cobra.Command) error {
	write, err := s.writer()
	if err != nil {
		return err
	}
	world, err := s.read(c.InOrStdin())
	if err != nil {
		return err
	}
	policies, err := scenario.Compared(world.Policy, s.compare)
	if err != nil {
		return err
	}
	built, err := scenario.BuildAll(policies, len(world.Clusters))
	if err != nil {
		return err
	}
	if s.seeds < 0 {
		return input.Usagef("--seeds %d: use 0 or more", s.seeds)
	}
	goals, err := parseGoals(s.objective)
	if err != nil {
		return err
	}
	if s.search && goals == nil {
		return input.Usagef("--search without --objective: use both, such as --objective 'p95<2m,peak<=40'")
	}
	r := &findings{Scenario: world.Scenario, Policies: policies, Assumptions: s.assumptions, Command: repeated(c), Price: s.price, goals: goals}
	bar := progress(c.ErrOrStderr())
	o := study.Options{Seeds: s.seeds, Progress: bar.part(0, 0.05), Stop: ctx.Err}
	if r.Capacities, err = study.Capacities(world.Scenario, built, o); err != nil {
		return err
	}
	bar.say(r.head())
	o.Progress = bar.part(0.05, 0.5)
	if r.Study, err = study.Replicate(world.Scenario, built, o); err != nil {
		return err
	}
	for i := range r.Capacities {
		if !s.loads {
			break
		}
		o.Progress = bar.part(0.5+0.3*float64(i)/float64(len(built)), 0.5+0.3*float64(i+1)/float64(len(built)))
		if err := r.Capacities[i].Measure(o); err != nil {
			return err
		}
	}
	r.Objectives = judged(r.Study, goals)
	r.Verdict = append(r.head(), r.results()...)
	r.Verdict = append(r.Verdict, verdict(r.Study, world.Jobs.Startup.Mean().Seconds())...)
	if err := s.compareWithMeasured(r); err != nil {
		return err
	}
	if s.search {
		o.Progress = bar.part(0.8, 1)
		if err := r.find(world, goals, o); err != nil {
			return err
		}
	}
	bar.part(1, 1)(1)
	return write(c.OutOrStdout(), r)
}

// find searches the policy with the smallest maximum that meets the goals: first among some
// maxima, and then between the one that was found and the one before.
func (r *findings) find(s *scenario.Scenario, goals []goal, o study.Options) error {
	load := r.Capacities[0].Load
	interval := 30.0
	if n := s.Policy.Spec.PollingInterval; n != nil {
		interval = float64(*n)
	}
	conditions := make([]study.Condition, len(goals))
	for i, g := range goals {
		conditions[i] = g.Condition
	}
	most := load.Arrivals * (load.Service + s.Jobs.Startup.Mean().Seconds() + interval)
	from, to, candidates, attempts := int64(1), int64(min(max(2*most, 10), 1e5))+1, 0, 0
	for {
		some := scenario.Maxima(from, to)
		policies := scenario.Tried(s.Policy, load.Busy, some)
		built, err := scenario.BuildAll(policies, len(s.Clusters))
		if err != nil {
			return err
		}
		found, err := study.Search(s.Scenario, built, conditions, o)
		if err != nil {
			return err
		}
		candidates += len(policies)
		attempts += found.Tried
		r.Search = &searched{Found: found, Candidates: candidates}
		r.Search.Tried = attempts
		if found.Policy < 0 {
			break
		}
		r.Search.Name = policies[found.Policy].Name
		i := slices.Index(some, *policies[found.Policy].Spec.MaxReplicaCount)
		if i == 0 || some[i]-some[i-1] < 2 {
			break
		}
		from, to = int64(some[i-1])+1, int64(some[i])
	}
	r.Search.describe(goals)
	r.Verdict = append(r.Verdict, r.Search.Line)
	return nil
}

// repeated returns the command with the flags that were given, without the output.
func repeated(c *cobra.Command) string {
	words := []string{c.CommandPath()}
	word := func(text string) {
		if strings.ContainsFunc(text, func(r rune) bool {
			return !strings.ContainsRune("-_./:=,@%+", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		words = append(words, text)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				word("--" + f.Name + "=" + v)
			}
		} else if f.Name != "output" {
			word("--" + f.Name + "=" + f.Value.String())
		}
	})
	for _, arg := range c.Flags().Args() {
		word(arg)
	}
	return strings.Join(words, " ")
}

// A bar shows the progress on a terminal, and nowhere else.
type bar struct {
	*progressbar.ProgressBar
	to io.Writer
}

func progress(to io.Writer) *bar {
	file := report.Terminal(to)
	if file == nil {
		return &bar{}
	}
	return &bar{to: file, ProgressBar: progressbar.NewOptions(1000, progressbar.OptionSetWriter(file), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetDescription("simulating"), progressbar.OptionThrottle(100*time.Millisecond))}
}

// part returns the progress of a part of the work.
func (b *bar) part(from, to float64) func(part float64) error {
	return func(part float64) error {
		if b.ProgressBar != nil {
			_ = b.Set(int((from + (to-from)*part) * 1000))
		}
		return nil
	}
}

// say prints lines above the bar, so that a user who waits has a first answer.
func (b *bar) say(lines []string) {
	if b.ProgressBar != nil {
		_ = b.Clear()
		fmt.Fprintln(b.to, strings.Join(lines, "\n"))
	}
}

// read returns the scenario of the file, or of the flags.
func (s *simulate) read(stdin io.Reader) (*scenario.Scenario, error) {
	if s.scenario != "" {
		if len(s.Files) > 0 {
			return nil, input.Usagef("both --scenario and -f: the scenario has the policy")
		}
		var overruled []string
		for _, flag := range worldly {
			if s.changed(flag) {
				overruled = append(overruled, "--"+flag)
			}
		}
		if len(overruled) > 0 {
			return nil, input.Usagef("both --scenario and %s: the scenario says that", strings.Join(overruled, ", "))
		}
		source, err := input.ReadSource(s.scenario, stdin, input.MaxDocument)
		if err != nil {
			return nil, err
		}
		return scenario.Read(source)
	}
	m, err := s.One(nil, stdin)
	if err != nil {
		return nil, err
	}
	if err := s.CheckTargets([]*input.ScaledJob{m}); err != nil {
		return nil, err
	}
	triggers, _, err := s.Triggers(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.File, err)
	}
	world := &scenario.Scenario{Policy: scenario.Policy{Release: s.release.One(), Spec: m.KEDA.Spec}}
	world.Name, world.Seed, world.Duration = m.Name(), s.seed, simulation.Duration(s.duration)
	if s.interval%time.Second != 0 || s.interval < 0 || s.interval > math.MaxInt32*time.Second {
		return nil, input.Usagef("--polling-interval %s: use whole seconds", s.interval)
	}
	metrics := make([]simulation.Metric, len(triggers))
	for i, t := range triggers {
		metrics[i] = s.counts(m, i, t)
	}
	items := s.perJob(triggers)
	world.Jobs = simulation.JobBehavior{Acknowledge: simulation.Acknowledge(s.ack), ItemsPerJob: items, DrainQueue: items == 0}
	if err := s.readTimes(m, items, stdin); err != nil {
		return nil, err
	}
	s.assumeTimes(&world.Policy)
	var problems []error
	text := func(flag, value string, to interface{ UnmarshalText([]byte) error }) {
		if err := to.UnmarshalText([]byte(value)); err != nil {
			problems = append(problems, fmt.Errorf("--%s %q: %w", flag, value, err))
		}
	}
	text("startup", s.startup, &world.Jobs.Startup)
	for i, t := range triggers {
		q := simulation.Queue{
			Name: t.Name, Target: t.Target, ActivationThreshold: t.ActivationThreshold, Metric: metrics[i], Staleness: simulation.Duration(s.metricAge),
		}
		text("service", s.service, &q.Service)
		world.Queues = append(world.Queues, q)
	}
	if len(s.arrivals) == 0 && s.trace == "" {
		problems = append(problems, errors.New("nothing arrives: want --arrivals poisson:2/s, or --trace queue.csv"))
	}
	for i, a := range s.arrivals {
		at := i
		name, pattern, named := strings.Cut(a, "=")
		if !named {
			pattern = a
		} else if at = input.Index(triggers, name); at < 0 {
			problems = append(problems, fmt.Errorf("--arrivals %q: no trigger is called %q: want %s", a, name, input.TriggerNames(triggers)))
			continue
		}
		if at >= len(triggers) {
			problems = append(problems, fmt.Errorf("--arrivals %q: there are only the triggers %s", a, input.TriggerNames(triggers)))
			continue
		}
		text("arrivals", pattern, &world.Queues[at].Arrivals)
	}
	if s.trace != "" {
		trace, began, err := trace.Read(s.trace, s.traceAs)
		if err != nil {
			return nil, err
		}
		s.began = began
		world.Queues[0].Trace = trace
		s.assumeTrace(trace)
		if !s.changed("duration") {
			world.Duration = 0
		}
	}
	if s.listAge != 0 {
		world.Clusters = []simulation.Cluster{{ListAge: simulation.Duration(s.listAge)}}
	}
	for _, fault := range s.faults {
		problems = append(problems, addFault(&world.Scenario, fault))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, input.Usage(err)
	}
	if err := world.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.File, err)
	}
	return world, nil
}

// addFault adds a fault such as rejects:10m-20m.
func addFault(s *simulation.Scenario, text string) error {
	kind, span, _ := strings.Cut(text, ":")
	from, until, _ := strings.Cut(span, "-")
	var o simulation.Outage
	if o.From.UnmarshalText([]byte(from)) != nil || o.Until.UnmarshalText([]byte(until)) != nil || o.Until <= o.From || kind == "" {
		return fmt.Errorf("--fault %q: use a kind and two times, such as metric:10m-20m", text)
	}
	if kind == "metric" {
		for i := range s.Queues {
			s.Queues[i].Outages = append(s.Queues[i].Outages, o)
		}
		return nil
	}
	o.Kind = simulation.OutageKind(kind)
	if !slices.Contains([]simulation.OutageKind{simulation.Rejects, simulation.Unreachable, simulation.NoStart, simulation.Down}, o.Kind) {
		return fmt.Errorf("--fault %q: use metric, rejects, unreachable, noStart or down", text)
	}
	if len(s.Clusters) == 0 {
		s.Clusters = make([]simulation.Cluster, 1)
	}
	s.Clusters[0].Outages = append(s.Clusters[0].Outages, o)
	return nil
}

// Findings are the results of a simulation. All numbers of a policy are of the same replications.
type findings struct {
	Scenario    simulation.Scenario `json:"scenario"`
	Policies    []scenario.Policy   `json:"policies"`
	Assumptions []assumption        `json:"assumptions,omitempty"`
	Study       *study.Study        `json:"study"`
	Measured    []picture.Sample    `json:"measured,omitempty"`
	Capacities  []study.Capacity    `json:"capacities"`
	Objectives  []goalResult        `json:"objectives,omitempty"`
	Search      *searched           `json:"search,omitempty"`
	Price       float64             `json:"price,omitempty"` // of a pod for an hour
	Command     string              `json:"command"`         // to repeat the run
	Verdict     []string            `json:"verdict"`

	goals []goal
}

// head returns the lines that decide whether the policies sustain the load.
func (r *findings) head() (lines []string) {
	for i := range r.Capacities {
		lines = append(lines, capacityLine(&r.Capacities[i], &r.Scenario))
	}
	return lines
}

// results returns a line for each objective of each policy.
func (r *findings) results() (lines []string) {
	for i := range r.Objectives {
		lines = append(lines, r.goals[i%len(r.goals)].lineOf(&r.Objectives[i])+".")
	}
	return lines
}

// writer is chosen before anything is played: a wrong name should not cost
// minutes.
func (s *simulate) writer() (func(stdout io.Writer, r *findings) error, error) {
	if s.output == "" {
		return printTable, nil
	}
	if s.output == "json" {
		return func(stdout io.Writer, r *findings) error { return json.NewEncoder(stdout).Encode(r) }, nil
	}
	formats := map[string]func(io.Writer, *findings) error{
		".html": writeHTML, ".svg": writeSVG, ".csv": writeCSV,
		".json": func(w io.Writer, r *findings) error { return json.NewEncoder(w).Encode(r) },
	}
	extension := s.output[max(0, strings.LastIndexByte(s.output, '.')):]
	format, ok := formats[extension]
	if !ok {
		return nil, input.Usagef("-o %q: want a file that ends with .html, .svg, .csv or .json, or json", s.output)
	}
	return func(stdout io.Writer, r *findings) error {
		f, err := os.Create(s.output)
		if err != nil {
			return err
		}
		if err := errors.Join(format(f, r), f.Close()); err != nil {
			return err
		}
		if err := printTable(stdout, r); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "\nwritten: %s\n", s.output)
		return err
	}, nil
}
