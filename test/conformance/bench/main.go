package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A row compares one piece of work.
type row struct {
	work       string
	ours, peer func()
	by         string // the peer
}

func main() {
	flags := flag.NewFlagSet("bench", flag.ExitOnError) // not flag.CommandLine, to which controller-runtime adds
	kubeconfig := flags.String("kubeconfig", "", "cluster on which to create Jobs")
	jobs := flags.Int("jobs", 500, "Jobs to create on the cluster")
	_ = flags.Parse(os.Args[1:]) // exits
	log.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *kubeconfig, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, kubeconfig string, jobs int) error {
	fmt.Fprintf(out, "%s, %d CPUs, %s\n\n", runtime.Version(), runtime.NumCPU(), versions())
	fmt.Fprintf(out, "| work | scaledjob | allocations | peer | allocations | by |\n|---|---|---|---|---|---|\n")
	rows := slices.Concat(decisions(), polls(), histories(), shares())
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		ours, theirs := measure(r.ours), measure(r.peer)
		fmt.Fprintf(out, "| %s | %s | %d | %s | %d | %s |\n", r.work, ours.time(), ours.allocations, theirs.time(), theirs.allocations, r.by)
	}
	own, whole := memory(20_000)
	fmt.Fprintf(out, "| memory of a Job at rest | %d B | | %d B | | client-go's informer |\n", own, whole)
	if kubeconfig == "" {
		return nil
	}
	return create(ctx, out, kubeconfig, jobs)
}

// versions returns the versions of the peers, as they were built in.
func versions() (text string) {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/kedacore/keda/v2":
			text += " KEDA " + m.Version
		case "github.com/karmada-io/karmada":
			text += " Karmada " + m.Version
		}
	}
	return text
}

// A measurement is of one run of a piece of work.
type measurement struct {
	nanoseconds float64
	allocations int64
}

// measure returns the median of five benchmarks.
func measure(work func()) measurement {
	var all []measurement
	for range 5 {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
		})
		all = append(all, measurement{float64(r.T.Nanoseconds()) / float64(r.N), r.AllocsPerOp()})
	}
	slices.SortFunc(all, func(a, b measurement) int { return int(a.nanoseconds - b.nanoseconds) })
	return all[len(all)/2]
}

func (m measurement) time() string {
	d := time.Duration(m.nanoseconds)
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.0f ns", m.nanoseconds)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.0f µs", m.nanoseconds/1e3)
	}
	return fmt.Sprintf("%.0f ms", m.nanoseconds/1e6)
}
