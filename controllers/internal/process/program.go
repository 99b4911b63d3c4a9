// Package process holds the parts of a controller that do not depend on its subject: flags,
// access to the cluster, metrics and probes, lease, logs, shutdown.
//
// A controller embeds [Options] in a struct with its own flags, which is its [Program]:
//
//	func main() { process.Main(newOptions(), klog.SetSlogLogger) }
//
//	func (o *options) Run(ctx context.Context, log *slog.Logger) error {
//		clients, err := o.Clients(ctx, log, limits, resources) // and installs the resources
//		close, err := o.Serve(synced, process.Metrics(collector), log)
//		defer close()
//		return clients.Lease.Keep(ctx, act) // until ctx ends, or act fails
//	}
package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/field"
)

// A Program is a controller with its flags. It embeds [Options]. Its Flags and Check call
// the methods of Options.
type Program interface {
	// Flags adds all flags, with their defaults.
	Flags(flags *flag.FlagSet)
	// Check returns every problem of the flags, joined.
	Check() error
	// Run returns nil when the context has ended and all work is done.
	Run(ctx context.Context, log *slog.Logger) error

	base() *Options
}

// Main runs the program with the arguments of the process until SIGINT or SIGTERM, and
// exits. It passes the program's log to setLog first, such as klog.SetSlogLogger for the
// messages of client-go.
func Main(p Program, setLog func(*slog.Logger)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, p, os.Args[1:], os.Stderr, setLog))
}

// Run runs the program until the context ends, and returns the exit status: 0 if all
// went well or the arguments ask for help, 2 if the arguments are invalid, else 1.
//
// A process may run several programs, so that Run sets no log of the whole process.
func Run(ctx context.Context, p Program, args []string, stderr io.Writer) int {
	return run(ctx, p, args, stderr, func(*slog.Logger) {})
}

func run(ctx context.Context, p Program, args []string, stderr io.Writer, setLog func(*slog.Logger)) int {
	err := Parse(p, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	log := p.base().Log.To(stderr)
	setLog(log)
	if err := p.Run(ctx, log); err != nil {
		text := err.Error()
		if !errors.Is(err, cluster.ErrNone) {
			text = adapter.ErrorText(err)
		}
		fmt.Fprintf(stderr, "%s: %s\n", p.base().Name, text)
		return 1
	}
	return 0
}

// Parse reads the flags of the program, and writes every problem of them.
func Parse(p Program, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet(p.base().Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	p.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err // flags has written the error
	}
	var problems field.Errors
	problems.Check(flags.NArg() == 0, "arguments", flags.Args(), "flags only, see -help")
	problems.Join("", p.Check())
	err := problems.Err()
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.base().Name, err)
	}
	return err
}
