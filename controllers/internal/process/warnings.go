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

// Warn logs the error with a heading, unless it is the same as last time, and reports whether it has. A nil error
// means no problem.
func (w *Warnings) Warn(heading string, err error) (logged bool) {
	text := ""
	if err != nil {
		text = adapter.ErrorText(err)
	}
	if logged = text != "" && text != w.logged[heading]; logged {
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
	return logged
}
