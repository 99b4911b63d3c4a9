package why

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	Events     []Notice
	Deleted    string // the deletionTimestamp
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

// A Notice is an event about the ScaledJob or its Jobs.
type Notice struct {
	Reason, Message string
	Age             time.Duration // since it was last seen
}

// causes returns what the cluster shows, the most important first.
func (l *Live) causes(j *judge) (causes []Cause) {
	if l.Deleted != "" {
		causes = append(causes, Cause{ID: "deleted", Basis: Observed, Text: "the ScaledJob is being deleted (deletionTimestamp " + l.Deleted + "), so KEDA does not poll it",
			Fix: "If it does not go: KEDA's operator must run to remove the finalizer finalizer.keda.sh, and others of its finalizers may hold it"})
	}
	for _, c := range l.Conditions {
		switch {
		case c.Type == "Paused" && c.Status == "True":
			causes = append(causes, pausedCause)
		case c.Type == "Ready" && c.Status != "True" && c.Reason != "" && c.Reason != "Initialized":
			causes = append(causes, l.notReady(j, c))
		}
	}
	if len(causes) == 0 {
		causes = l.warned(j)
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

// newest returns the last event of each reason, without the KEDA that reasons of scaledjob-controller lack.
func (l *Live) newest() map[string]Notice {
	slices.SortStableFunc(l.Events, func(a, b Notice) int { return cmp.Compare(b.Age, a.Age) })
	newest := map[string]Notice{}
	for _, e := range l.Events {
		if e.Reason == "ScaledJobReady" { // what failed before it is mended
			clear(newest)
		}
		newest[strings.TrimPrefix(e.Reason, "KEDA")] = e
	}
	return newest
}

// warned returns what events tell. Up to 2.14.0, Ready stays True while triggers fail. Beside conditions an event is over
// after ten minutes, in which KEDA repeats it, and one that needs nobody does not count.
func (l *Live) warned(j *judge) (causes []Cause) {
	newest, limit := l.newest(), max(10*time.Minute, 2*j.interval(&Subject{}))
	for _, reason := range []string{"ScaledJobCheckFailed", "ScalerFailed", "JobCreateFailed", "FailedCreate", "ScaledJobRolloutCleanupFailed", "ScaledJobUpdateFailed"} {
		e, found := newest[reason]
		c := l.notReady(j, Condition{Reason: reason, Message: e.Message})
		over := len(l.Conditions) > 0 && (e.Age > limit || strings.HasPrefix(c.Fix, "Nothing has to be done"))
		if !found || over || (reason == "ScalerFailed" && len(causes) > 0) { // the check failed because of it
			continue
		}
		if slices.ContainsFunc(l.Conditions, func(c Condition) bool { return c.Type == "Ready" && c.Status == "True" }) {
			c.Text = "although Ready is True, " + strings.Replace(c.Text, ": ", fmt.Sprintf(" (event %s ago): ", e.Age.Round(time.Second)), 1)
		}
		causes = append(causes, c)
	}
	return causes
}

func (l *Live) notReady(j *judge, c Condition) Cause {
	text, candidates := c.Message, readErrors
	id, does := "invalid", "KEDA rejects the ScaledJob and does not poll it: "
	switch c.Reason {
	case "TriggerError", "PartialTriggerError", "ScalerFailed":
		id, does = "unreadable", "a trigger cannot be read: "
	case "KEDAJobCreateFailed", "JobCreateFailed":
		id, does, candidates = "create-failed", "creates fail: ", createErrors
	case "ScaledJobRolloutCleanupFailed", "ScaledJobUpdateFailed":
		id, does, candidates = "warned", "KEDA warns of "+c.Reason+": ", writeErrors
	case "FailedCreate":
		id, does, candidates = "stuck", "the Jobs get no pods: ", createErrors
	}
	event := map[string]string{"invalid": "ScalerFailed", "unreadable": "ScalerFailed", "create-failed": "JobCreateFailed"}[id]
	if e, found := l.newest()[event]; found {
		text = e.Message
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
		for _, c := range found[1:] {
			a.Answer += " " + upper(c.phrase(""))
		}
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
	ofJob           bool // the name is that of a Job without its end
}

var (
	describedKind  = regexp.MustCompile(`(?m)^Kind:\s+(\S+)\s*$`)
	describedName  = regexp.MustCompile(`(?m)^Name:\s+(\S+)\s*$`)
	describedGone  = regexp.MustCompile(`(?m)^\s+Deletion Timestamp:\s+(\S+)\s*$`)
	describedSpace = regexp.MustCompile(`(?m)^Namespace:\s+(\S+)\s*$`)
	conditionField = regexp.MustCompile(`^\s+(Message|Reason|Status|Type):\s*(.*?)\s*$`)
	eventHead      = regexp.MustCompile(`(?m)^\s*(?:NAMESPACE\s+)?LAST SEEN\s+.*\bREASON\b.*\bMESSAGE\b.*$`)
	eventRow       = regexp.MustCompile(`^(?:(\S+)\s+)?(<\w+>|[0-9]\S*)(?: \(x\d+ over \S+\))?\s+(?:Normal|Warning)\s+(\S+)\s+(?:scaledjob(?:\.keda\.sh)?/(\S+)|job(?:\.batch)?/(\S+)-[a-z0-9]{5})\s+(.*)$`)
	eventLine      = regexp.MustCompile(`^\s*(?:Normal|Warning)\s+(\S+)\s+(<\w+>|[0-9]\S*)(?: \(x\d+ over \S+\))?\s+\S+\s+(.*)$`)
	othersDescribe = regexp.MustCompile(`(?m)^(?:Pods Statuses|Controlled By|Start Time|Parallelism|QoS Class):\s`)
)

// ErrOtherPaste refuses what kubectl describe prints of a Job or a pod.
var ErrOtherPaste = errors.New("found kubectl describe of a Job or pod; use kubectl describe scaledjob, or scaledjob explain --jobs with kubectl get jobs,pods -o json")

// ReadPaste adds what kubectl describe scaledjob or kubectl get events prints. It reads no log.
func (q *Question) ReadPaste(text string) (read bool, err error) {
	text = strings.ReplaceAll(colors.ReplaceAllString(text, ""), "\r\n", "\n")
	kind, name := describedKind.FindStringSubmatch(text), describedName.FindStringSubmatch(text)
	listed, section := listedEvents(text), described(text, "")
	switch {
	case kind != nil && name != nil && kind[1] == "ScaledJob":
		section.Name = name[1]
		q.Pasted = append(q.Pasted, section)
	case name != nil && othersDescribe.MatchString(text):
		return false, ErrOtherPaste
	case len(listed) > 0 || eventHead.MatchString(text):
		q.Pasted = append(q.Pasted, listed...)
	case name == nil && len(section.Live.warned(&judge{})) > 0:
		q.Pasted = append(q.Pasted, section)
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
	if m := describedGone.FindStringSubmatch(text); m != nil {
		p.Live.Deleted = m[1]
	}
	inConditions, c := false, Condition{}
	for line := range strings.SplitSeq(text, "\n") {
		switch bare := strings.TrimSpace(line); {
		case bare == "Conditions:":
			inConditions = true
		case !inConditions || bare == "":
		case conditionField.MatchString(line):
			m := conditionField.FindStringSubmatch(line)
			*map[string]*string{"Message": &c.Message, "Reason": &c.Reason, "Status": &c.Status, "Type": &c.Type}[m[1]] = m[2]
			if m[1] == "Type" { // the last of a condition
				p.Live.Conditions, c = append(p.Live.Conditions, c), Condition{}
			}
		default:
			inConditions = false
		}
		if m := eventLine.FindStringSubmatch(line); m != nil {
			p.Live.Events = append(p.Live.Events, Notice{m[1], m[3], ageOf(m[2])})
		}
	}
	return p
}

func listedEvents(text string) (pastes []*Paste) {
	for line := range strings.SplitSeq(text, "\n") {
		m := eventRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || (m[5] != "" && m[3] != "FailedCreate") {
			continue
		}
		name := m[4] + m[5]
		i := slices.IndexFunc(pastes, func(p *Paste) bool { return p.Name == name && p.Namespace == m[1] })
		if i < 0 {
			i, pastes = len(pastes), append(pastes, &Paste{Name: name, Namespace: m[1], ofJob: true})
		}
		pastes[i].ofJob = pastes[i].ofJob && m[4] == ""
		pastes[i].Live.Events = append(pastes[i].Live.Events, Notice{m[3], m[6], ageOf(m[2])})
	}
	named := slices.ContainsFunc(pastes, func(p *Paste) bool { return !p.ofJob }) // Jobs of others have events too
	return slices.DeleteFunc(pastes, func(p *Paste) bool { return named && p.ofJob })
}

// ageOf reads an age as kubectl prints it, such as 45s or 2d3h. One that is not known is 0.
func ageOf(text string) time.Duration {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, _ := strconv.Atoi(days)
	age, _ := time.ParseDuration(rest)
	return time.Duration(n)*24*time.Hour + age
}
