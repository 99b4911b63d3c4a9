package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
)

// answer sets the causes of the moment asked about, and the sentences about it.
func (j *judge) answer(l *Log, s *Subject, a *Account, instant time.Time) {
	complete := until(slices.DeleteFunc(slices.Clone(a.verdicts), func(v *Verdict) bool { return v.Cut }), instant)
	stop := j.stops(s, instant)
	if stop == nil {
		stop = j.ends(l, s, instant)
	}
	if instant.IsZero() && j.paused() && len(s.Polls) > 0 {
		j.notPolled(a, nil, complete)
		return
	}
	polls := until(a.verdicts, instant)
	if n := len(polls); n > 0 && (stop == nil || !stop.after(polls[n-1])) && j.unfinished(polls[n-1]) {
		complete = append(complete, polls[n-1])
	}
	if len(complete) == 0 || (stop != nil && stop.after(complete[len(complete)-1])) {
		j.notPolled(a, stop, complete)
		return
	}
	last := complete[len(complete)-1]
	a.Causes = last.Causes
	if value(last.Jobs) > 0 {
		j.creating(a, complete)
	} else {
		j.idleSince(a, complete)
	}
	if a.Differ > 0 {
		a.Answer += fmt.Sprintf(" But %s from the rules of KEDA %s: the manifest or the release does not match the log.", a.differing(), j.profile.Release())
	}
	a.addOthers()
}

func (a *Account) differing() string {
	switch {
	case a.Compared == 1:
		return "the one poll that was computed again differs"
	case a.Differ == 1:
		return fmt.Sprintf("1 of %d polls that were computed again differs", a.Compared)
	}
	return fmt.Sprintf("%d of %d polls that were computed again differ", a.Differ, a.Compared)
}

// addOthers adds the other causes and their fixes to the answer, each text once.
func (a *Account) addOthers() {
	for _, c := range a.Also {
		if slices.ContainsFunc(a.Causes, func(cause Cause) bool { return cause.ID == c.ID }) {
			continue
		}
		if strings.Contains(a.Answer, c.Fix) {
			c.Fix = ""
		}
		_, reason, found := strings.Cut(c.Text, ": ")
		switch repeated := found && strings.Contains(a.Answer, reason); {
		case !repeated:
			a.Answer += " " + upper(c.phrase(""))
		case c.Fix != "":
			a.Answer += " " + sentence(c.Fix)
		}
	}
}

func until(verdicts []*Verdict, instant time.Time) []*Verdict {
	for i, v := range verdicts {
		if !instant.IsZero() && v.Time.After(instant) {
			return verdicts[:i]
		}
	}
	return verdicts
}

// unfinished reports whether the log ends while a poll creates Jobs, and adds why it does.
func (j *judge) unfinished(v *Verdict) bool {
	jobs := j.jobsOf(v.Poll)
	if !v.Cut || v.Running == nil || v.Created != nil || jobs == 0 {
		return false
	}
	j = j.in(v.Run)
	j.ranges(v)
	v.Jobs, v.Causes = &jobs, append([]Cause{j.creation(v)}, v.Causes...)
	return true
}

// pausedCause is the cause of a ScaledJob that a line or a condition says is paused.
var pausedCause = Cause{ID: "paused", Basis: Observed, Text: "the ScaledJob is paused, so KEDA does not poll it",
	Fix: "Remove the annotation autoscaling.keda.sh/paused: every value but false pauses"}

// A stop is the event after which a ScaledJob is not polled.
type stop struct {
	*Event
	cause Cause
}

func (s *stop) after(v *Verdict) bool {
	if s.time.IsZero() || v.Time.IsZero() {
		return s.number > v.Line
	}
	return s.time.After(v.Time)
}

// stops returns the last event until a moment that ends polling, unless a later one begins it.
func (j *judge) stops(s *Subject, instant time.Time) (found *stop) {
	later := func(e *Event) bool { return !instant.IsZero() && e.time.After(instant) }
	for _, e := range s.Events {
		if later(&e) {
			continue
		}
		switch e.kind {
		case paused:
			found = &stop{&e, pausedCause}
		case invalid:
			means, fix := in(readErrors, e.text)
			c := Cause{ID: "invalid", Basis: Observed, Text: "KEDA rejects the ScaledJob and does not poll it: " + quote(e.text), Fix: "Correct the manifest; scaledjob lint names the field"}
			if means != "" {
				c.Text = "KEDA does not poll the ScaledJob: " + means + ": " + quote(e.text)
				c.Fix = upper(fix)
			}
			found = &stop{&e, c}
		case deleted:
			found = &stop{&e, Cause{ID: "deleted", Basis: Observed, Text: "the ScaledJob was deleted", Fix: "Find who deletes it, such as a pipeline or Helm, and apply it again"}}
		case unfinalized:
			c := Cause{ID: "deleted", Basis: Observed}
			c.Text, c.Fix = plainly("the ScaledJob is being deleted, and KEDA could not remove its finalizer: ", writeErrors, e.text)
			found = &stop{&e, c}
		case unpaused, looped:
			found = nil
		}
	}
	if e := j.log.stopped; e != nil && !later(e) && !(e.kind == waits && j.polledLately(s, e.time)) {
		found = &stop{e, whyStopped(e)}
	}
	return found
}

