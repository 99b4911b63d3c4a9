package why

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/field"
)

// StuckAfter is the time after which a pod that does not run is no longer starting.
const StuckAfter = 2 * time.Minute

// urgent are the states that need somebody, the most urgent first.
var urgent = []string{"create-failed", "unreadable", "no-authentication", "invalid", "stuck", "suspended", "terminating", "managed", "waiting", "foreign-jobs", "maximum", "paused", "not-polled", "deleted", "pending-deducted"}

// Calm is the urgency of the other states.
const Calm = 100

// Urgency returns the rank of a state, from 0.
func Urgency(state string) int {
	if i := slices.Index(urgent, state); i >= 0 {
		return i
	}
	return Calm
}

// A Live is the state of a ScaledJob in a cluster.
type Live struct {
	Conditions []Condition
	Events     []Notice // oldest first
	Running    int64
	Pending    int64
	Counted    bool     // the Jobs were read
	Stuck      int64    // Jobs older than StuckAfter, if no Job has a running pod
	Lint       []string // errors and warnings of the object, from lint
	Waiting    []string // reasons of pods that have not run for StuckAfter, with their numbers
	Absent     []string // TriggerAuthentications that do not exist
	Metrics    Metrics  // of the operator's endpoint
	States     []Cause  // of Jobs that count and do no work
}

// A Condition is a condition of the ScaledJob's status.
type Condition struct{ Type, Status, Reason, Message string }

// A Notice is an event about the ScaledJob.
type Notice struct{ Reason, Message string }

// causes returns what the cluster shows, the most important first.
func (l *Live) causes(j *judge) (causes []Cause) {
	for _, c := range l.Conditions {
		switch {
		case c.Type == "Paused" && c.Status == "True":
			causes = append(causes, pausedCause)
		case c.Type == "Ready" && c.Status != "True" && c.Reason != "" && c.Reason != "Initialized":
			causes = append(causes, l.notReady(j, c))
		}
	}
	if len(l.Conditions) == 0 { // pasted events alone
		reasons := map[string]string{"KEDAScalerFailed": "TriggerError", "KEDAJobCreateFailed": "KEDAJobCreateFailed", "ScaledJobCheckFailed": "ScaledJobCheckFailed"}
		for _, e := range slices.Backward(l.Events) {
			if reason := reasons[e.Reason]; reason != "" {
				causes = append(causes, l.notReady(j, Condition{Reason: reason, Message: e.Message}))
				break
			}
		}
	}
	for _, name := range l.Absent {
		causes = append(causes, Cause{ID: "no-authentication", Basis: Observed, Text: name + " does not exist, and a trigger refers to it",
			Fix: createAuthentication})
	}
	causes = append(causes, l.States...)
	if len(l.States) == 0 && (l.Stuck > 0 || len(l.Waiting) > 0) {
		text := fmt.Sprintf("%s, %d of them without a running pod", field.Plural(int(l.Running), "unfinished Job"), l.Pending)
		if len(l.Waiting) > 0 {
			text += ": " + strings.Join(l.Waiting, "; ")
		}
		causes = append(causes, Cause{ID: "stuck", Basis: Observed, Text: text, Decide: j.jobsCommand(), Fix: "Make the pods start, or delete the Jobs: KEDA counts them"})
	}
	return causes
}

func (l *Live) notReady(j *judge, c Condition) Cause {
	text, candidates := c.Message, readErrors
	id, does := "invalid", "KEDA rejects the ScaledJob and does not poll it: "
	switch c.Reason {
	case "TriggerError", "PartialTriggerError":
		id, does = "unreadable", "a trigger cannot be read: "
	case "KEDAJobCreateFailed", "JobCreateFailed":
		id, does, candidates = "create-failed", "creates fail: ", createErrors
	}
	for _, e := range slices.Backward(l.Events) {
		reason := strings.TrimPrefix(e.Reason, "KEDA") // which scaledjob-controller leaves out
		if (reason == "ScalerFailed" && id != "create-failed") || (reason == "JobCreateFailed" && id == "create-failed") {
			text = e.Message
			break
		}
	}
	said, fix := plainly(does, candidates, text)
	return Cause{ID: id, Basis: Observed, Text: said, Fix: cmp.Or(fix, "Correct what the message names"), Decide: j.kubectl("describe scaledjob %s")}
}

func (l *Live) has(id string) bool {
	return slices.ContainsFunc(l.States, func(c Cause) bool { return c.ID == id })
}

// withoutDeadline takes back advice that has no effect on suspended Jobs, whose deadline does not run.
func (a *Account) withoutDeadline() {
	a.Answer = strings.ReplaceAll(a.Answer, deadlineAdvice, "")
	for i := range a.Causes {
		a.Causes[i].Fix = strings.ReplaceAll(a.Causes[i].Fix, deadlineAdvice, "")
	}
}

