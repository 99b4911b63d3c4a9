// Scaledjob tells what a KEDA ScaledJob does and why, without a cluster: how many
// Jobs it creates, which it deletes, what is wrong with it, and what an upgrade of
// KEDA changes.
//
//	go install ./cmd/scaledjob
//	scaledjob explain -f scaledjob.yaml --queue 12 --running 3 --pending 1 --as keda@2.21
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses, as those of diff and grep.
const (
	success = iota
	found   // what lint, diff and oracle look for
	trouble // nothing could be told
)

// errFound ends a command whose output says all.
var errFound = errors.New("found")

// A usageError is about the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is main with its surroundings as arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return success
	case errors.Is(err, errFound):
		return found
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "scaledjob: %v\nSee '%s --help'.\n", err, command.CommandPath())
		return trouble
	}
	fmt.Fprintf(stderr, "scaledjob: %v\n", err)
	return trouble
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "scaledjob",
		Short:         "Tells what a KEDA ScaledJob does and why, without a cluster",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newExplain(), newDiff(), newLint(), newPrune(), newRollout(), newOracle(), newSimulate(), newVersion())
	return root
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasParent() {
		return usagef("unknown command %q", args[0])
	}
	return usagef("unexpected argument %q: all are flags", args[0])
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		Run:   func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), version()) },
	}
}

// version is that of the module, and the commit where it was built from one.
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