// polledLately reports whether no poll is overdue at a time. Then another pod has the lease.
func (j *judge) polledLately(s *Subject, instant time.Time) bool {
	return slices.ContainsFunc(s.Polls, func(p *Poll) bool { return instant.Sub(p.until) < 2*cmp.Or(j.interval(s), 30*time.Second) })
}

// ends returns the last poll until a moment as the end of polling, if the log shows polls of others for long after it.
func (j *judge) ends(l *Log, s *Subject, instant time.Time) *stop {
	polls := slices.DeleteFunc(slices.Clone(s.Polls), func(p *Poll) bool { return !instant.IsZero() && p.Time.After(instant) })
	interval := j.interval(s)
	if len(polls) == 0 || interval == 0 || polls[len(polls)-1].until.IsZero() {
		return nil
	}
	last := polls[len(polls)-1]
	if !instant.IsZero() {
		instant = instant.Add(1)
	}
	until := l.lastOfOthers(last.Run, s, instant)
	if until.Sub(last.until) <= 2*interval+settled {
		return nil
	}
	how := "paused, deleted"
	if compare(j.profile.Release(), "2.20") >= 0 {
		how = "paused, of which the log has no line since 2.20, deleted"
	}
	event := &Event{entry: entry{number: last.Line, time: last.until.Add(1)}, Run: last.Run}
	if n := value(last.Requested); n > 0 && last.Created == nil {
		return &stop{event, Cause{ID: "slow-poll", Basis: Inferred, Fix: fasterCreates,
			Text: fmt.Sprintf("the poll that creates %s has not ended at %s", field.Plural(int(n), "Job"), clockOf(until, false))}}
	}
	return &stop{event, Cause{ID: "not-polled", Basis: Inferred, Decide: j.kubectl("get scaledjob %s") + " shows whether it exists, is ready and is paused",
		Text: fmt.Sprintf("the operator works on other ScaledJobs until %s: this one is %s, or a trigger does not answer", clockOf(until, false), how)}}
}

func whyStopped(e *Event) Cause {
	c := Cause{ID: "restart", Basis: Observed, Decide: operatorCommand, Fix: operatorFix, Text: "the operator stopped or lost its lease, and the log shows no other that leads"}
	switch e.kind {
	case stopped:
		if text := e.err; text != "" && text != leaseLost {
			c.Text, c.Fix = plainly("the operator stops: ", listErrors, text)
			c.Fix = cmp.Or(c.Fix, operatorFix)
			break
		}
		c.renewal(e.lease)
	case waits:
		c.Text, c.Fix = "this operator waits for the lease, which another one holds", "Give the log of the pod that holds the lease"
		c.Decide = "kubectl -n keda get lease operator.keda.sh -o jsonpath={.spec.holderIdentity}"
	case denied:
		c.Decide = ""
		c.Text, c.Fix = plainly("the operator cannot read the cluster: ", listErrors, e.text)
		if means, _ := in(listErrors, e.text); means == noPermission {
			c.Decide = "kubectl auth can-i list jobs --as system:serviceaccount:keda:keda-operator"
		}
	}
	return c
}

func (c *Cause) renewal(lease string) {
	if means, fix := in(listErrors, lease); means != "" {
		c.Text += fmt.Sprintf(": it could not renew the lease, because %s: %s", means, quote(lease))
		c.Fix = upper(fix)
	}
}

func (j *judge) paused() bool { return j.spec != nil && j.profile.Paused(j.keda) }