// live adds the state of the cluster to an account, and answers if the log has no poll.
func (j *judge) live(a *Account, l *Live) {
	if l == nil {
		return
	}
	found := l.causes(j)
	for _, text := range l.Lint {
		a.Lint = append(a.Lint, redact.Text(text))
	}
	if l.Counted {
		a.Notes = append(a.Notes, fmt.Sprintf("in the cluster now: R=%d, P=%d", l.Running, l.Pending))
	}
	if values, complete := j.values(l.Metrics, time.Time{}, time.Now()); complete {
		a.Notes = append(a.Notes, "the operator's metrics now: "+valuesText(values))
	}
	for _, c := range l.Conditions {
		a.Notes = append(a.Notes, fmt.Sprintf("condition %s is %s: %s", c.Type, c.Status, quote(c.Message)))
	}
	if l.has("suspended") {
		a.withoutDeadline()
	}
	for _, c := range found {
		if !slices.ContainsFunc(append(a.Causes, a.Also...), func(other Cause) bool { return other.ID == c.ID }) {
			a.Also = append(a.Also, c)
			if Urgency(c.ID) < Urgency(a.State) {
				a.State = c.ID
			}
			if a.Complete > 0 {
				a.Answer += " " + upper(c.phrase(""))
			}
		}
	}
	if a.Complete > 0 {
		return
	}
	if len(found) > 0 {
		a.Causes, a.State = found, found[0].ID
		a.Answer = upper(found[0].phrase(""))
		return
	}
	if j.answerNow(a, l) {
		return
	}
	a.Answer = "The conditions and events of the ScaledJob show no problem. " + a.Answer
}

// A Paste is what somebody copied from kubectl about a ScaledJob, instead of a log.
type Paste struct {
	Name, Namespace string
	Live            Live
}

var (
	describedKind  = regexp.MustCompile(`(?m)^Kind:\s+(\S+)\s*$`)
	describedName  = regexp.MustCompile(`(?m)^Name:\s+(\S+)\s*$`)
	describedSpace = regexp.MustCompile(`(?m)^Namespace:\s+(\S+)\s*$`)
	conditionField = regexp.MustCompile(`^\s+(Message|Reason|Status|Type):\s*(.*?)\s*$`)
	eventHead      = regexp.MustCompile(`(?m)^\s*(?:NAMESPACE\s+)?LAST SEEN\s+.*\bREASON\b.*\bMESSAGE\b.*$`)
	eventRow       = regexp.MustCompile(`^(?:(\S+)\s+)?\S+\s+(Normal|Warning)\s+(\S+)\s+scaledjob(?:\.keda\.sh)?/(\S+)\s+(.*)$`)
	eventLine      = regexp.MustCompile(`^\s+(Normal|Warning)\s+(\S+)\s+(?:<\w+>|[0-9]\S*(?: \(x\d+ over \S+\))?)\s+(\S+)\s+(.*)$`)
	othersDescribe = regexp.MustCompile(`(?m)^(?:Pods Statuses|Controlled By|Start Time|Parallelism|QoS Class):\s`)
)

// ErrOtherPaste refuses what kubectl describe prints of a Job or a pod.
var ErrOtherPaste = errors.New("found kubectl describe of a Job or pod; use kubectl describe scaledjob, or scaledjob explain --jobs with kubectl get jobs,pods -o json")

// ReadPaste adds what kubectl describe scaledjob or kubectl get events prints. It reads no log.
func (q *Question) ReadPaste(text string) (read bool, err error) {
	text = strings.ReplaceAll(colors.ReplaceAllString(text, ""), "\r\n", "\n")
	kind, name := describedKind.FindStringSubmatch(text), describedName.FindStringSubmatch(text)
	switch {
	case kind != nil && name != nil && kind[1] == "ScaledJob":
		q.Pasted = append(q.Pasted, described(text, name[1]))
	case name != nil && othersDescribe.MatchString(text):
		return false, ErrOtherPaste
	case eventHead.MatchString(text):
		q.Pasted = append(q.Pasted, listedEvents(text)...)
	default:
		return false, nil
	}
	return true, nil
}

func described(text, name string) *Paste {
	p := &Paste{Name: name}
	if m := describedSpace.FindStringSubmatch(text); m != nil {
		p.Namespace = m[1]
	}
	inConditions, c := false, Condition{}
	for line := range strings.SplitSeq(text, "\n") {
		switch bare := strings.TrimSpace(line); {
		case bare == "Conditions:":
			inConditions = true
		case !inConditions || bare == "":
		case conditionField.MatchString(line):
			m := conditionField.FindStringSubmatch(line)
			switch m[1] {
			case "Message":
				c.Message = m[2]
			case "Reason":
				c.Reason = m[2]
			case "Status":
				c.Status = m[2]
			case "Type": // the last of a condition
				c.Type = m[2]
				p.Live.Conditions, c = append(p.Live.Conditions, c), Condition{}
			}
		default:
			inConditions = false
		}
		if m := eventLine.FindStringSubmatch(line); m != nil {
			p.Live.Events = append(p.Live.Events, Notice{m[2], m[4]})
		}
	}
	return p
}

func listedEvents(text string) (pastes []*Paste) {
	for line := range strings.SplitSeq(text, "\n") {
		m := eventRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		i := slices.IndexFunc(pastes, func(p *Paste) bool { return p.Name == m[4] && p.Namespace == m[1] })
		if i < 0 {
			i, pastes = len(pastes), append(pastes, &Paste{Name: m[4], Namespace: m[1]})
		}
		pastes[i].Live.Events = append(pastes[i].Live.Events, Notice{m[3], m[5]})
	}
	return pastes
}
