// Package process is what an example controller has as a process, whatever it
// controls: logs, probes, and a lease where several of it run.
package process

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
)

// A Log is how a program logs. The zero value logs text, at level info.
type Log struct {
	Format string // text or json
	Level  slog.Level
}

// Flags adds -log-format, which is text, and -log-level, which is info.
func (l *Log) Flags(flags *flag.FlagSet) {
	flags.StringVar(&l.Format, "log-format", "text", "`format` of logs: text or json")
	flags.TextVar(&l.Level, "log-level", slog.LevelInfo, "least `level` of logs: debug, info, warn or error; debug tells each decision")
}

// Check is an error where the format is neither of the two.
func (l Log) Check() error {
	if l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("-log-format %q: want text or json", l.Format)
	}
	return nil
}

// To logs to w.
func (l Log) To(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