func (j *judge) notPolled(a *Account, stop *stop, complete []*Verdict) {
	a.State = "unknown"
	start := ""
	if j.paused() && (stop == nil || stop.cause.ID != "invalid") {
		a.Causes, a.State = []Cause{{ID: "paused", Basis: Observed, Text: "the manifest pauses the ScaledJob (autoscaling.keda.sh/paused), so KEDA does not poll it; since 2.20 no line of the log says so",
			Fix: "Remove the annotation: every value but false pauses"}}, "paused"
	} else if stop != nil {
		a.Causes, a.State = []Cause{stop.cause}, stop.cause.ID
		if stop.cause.ID == "invalid" && len(a.Also) > 0 && a.Also[0].ID == "no-authentication" { // the cause of it
			a.Causes = []Cause{a.Also[0], stop.cause}
		}
		start = sinceText(stop.time)
	}
	var last *Verdict
	if len(complete) == 0 && len(a.verdicts) > 0 {
		last = a.verdicts[len(a.verdicts)-1]
	}
	switch {
	case len(a.Causes) > 0:
		a.Answer = a.Causes[0].phrase("No poll" + start + ": ")
		for _, c := range a.Causes[1:] {
			a.Answer += " " + sentence(c.Text)
		}
		a.addOthers()
	case last != nil && len(last.Causes) > 0:
		a.Causes, a.State = last.Causes, last.Causes[0].ID
		a.Answer = a.Causes[0].phrase("The log cuts the poll, but shows this: ")
	case last != nil && last.Created != nil:
		a.Answer = fmt.Sprintf("The log cuts the poll, but shows that it created %s. For the cause, give all lines around it that name the ScaledJob.", field.Plural(int(*last.Created), "Job"))
	case last != nil:
		a.Answer = "The log has no complete poll at this time, so no cause can be told. Give more lines around it, all that name the ScaledJob, without a filter."
	case len(a.Also) > 0:
		a.State, a.Answer = a.Also[0].ID, "The log shows no poll of the ScaledJob."
		a.addOthers()
	default:
		a.Answer = "The log shows no poll of the ScaledJob. Give the lines of the logger scaleexecutor around that time."
	}
}

const createAuthentication = "Create it in the ScaledJob's namespace, or write the kind ClusterTriggerAuthentication"

func sentence(text string) string { return upper(strings.TrimSuffix(text, ".")) + "." }

func sinceText(instant time.Time) string {
	if instant.IsZero() {
		return ""
	}
	return " since " + clockOf(instant, false)
}

func (j *judge) idleSince(a *Account, complete []*Verdict) {
	last := complete[len(complete)-1]
	first := last
	polls := 0
	for _, v := range slices.Backward(complete) {
		idle := value(v.Jobs) == 0 && v.Run == last.Run && len(v.Causes) > 0
		if !idle || (len(last.Causes) > 0 && v.Causes[0].ID != last.Causes[0].ID) {
			break
		}
		first = v
		polls++
	}
	suffix := sinceText(first.Time)
	if polls > 1 {
		suffix += fmt.Sprintf(" (%d polls)", polls)
	}
	if len(a.Causes) == 0 {
		a.State, a.Answer = "idle", "No Job was created"+suffix+". The log does not show why: add the manifest, or a log with --zap-log-level=debug."
		return
	}
	cause := a.Causes[0]
	a.State = cause.ID
	if len(a.Causes) == 1 || cause.Basis != Inferred {
		a.Answer = "No Job was created" + suffix + " because " + cause.Text + "."
		for _, c := range a.Causes[1:] {
			if c.Basis != Inferred && cause.Basis != Inferred {
				a.Answer += " " + sentence(c.Text)
			}
		}
	} else {
		a.Answer = fmt.Sprintf("No Job was created%s. %d causes fit:", suffix, len(a.Causes))
		for i, c := range a.Causes {
			a.Answer += fmt.Sprintf(" (%d) %s;", i+1, c.Text)
		}
		a.Answer = strings.TrimSuffix(a.Answer, ";") + "."
	}
	a.Answer += strings.TrimPrefix((&Cause{Basis: cause.Basis, Fix: cause.Fix, Decide: cause.Decide}).phrase(""), ".")
	if cause.ID == "empty" || cause.ID == "running-deducted" {
		a.State = "idle"
	}
}

func (j *judge) creating(a *Account, complete []*Verdict) {
	a.State = "creating"
	var total int64
	polls := 0
	for _, v := range complete {
		if value(v.Jobs) > 0 && !v.Cut {
			polls++
			total += *v.Jobs
		}
	}
	last := complete[len(complete)-1]
	period := ""
	if !last.Time.IsZero() {
		period = " at " + clockOf(last.Time, false)
	}
	a.Answer = fmt.Sprintf("the last poll%s created %s", period, field.Plural(int(*last.Jobs), "Job"))
	if last.Cut {
		a.Answer = "the log ends while " + strings.Replace(a.Answer, "created", "creates", 1)
	}
	others := ""
	for _, c := range last.Causes {
		if c.ID == "created" || c.ID == "below-min" {
			a.Answer += ", because " + c.Text
			continue
		}
		others += " " + upper(c.phrase(""))
		if Urgency(c.ID) < Urgency(a.State) {
			a.State = c.ID
		}
	}
	if others == "" && !last.Cut {
		a.Answer = "KEDA did its part: " + a.Answer
	}
	a.Answer = upper(a.Answer) + "." + others
	if polls > 1 {
		a.Answer += fmt.Sprintf(" In all, %d of %d polls created %d Jobs.", polls, len(complete), total)
	}
}

