package process

import (
	"errors"
	"flag"
	"io"
	"log/slog"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/field"
)

// A Log describes how a program logs. The zero value logs text at level info.
type Log struct {
	Format string // text or json
	Level  slog.Level
}

// Flags adds -log-format, which is text, and -log-level, which is info.
func (l *Log) Flags(flags *flag.FlagSet) {
	flags.StringVar(&l.Format, "log-format", "text", "`format` of logs: text or json")
	flags.TextVar(&l.Level, "log-level", slog.LevelInfo, "least `level` of logs: debug, info, warn or error; debug logs each decision")
}

// Check returns an error if the format is neither text nor json.
func (l Log) Check() error {
	var problems field.Errors
	problems.Check(l.Format == "text" || l.Format == "json", "-log-format", l.Format, "text or json")
	return problems.Err()
}

// To returns a logger that writes to w.
func (l Log) To(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level, ReplaceAttr: readable}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// readable gives an error the words that adapter.ErrorText has for it.
func readable(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(adapter.ErrorText(err))
	}
	return a
}

// serverWarnings logs the warnings of an API server, which come with its answers.
type serverWarnings struct{ *slog.Logger }

func (w serverWarnings) HandleWarningHeader(code int, _ string, text string) {
	if code != 299 || text == "" { // as client-go's handlers do
		return
	}
	w.Warn("the API server warns", "err", errors.New(text))
}
