package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/results"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
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

const simulateLong = `Find out how long items wait and what the Jobs cost before you change a ScaledJob: it is played against a load
in virtual time. Compare policies on the same items, or search for the smallest maximum. The same command
prints the same numbers.

The load is a pattern (constant:2/s, poisson:2/s, bursts:100/10m or daily:1/s,5/s,2/s, a curve over the day),
or a recording of your queue, which is played as it was. Times are 30s, exp:30s, lognormal:30s,1m or
recorded:12s,30s. Every assumption is printed with the flag that changes it; --help-flags prints all flags.`

const simulateExample = `  $ scaledjob simulate orders.yaml --arrivals poisson:20/m --service exp:8s --search --objective 'p95<1m'
  Use the strategy default, min 1, max 4, every 10s: the smallest maximum that meets p95<1m …

  scaledjob simulate orders.yaml --trace queue.csv --service exp:30s --compare today,max=50,eager -o report.html`

// shownFlags are those that the help shows. --help-flags has all.
var shownFlags = []string{"arrivals", "trace", "service", "startup", "compare", "search", "objective", "price", "output", "help-flags", "help"}

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
	flags.IntVar(&s.seeds, "seeds", 0, "`number` of runs of each policy; by default from 10 to 200, until the intervals are narrow")
	flags.BoolVar(&s.resample, "resample", false, "also play shuffled copies of --trace, so that the intervals say what another such day may bring")
	flags.StringSliceVar(&s.compare, "compare", nil, "`policies` to compare, such as eager, 2.18, max=50, min=2, interval=10s, eager@2.18+max=50, other.yaml or today")
	flags.BoolVar(&s.search, "search", false, "find the smallest maximum that meets --objective, and print a patch")
	flags.StringVar(&s.objective, "objective", "", "`conditions` such as p95<2m,peak<=40; the exit status is 1 if one is missed for certain")
	flags.BoolVar(&s.strict, "strict", false, "exit with status 1 as well if the objective is too close to call")
	flags.BoolVar(&s.details, "details", false, "print the intervals")
	flags.Float64Var(&s.price, "price", 0, "`price` of a pod for an hour, for costs in money")
	flags.BoolVar(&s.loads, "loads", true, "also find the loads with which the policy keeps up")
	flags.StringVarP(&s.output, "output", "o", "", "`file` to write: .html is a page with pictures, .json has everything; a plain json prints that")
	explainScenario := flags.Bool("help-scenario", false, "print what a scenario file may say")
	explainFlags := flags.Bool("help-flags", false, "print all flags")
	flags.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownFlags, f.Name) })
	c.RunE = func(c *cobra.Command, args []string) error {
		if *explainScenario {
			_, err := fmt.Fprint(c.OutOrStdout(), scenario.Help)
			return err
		}
		if *explainFlags {
			flags.VisitAll(func(f *pflag.Flag) { f.Hidden = false })
			_, err := fmt.Fprint(c.OutOrStdout(), flags.FlagUsagesWrapped(report.Width(c.OutOrStdout())))
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
	if s.search && !slices.Contains(s.compare, scenario.Today) {
		s.compare = append([]string{scenario.Today}, s.compare...)
	}
	policies, err := s.Compared(world, s.compare)
	if err != nil {
		return err
	}
	if _, err := scenario.BuildAll(policies, len(world.Clusters)); err != nil {
		return err
	}
	if s.search && s.objective == "" {
		return input.Usagef("--search without --objective: use both, such as --objective 'p95<2m,peak<=40'")
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
	if s.price > 0 {
		s.Assumptions = append(s.Assumptions, scenario.Assumption{Name: "price of a pod-hour", Value: fmt.Sprint(s.price), Source: "given", Flag: "--price"})
	}
	r := &results.Findings{
		Scenario: world.Scenario, Policies: policies, Assumptions: s.Assumptions, File: s.File, Command: repeated(c), Price: s.price, Goals: goals, AllDetails: s.details,
	}
	if err := s.play(ctx, r, world, c.ErrOrStderr()); err != nil {
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

func (s *simulate) play(ctx context.Context, r *results.Findings, world *scenario.Scenario, stderr io.Writer) (err error) {
	ran, clear := progress(stderr)
	defer clear()
	o := study.Options{Seeds: s.seeds, Resample: s.resample, Ran: ran, Stop: ctx.Err}
	if s.search {
		if err := r.Find(world, &o); err != nil {
			return err
		}
	}
	built, err := scenario.BuildAll(r.Policies, len(world.Clusters))
	if err != nil {
		return err
	}
	if r.Capacities, err = study.Capacities(world.Scenario, built, o); err != nil {
		return err
	}
	if r.Study, err = study.Replicate(world.Scenario, built, o); err != nil {
		return err
	}
	if s.loads && !s.search {
		if err := r.Capacities[r.Best()].Measure(o); err != nil {
			return err
		}
	}
	r.Judge(world.Jobs.Startup.Mean().Seconds())
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

// progress shows on a terminal how many runs were played, until clear removes the line.
func progress(to io.Writer) (ran, clear func()) {
	file := report.Terminal(to)
	if file == nil {
		return func() {}, func() {}
	}
	var runs atomic.Int64
	return func() { fmt.Fprintf(file, "\rsimulating: %d runs ", runs.Add(1)) }, func() { fmt.Fprint(file, "\r\x1b[K") }
}