// also finds what is not a matter of a single poll: deletions, restarts, gaps, too many Jobs.
func (j *judge) also(l *Log, s *Subject, verdicts []*Verdict, interval time.Duration) (causes []Cause) {
	for _, e := range s.Events {
		if e.kind == rollout {
			c := Cause{ID: "rollout", Basis: Observed, Text: fmt.Sprintf("at %s a rollout deleted %s of the ScaledJob, running ones too", clockOf(e.time, false), field.Plural(int(e.count), "Job")),
				Fix: "Write rollout.strategy: gradual to let running Jobs end"}
			if j := j.in(e.Run); compare(j.profile.Release(), "2.14") < 0 || j.profile.Release() == "2.14.0" {
				c.Text += "; up to 2.14.0 each restart of the operator does so too, without a change of the ScaledJob"
			}
			if !e.numbered {
				c.Text = fmt.Sprintf("at %s a rollout deleted Jobs of the ScaledJob; the log does not say how many", clockOf(e.time, false))
			}
			causes = append(causes, c)
		}
	}
	if i := slices.IndexFunc(s.Events, func(e Event) bool { return e.kind == absent }); i >= 0 {
		causes = append(causes, Cause{ID: "no-authentication", Basis: Observed, Text: "a TriggerAuthentication is missing, so its parameters are left out: " + quote(s.Events[i].text),
			Fix: createAuthentication})
	}
	if !slices.ContainsFunc(verdicts, func(v *Verdict) bool { return len(v.Errors) > 0 }) {
		for _, e := range slices.Backward(s.Events) {
			if e.kind == scaler {
				causes = append(causes, j.unreadable(e.text))
				break
			}
		}
	}
	causes = append(causes, j.rivals...)
	causes = append(causes, restarts(l, s)...)
	causes = append(causes, j.gaps(l, s, interval)...)
	return append(causes, j.tooMany(verdicts)...)
}

// twoOperators finds pods of the operator that poll in turn: after a change of the leader, only one polls.
func twoOperators(s *Subject) []Cause {
	var turns []string
	polls := slices.Clone(s.Polls)
	slices.SortStableFunc(polls, func(p, q *Poll) int { return p.Time.Compare(q.Time) })
	for _, p := range polls {
		if p.source != "" && (len(turns) == 0 || turns[len(turns)-1] != p.source) {
			turns = append(turns, p.source)
		}
	}
	if len(turns) < 4 {
		return nil
	}
	return []Cause{{ID: "two-operators", Basis: Observed, Decide: "kubectl get pods -A -l app=keda-operator",
		Text: "the pods " + strings.Join(distinct(turns), " and ") + " poll the ScaledJob at the same time: each creates Jobs for the same queue",
		Fix:  "Run one KEDA in the cluster, with leader election if it has several replicas"}}
}

const (
	operatorCommand = "kubectl -n keda get pods -l app=keda-operator; kubectl -n keda logs deploy/keda-operator --previous"
	operatorFix     = "Look for the reason in the end of the previous log: memory, probes, or the API server"
	fasterCreates   = "KEDA creates Jobs one after the other: raise --kube-api-qps and --kube-api-burst of the operator, or remove slow admission webhooks"
)

func restarts(l *Log, s *Subject) []Cause {
	var starts []string
	lost, lease := "", ""
	var last time.Time
	for _, e := range l.Operator {
		switch e.kind {
		case version, started:
			last = e.time
			starts = append(starts, clockOf(e.time, false))
		case stopped:
			last = e.time
			lost, lease = "stopped or lost its lease at "+clockOf(e.time, false), e.lease
		}
	}
	if len(starts) < 2 && lost == "" {
		return nil
	}
	polled := "nothing is polled until an operator leads again"
	if slices.ContainsFunc(s.Polls, func(p *Poll) bool { return !last.IsZero() && p.Time.After(last) }) {
		polled = "nothing was polled until it led again"
	}
	c := Cause{ID: "restart", Basis: Observed, Decide: operatorCommand, Fix: operatorFix}
	if len(starts) > 0 {
		last := len(starts) - 1
		c.Text = "started at " + strings.TrimPrefix(strings.Join(starts[:last], ", ")+" and "+starts[last], " and ")
		if lost != "" {
			c.Text += ", and "
		}
	}
	c.Text = "the operator " + c.Text + lost + ": " + polled
	c.renewal(lease)
	return []Cause{c}
}

