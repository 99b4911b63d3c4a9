package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/results"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

type simulate struct {
	scenario.Flags
	seeds     int
	resample  bool
	compare   []string
	search    bool
	objective string
	strict    bool
	price     float64
	loads     bool
	details   bool
	output    string
}

const simulateLong = `Play a ScaledJob against a workload in virtual time, compare policies on the same items, or search for
better parameters. The same command gives the same numbers.

Arrivals are constant:2/s, poisson:2/s, bursts:100/10m or daily:1/s,5/s,2/s (a curve over the day), or a
trace: CSV or JSON with time, items and service, or a Prometheus range query. A trace is played as it
was recorded; --resample also shuffles it. Times are 30s, exp:30s, lognormal:30s,1m or recorded:12s,30s,
or those of real Jobs (--jobs). What the metric counts, the items of a Job and the interval come from
the manifest. Each assumption is printed with its flag.

With --objective the exit status is 1 if a policy misses it for certain, or --search finds none; too close to
call is a warning, or 1 with --strict. Without -o a verdict and a table are printed; -o writes report.html,
a picture (run.svg) or everything (run.json).`

const simulateExample = `  $ scaledjob simulate orders.yaml --arrivals poisson:20/m --service exp:8s --search --objective 'p95<1m'
  Use default, min 1, max 4, every 10s: the smallest maximum that meets p95<1m …

  scaledjob simulate orders.yaml --trace queue.csv --service exp:30s --compare 2.18,2.21,max=50
  scaledjob simulate orders.yaml --arrivals bursts:200/30m --service 45s --compare default,eager -o report.html
  scaledjob simulate --scenario scenario.yaml       # clusters, outages, failures: --help-scenario`

func newSimulate() *cobra.Command {
	s := &simulate{}
	c := &cobra.Command{
		Use:     "simulate FILE --arrivals poisson:2/s --service exp:30s",
		Short:   "Play a ScaledJob against a workload, and compare strategies",
		Long:    simulateLong,
		Example: simulateExample,
	}
	flags := c.Flags()
	s.Flags.Add(c)
	flags.IntVar(&s.seeds, "seeds", 0, "`number` of seeds under which each policy runs; by default from 10 to 200, until the intervals are narrow")
	flags.BoolVar(&s.resample, "resample", false, "also play shuffled copies of --trace, so that the intervals say what another such day may bring")
	flags.StringSliceVar(&s.compare, "compare", nil, "`policies` to compare: strategies, releases such as 2.18, spec, both such as eager@2.18, settings such as min=2, max=50, interval=10s or eager+max=50, files with other manifests, and today")
	flags.BoolVar(&s.search, "search", false, "try strategies and parameters, and propose the smallest maximum that meets --objective")
	flags.StringVar(&s.objective, "objective", "", "`conditions` such as p95<2m,peak<=40, on "+results.Goals)
	flags.BoolVar(&s.strict, "strict", false, "fail as well if the objective is too close to call")
	flags.BoolVar(&s.details, "details", false, "print the intervals, and their reasons")
	flags.Float64Var(&s.price, "price", 0, "`price` of a pod for an hour: the report has the cost of each policy")
	flags.BoolVar(&s.loads, "loads", true, "also find the other loads at which the queue grows")
	flags.StringVarP(&s.output, "output", "o", "", "`file` to write: .html, .svg or .json; a plain json prints that")
	explainScenario := flags.Bool("help-scenario", false, "print what a scenario file may say")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *explainScenario {
			_, err := fmt.Fprint(c.OutOrStdout(), scenario.Help)
			return err
		}
		if c.Flags().Changed("compare") && len(s.compare) == 0 {
			return input.Usagef("--compare: found no policy; use strategies, or releases such as 2.18")
		}
		if len(args) == 2 && len(s.Files) == 0 && s.compare == nil { // two manifests are compared
			s.compare, args = args[1:], args[:1]
		}
		if s.Files = append(s.Files, args...); len(s.Files) > 0 {
			s.Repository, _ = input.NewRepository(nil) // without a pattern that could be wrong
			defer s.Repository.Summary(c.ErrOrStderr(), c.CommandPath())
		}
		return s.run(c.Context(), c)
	}
	return c
}

func (s *simulate) run(ctx context.Context, c *cobra.Command) error {
	write, err := results.Writer(s.output)
	if err != nil {
		return err
	}
	world, err := s.Read(c.InOrStdin())
	if err != nil {
		return err
	}
	policies, err := s.Compared(world, s.compare)
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
	if !(s.price >= 0 && s.price <= 1e9) {
		return input.Usagef("--price %v: use 0 to 1e9", s.price)
	}
	goals, err := results.ParseGoals(s.objective)
	if err != nil {
		return err
	}
	if s.search && goals == nil {
		return input.Usagef("--search without --objective: use both, such as --objective 'p95<2m,peak<=40'")
	}
	r := &results.Findings{
		Scenario: world.Scenario, Policies: policies, Assumptions: s.Assumptions, Command: repeated(c), Price: s.price, Goals: goals, AllDetails: s.details,
	}
	if err := s.play(ctx, r, world, built, progress(c.ErrOrStderr())); err != nil {
		return err
	}
	for _, warning := range s.Warnings {
		c.PrintErrln("warning: " + warning)
	}
	if err := write(c.OutOrStdout(), r); err != nil {
		return err
	}
	missed, close := r.Missed()
	if close && !missed {
		c.PrintErrln("warning: whether the objective is met is too close to call; use more --seeds, or --strict to fail")
	}
	return input.Outcome(missed || (close && s.strict), nil)
}

// play simulates the policies, and adds what was found.
func (s *simulate) play(ctx context.Context, r *results.Findings, world *scenario.Scenario, built []simulation.Autoscaler, bar *bar) (err error) {
	defer bar.clear()
	o := study.Options{Seeds: s.seeds, Resample: s.resample, Progress: bar.part(0, 0.05), Stop: ctx.Err}
	if r.Capacities, err = study.Capacities(world.Scenario, built, o); err != nil {
		return err
	}
	o.Progress = bar.part(0.05, 0.5)
	if r.Study, err = study.Replicate(world.Scenario, built, o); err != nil {
		return err
	}
	for i := 0; s.loads && i < len(r.Capacities); i++ {
		o.Progress = bar.part(0.5+0.3*float64(i)/float64(len(built)), 0.5+0.3*float64(i+1)/float64(len(built)))
		if err := r.Capacities[i].Measure(o); err != nil {
			return err
		}
	}
	r.Judge(world.Jobs.Startup.Mean().Seconds())
	if s.search {
		o.Progress = bar.part(0.8, 1)
		return r.Find(world, o)
	}
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
type bar struct{ *progressbar.ProgressBar }

func progress(to io.Writer) *bar {
	file := report.Terminal(to)
	if file == nil {
		return &bar{}
	}
	return &bar{progressbar.NewOptions(1000, progressbar.OptionSetWriter(file), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetDescription("simulating"), progressbar.OptionThrottle(100*time.Millisecond))}
}

// part returns the progress of a part of the work.
func (b *bar) part(from, to float64) func(part float64) {
	return func(part float64) {
		if b.ProgressBar != nil {
			_ = b.Set(int((from + (to-from)*part) * 1000))
		}
	}
}

// clear removes the bar before anything else is printed.
func (b *bar) clear() {
	if b.ProgressBar != nil {
		_ = b.Clear()
	}
}
