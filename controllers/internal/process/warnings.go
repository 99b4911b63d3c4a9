package process

import (
	"log/slog"

	"github.com/scaledjob/scaledjob/adapter"
)

// Warnings logs a problem once, and not again in every poll. It needs a Log: the zero value
// is not ready.
type Warnings struct {
	Log    *slog.Logger
	logged map[string]string
}

// Warn logs the error with a heading, unless it is the same as last time. A nil error means
// no problem.
func (w *Warnings) Warn(heading string, err error) {
	text := ""
	if err != nil {
		text = adapter.ErrorText(err)
	}
	if text != "" && text != w.logged[heading] {
		w.Log.Warn(heading, "err", text)
	}
	switch {
	case text == "":
		delete(w.logged, heading)
	case w.logged == nil:
		w.logged = map[string]string{heading: text}
	default:
		w.logged[heading] = text
	}
}