// gaps finds polls that are late although the operator logged in between.
func (j *judge) gaps(l *Log, s *Subject, interval time.Duration) (causes []Cause) {
	if interval <= 0 {
		return nil
	}
	usual := s.interval()
	for i := 1; i < len(s.Polls); i++ {
		before, p := s.Polls[i-1], s.Polls[i]
		if p.Run != before.Run || before.Time.IsZero() || p.Time.Sub(before.Time) < 2*interval+settled {
			continue
		}
		took := before.until.Sub(before.Time)
		switch {
		case took > interval && value(before.Requested) > 0:
			causes = append(causes, Cause{ID: "slow-poll", Basis: Observed,
				Text: fmt.Sprintf("the poll at %s took %s to create %d Jobs, longer than the interval of %s, so polls in between did not happen", clockOf(before.Time, false), took.Round(time.Second), value(before.Requested), interval),
				Fix:  fasterCreates})
		case len(l.Subjects) > 1 && l.lastOfOthers(p.Run, s, p.Time.Add(-settled)).Sub(before.until) > settled:
			causes = append(causes, Cause{ID: "gap", Basis: Observed, Decide: j.kubectl("describe scaledjob %s"),
				Text: fmt.Sprintf("no poll from %s to %s, although the operator worked: the ScaledJob was paused or changed, or a trigger answered late", clockOf(before.Time, false), clockOf(p.Time, false))})
		case usual > 0 && p.Time.Sub(before.Time) > 2*usual+settled:
			days := p.Time.YearDay() != before.Time.YearDay()
			causes = append(causes, Cause{ID: "gap", Basis: Inferred, Decide: j.kubectl("describe scaledjob %s"),
				Text: fmt.Sprintf("no poll from %s to %s, and no line about another ScaledJob: the ScaledJob was paused or changed, a trigger answered late, the operator did not run, or the log lacks lines", clockOf(before.Time, days), clockOf(p.Time, days))})
			return causes // an edit may have changed the interval
		}
		if len(causes) == 3 {
			break
		}
	}
	return causes
}

// tooMany finds more Jobs than the maximum or than the queue needs.
func (j *judge) tooMany(verdicts []*Verdict) (causes []Cause) {
	var running, peak int64
	repeats := 0
	for i, v := range verdicts {
		if v.Cut {
			continue
		}
		running, peak = max(running, value(v.Running)), max(peak, value(v.Running)+value(v.Jobs))
		if i == 0 {
			continue
		}
		if before := value(verdicts[i-1].Jobs); value(v.Jobs) > 0 && before > 0 && value(v.Running) >= before {
			repeats++
		}
	}
	if j.spec == nil {
		return nil
	}
	name := j.profile.Strategy(j.keda).Name()
	switch limit := j.bounds.Min + j.bounds.QueueMax; {
	case name == "custom" && peak > limit:
		causes = append(causes, Cause{ID: "above-maximum", Basis: Observed, Text: fmt.Sprintf("up to %d Jobs ran, above the maximum of %d: custom limits each poll to maxReplicaCount, and not the total", peak, limit),
			Fix: "Use default or accurate if the total must not exceed maxReplicaCount"})
	case name != "custom" && running > limit && j.rivals == nil:
		causes = append(causes, j.foreign(running))
	}
	how, trigger, _ := j.counting()
	c := Cause{ID: "counted-twice", Basis: Inferred, Fix: "Use the strategy default, or exclude in-progress items from the metric"}
	switch {
	case name != "accurate" && name != "eager":
	case repeats > 0 && how == triggers.Includes:
		c.Text = fmt.Sprintf("the strategy %s creates Jobs again for items in progress: the metric of %s counts them, and %s does not subtract running Jobs", name, trigger, name)
		causes = append(causes, c)
	case repeats > 1 && how == 0:
		c.Text = fmt.Sprintf("the strategy %s created Jobs in %d polls while those of the poll before ran: new items arrived, or the metric counts in-progress items, for which %s creates Jobs again, because it does not subtract running Jobs", name, repeats, name)
		c.Decide = "set --zap-log-level=debug in the operator's Deployment: \"Scaler Metric value\" shows whether the value falls when a Job takes an item"
		c.Fix = "If the value does not fall, use the strategy default, or exclude in-progress items from the metric"
		causes = append(causes, c)
	}
	return causes
}
