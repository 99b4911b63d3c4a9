// Scaledjob explains, checks, compares and simulates KEDA ScaledJobs.
//
//	go install github.com/scaledjob/scaledjob/cmd/scaledjob@latest
//	scaledjob explain scaledjob.yaml --queue 12 --running 3 --pending 1
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// memory is the size at which the collector of garbage works harder. The bounds of manifests, logs and dumps keep the
// command below it; GOMEMLIMIT replaces it.
const memory = 192 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if <-signals == syscall.SIGTERM {
			stop(errTerminated)
		}
		stop(nil)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses.
const (
	success     = 0
	found       = 1   // lint, diff, oracle, conform or test found a problem or a difference
	trouble     = 2   // wrong usage, or an input that cannot be read
	interrupted = 130 // Ctrl-C
	terminated  = 143 // SIGTERM
)

// errTerminated is the cause of a context that SIGTERM ended.
var errTerminated = errors.New("terminated")

// run is main with its surroundings as arguments. It does not wait for a command that
// is interrupted: a read of standard input does not end.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl_complete-") { // kubectl asks for completions
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	out, said := report.NewWriter(stdout), report.NewWriter(stderr)
	root.SetOut(out)
	root.SetErr(said)
	if report.Terminal(stderr) != nil {
		report.Fit(said, 0)
	}
	type result struct {
		command *cobra.Command
		err     error
	}
	done := make(chan result, 1)
	go func() {
		command, err := execute(ctx, root, args)
		done <- result{command, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() == nil {
			status := finish(said, r.command, intact(r.err, out.Flush()))
			_ = said.Flush()
			return status
		}
	case <-ctx.Done():
		select { // a command that has started a program stops it
		case <-done:
		case <-time.After(100 * time.Millisecond):
		}
	}
	if context.Cause(ctx) == errTerminated {
		_, _ = io.WriteString(stderr, "scaledjob: terminated\n")
		return terminated
	}
	_, _ = io.WriteString(stderr, "scaledjob: interrupted\n")
	return interrupted
}

// intact returns the error of a command, or of its output: no command may take a result that
// was not written for a success.
func intact(err, output error) error {
	if output != nil && (err == nil || errors.Is(err, input.ErrFound) || errors.Is(err, output)) {
		return fmt.Errorf("the output is incomplete: %w", output)
	}
	return err
}

// execute checks the name of the command before its flags, which belong to no command
// if the name is wrong.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // which takes the output as it is now
	for _, group := range root.Commands() {
		for _, c := range group.Commands() {
			c.Args = input.NoArguments // in place of cobra's, with words of its own
		}
	}
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return root.ExecuteContextC(ctx)
	}
	group, remaining, err := root.Find(args)
	if err != nil {
		group, remaining = root, args
	}
	// After a flag it may be the flag's value.
	if group.HasSubCommands() && len(remaining) > 0 && !strings.HasPrefix(remaining[0], "-") {
		return group, unknown(group, remaining[0])
	}
	return root.ExecuteContextC(ctx)
}

// unknown names the command of a group that was probably meant, or all of them.
func unknown(group *cobra.Command, name string) error {
	var commands, meant []string
	for _, c := range group.Commands() {
		commands = append(commands, c.Name())
		if name != "" && strings.HasPrefix(c.Name(), name) {
			meant = append(meant, c.Name())
		}
	}
	if near := triggers.Nearest(name, commands); near != "" && len(meant) == 0 {
		meant = []string{near}
	}
	if len(meant) == 0 {
		meant = commands
	}
	return input.Usagef("unknown command %q; use %s", name, strings.Join(meant, ", "))
}

// finish prints each problem once, and returns the exit status.
func finish(stderr io.Writer, command *cobra.Command, err error) int {
	switch {
	case err == nil:
		return success
	case errors.Is(err, input.ErrFound):
		return found
	}
	said := map[string]bool{}
	for _, problem := range input.Problems(err) {
		if line := report.Clean(plainText(problem.Error())); !said[line] {
			said[line] = true
			fmt.Fprintf(stderr, "scaledjob: %s\n", line)
		}
	}
	if usage := (input.UsageError{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "See '%s --help'.\n", command.CommandPath())
	}
	return trouble
}

// parserWords are words of parsers, and words for people instead.
var parserWords = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?:invalid map key|unsupported map key of type): .*`), "found a key that is not a string; use a string"},
	{regexp.MustCompile(`cannot unmarshal (\w+)[^\n]* into Go (?:value|struct field) ?(?:\w+\.)?(?:of type )?(?:struct \{[^}]*\}|\S*)(?: of type \S+)?`), "found a value of type $1"},
	{regexp.MustCompile(`couldn't get version/kind; json parse error: | is registered for version "[^"]*" in scheme "[^"]*"`), ""},
	{regexp.MustCompile(`(^|\s)(?:json|yaml): (?:unmarshal errors:\n\s+)?`), "$1"},
	{regexp.MustCompile(`strconv\.\w+: parsing `), ""},
	{regexp.MustCompile(`cannot decode !!(\w+) .* as a !!(\w+)`), "found a value of type $1; use one of type $2"},
}

// plainText returns a message without the names and types of a parser.
func plainText(text string) string {
	for _, w := range parserWords {
		text = w.pattern.ReplaceAllString(text, w.instead)
	}
	return text
}

// help writes the help of a command in at most 100 columns. A template of one's own would add 8 MB to the
// command: text/template keeps every method of every type.
func help(c *cobra.Command, _ []string) {
	out := c.OutOrStdout()
	columns := min(report.Width(out), report.Columns)
	usage := c.UsageString()
	for _, flags := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		if long := strings.TrimSpace(flags.FlagUsages()); long != "" {
			usage = strings.Replace(usage, long, strings.TrimSpace(flags.FlagUsagesWrapped(columns)), 1)
		}
	}
	fmt.Fprintf(out, "%s\n\n", report.Prose(cmp.Or(c.Long, c.Short), columns))
	for line := range strings.Lines(usage) {
		_, _ = io.WriteString(out, strings.Join(report.Fitted(line, columns), "\n"))
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "scaledjob",
		Short:         "Explain, check, compare, test and simulate KEDA ScaledJobs",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl scaledjob"}
	}
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(input.FlagError)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newExplain(), newDiff(), newLint(), newOracle(), newConform(), newSimulate(), newTest(), newNext(), newWhy(), newVersion(), newMan())
	for _, c := range root.Commands() { // examples that can be copied
		c.Example = called.ReplaceAllString(c.Example, "${1}"+root.CommandPath()+" ")
	}
	return root
}

// called matches the command at the start of a line of a shell, and behind a pipe.
var called = regexp.MustCompile(`(?m)(^ *|\| )scaledjob `)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				names = append(names, sub.Name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			command, remaining, err := c.Root().Find(args)
			if !command.HasSubCommands() && len(remaining) > 0 {
				return input.NoArguments(command, remaining)
			}
			if err != nil || len(remaining) > 0 {
				return unknown(command, cmp.Or(slices.Concat(remaining, args)...))
			}
			command.InitDefaultHelpFlag()
			return command.Help()
		},
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  input.NoArguments,
		Run:   func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), version()) },
	}
}

// version returns the version of the module, and the commit if it was built from a clone.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v += " " + s.Value
		}
	}
	return v + " " + info.GoVersion
}
