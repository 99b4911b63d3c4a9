package why

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
)

// A change is a fix of the manifest that can be played.
type change struct {
	text  string
	apply func(*keda.Spec)
}

func strategyIs(name string) change {
	return change{"strategy " + name, func(s *keda.Spec) { s.ScalingStrategy.Strategy = name }}
}

// changeFor returns the change of the manifest that the fix of a cause names.
func (j *judge) changeFor(id string) (c change, found bool) {
	switch id {
	case "maximum", "eager-deducted":
		most := j.bounds.Min + j.bounds.QueueMax
		if most >= math.MaxInt32 {
			return c, false
		}
		n := int32(max(most+1, min(2*most, 10000)))
		return change{fmt.Sprintf("maxReplicaCount %d", n), func(s *keda.Spec) { s.MaxReplicaCount = &n }}, true
	case "running-deducted":
		return strategyIs("accurate"), true
	case "pending-deducted", "custom-deducted", "counted-twice", "above-maximum":
		return strategyIs("default"), true
	}
	return c, false
}

// play decides the polls until a moment again with the fix of each cause, each poll by itself. T that
// the log does not show is the least that fits. No change of the manifest makes stuck Jobs work.
func (j *judge) play(a *Account, at time.Time) {
	if j.spec == nil || slices.ContainsFunc(a.Causes, func(c Cause) bool { return c.ID == "stuck" }) {
		return
	}
	verdicts := a.verdicts
	if !at.IsZero() {
		verdicts = until(verdicts, at)
	}
	played := map[string]bool{}
	for _, cause := range append(append([]Cause{}, a.Causes...), a.Also...) {
		c, found := j.changeFor(cause.ID)
		if !found || played[c.text] {
			continue
		}
		played[c.text] = true
		changed := *j.keda
		c.apply(&changed.Spec)
		polls, less, more, was, is, least := 0, 0, 0, int64(0), int64(0), ""
		for _, v := range verdicts {
			if v.T == nil || v.Running == nil || v.Pending == nil || v.Jobs == nil {
				continue
			}
			d := j.profile.Decide(&changed, keda.State{Scalers: j.asking(v), Running: *v.Running, Pending: *v.Pending})
			polls, was, is, least = polls+1, *v.Jobs, d.Create, ""
			if v.T.Max == nil || *v.T.Max != v.T.Min {
				least = "at least "
			}
			switch {
			case is < was:
				less++
			case is > was:
				more++
			}
		}
		switch {
		case polls == 0:
		case least != "" && more+less == 0:
			a.Played = append(a.Played, fmt.Sprintf("with %s no difference is certain: the log does not show T, as it does at level debug, and the least that fits is taken", c.text))
		default:
			text := fmt.Sprintf("with %s the last of these polls creates %s%s instead of %d; of %s, each by itself, %d create more and %d fewer",
				c.text, least, report.Plural(int(is), "Job"), was, report.Plural(polls, "poll"), more, less)
			if least != "" {
				text += "; the log does not show T, and the least that fits is taken"
			}
			a.Played = append(a.Played, text)
		}
	}
}

// asking returns the scalers of a poll: from the log, or a scaler that asks for the least T.
func (j *judge) asking(v *Verdict) []keda.Scaler {
	if len(v.Triggers) > 0 {
		return j.scalers(v.Poll)
	}
	least := v.T.Min
	if v.Effective != nil { // the poll was active
		least = max(1, least)
	}
	return []keda.Scaler{{QueueLength: max(1, least), Target: 1, MaxValue: &least}}
}
