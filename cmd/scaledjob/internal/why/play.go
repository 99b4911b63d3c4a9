package why

import (
	"fmt"

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
		n := int32(min(2*(j.bounds.Min+j.bounds.QueueMax), 10000))
		return change{fmt.Sprintf("maxReplicaCount %d", n), func(s *keda.Spec) { s.MaxReplicaCount = &n }}, true
	case "running-deducted":
		return strategyIs("accurate"), true
	case "pending-deducted", "custom-deducted", "counted-twice", "above-maximum":
		return strategyIs("default"), true
	}
	return c, false
}

// play decides the polls again with the fix of each cause, each poll by itself. T that the log does
// not show is the least that fits.
func (j *judge) play(a *Account) {
	if j.spec == nil {
		return
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
		polls, less, more, was, is := 0, 0, 0, int64(0), int64(0)
		for _, v := range a.verdicts {
			if v.T == nil || v.Running == nil || v.Pending == nil || v.Jobs == nil {
				continue
			}
			d := j.profile.Decide(&changed, keda.State{Scalers: j.asking(v), Running: *v.Running, Pending: *v.Pending})
			polls, was, is = polls+1, *v.Jobs, d.Create
			switch {
			case is < was:
				less++
			case is > was:
				more++
			}
		}
		if polls > 0 {
			a.Played = append(a.Played, fmt.Sprintf("with %s the last of these polls creates %s instead of %d; of %s, each by itself, %d create more and %d fewer",
				c.text, count(int(is), "Job"), was, count(polls, "poll"), more, less))
		}
	}
}

// asking returns the scalers of a poll: those of the log, or one that asks for the least T.
func (j *judge) asking(v *Verdict) []keda.Scaler {
	if len(v.Triggers) > 0 {
		return j.scalers(v.Poll)
	}
	return []keda.Scaler{{QueueLength: max(1, v.T.Min), Target: 1, MaxValue: &v.T.Min}}
}
