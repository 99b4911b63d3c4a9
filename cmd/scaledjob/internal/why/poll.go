package why

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Poll is a poll of a ScaledJob as the log shows it. A pointer is nil if its line is missing.
type Poll struct {
	Time         time.Time // the first line's
	Line         int       // the first line's number
	Run          int       // the run of the operator, or the paste, from 0
	Cut          bool
	HasBeginning bool // lines before the count of running Jobs are known

	Triggers  []Trigger
	Errors    []string // of triggers
	MaxValue  *float64 // T before it is rounded up
	IsActive  *bool    // seen; at level info an active poll has lines about creating
	Running   *int64   // R
	Pending   *int64   // P
	Strategy  string   // the selected strategy
	Effective *int64   // the strategy's answer, at least 0
	Requested *int64
	Created   *int64
	Refused   []string // errors of creates
	Pruned    int
	Measured  bool // Triggers are of Prometheus

	source   string    // the operator's pod
	until    time.Time // the last line's
	stage    int
	followed bool // a later line shows that nothing is missing
}

// A Trigger is the value of a trigger in the log.
type Trigger struct {
	Name   string // of the metric
	Value  float64
	Target float64
	Active bool
}

// join puts the lines of each ScaledJob into polls.
func (l *Log) join(entries []entry) {
	run, paste, source := 0, -1, ""
	dated := slices.ContainsFunc(entries, func(e entry) bool { return !e.time.IsZero() })
	for i, e := range entries {
		begins := e.kind == running || e.kind == metric
		moved := begins && e.source != "" && source != "" && e.source != source
		start := e.kind == version || e.kind == started
		if undated := dated && e.time.IsZero(); undated && e.kind.ofOperator() && !e.crash { // prose
			continue
		}
		repeated := start && starting(entries[:i], e)
		restarted := i > 0 && start && !repeated
		if other := paste >= 0 && e.paste != paste; other || moved || restarted {
			if i > 0 {
				run++
			}
			l.close(!moved && !restarted)
		}
		paste, source = e.paste, cmp.Or(e.source, source)
		if e.kind == version && e.err != "" {
			l.versions[run] = e.err
		}
		if !repeated {
			l.see(e, run)
		}
	}
	l.close(true)
	for _, times := range l.times {
		slices.SortStableFunc(times, func(a, b moment) int { return a.time.Compare(b.time) })
	}
	for _, s := range l.Subjects {
		s.finish(l)
	}
	slices.SortStableFunc(l.Subjects, func(a, b *Subject) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// startup is the longest time between the lines of a start.
const startup = 10 * time.Second

// starting reports whether a line is of the start before it: two messages name a start.
func starting(entries []entry, e entry) bool {
	for _, before := range slices.Backward(entries) {
		switch {
		case before.kind == version || before.kind == started:
			return before.kind != e.kind && (e.time.IsZero() || e.time.Sub(before.time) < startup)
		case !before.kind.ofOperator():
			return false
		}
	}
	return false
}

// close ends all polls at the end of a paste or of a run.
func (l *Log) close(cut bool) {
	for _, s := range l.open {
		if p := s.open; cut {
			inactive := p.IsActive != nil && !*p.IsActive
			concluded := p.Created != nil || p.stage >= stageOf[unneeded] || (inactive && p.Pending != nil)
			p.Cut = p.Cut || !concluded
		}
		s.open = nil
	}
	l.open = l.open[:0]
}

func (l *Log) see(e entry, run int) {
	if !e.time.IsZero() {
		l.Undated = false
		if l.From.IsZero() || e.time.Before(l.From) {
			l.From = e.time
		}
		if e.time.After(l.End) {
			l.End = e.time
		}
	}
	if e.time.After(l.ends[run]) {
		l.ends[run] = e.time
	}
	event := Event{entry: e, Run: run}
	if e.kind.ofOperator() {
		if e.kind != fault {
			l.operate(&event)
		}
		l.Operator = append(l.Operator, event)
		return
	}
	s := l.subject(e.name, e.namespace)
	l.times[run] = append(l.times[run], moment{time: e.time, subject: s})
	switch {
	case e.kind == mentioned:
	case stageOf[e.kind] == 0:
		s.Events = append(s.Events, event)
	default:
		if s.open == nil {
			l.open = append(l.open, s)
		}
		s.add(e, run)
		if l.stopped == nil || l.stopped.kind != stopped { // it polls
			l.stopped, l.unleased = nil, nil
		}
	}
}

// renewing is more than the time for which the operator tries to renew its lease.
const renewing = time.Minute

// operate notes what an event says about the operator's lease and polling.
func (l *Log) operate(e *Event) {
	before := l.stopped
	if before != nil && (before.kind != stopped || before.Run != e.Run) {
		before = nil
	}
	l.stopped = nil
	switch u := l.unleased; {
	case e.kind == waits && before != nil: // after its stop
		l.stopped = before
	case e.kind == stopped:
		l.stopped = e
		if before != nil { // another line of the same stop
			e.lease = before.lease
		}
		if recent := u != nil && u.Run == e.Run && e.time.Sub(u.time) < renewing; recent && !e.crash {
			e.lease = cmp.Or(u.err, u.text)
		}
	case e.kind == waits || e.kind == denied:
		l.stopped = e
	case e.kind == unleased:
		l.unleased = e
	case e.kind == leads:
		l.unleased = nil
	}
}

// stageOf orders the lines of a poll.
var stageOf = map[kind]int{
	metric: 1, unreadable: 1, checked: 2, running: 3, pending: 4, selected: 5, percentage: 5, active: 6, inactive: 6,
	unneeded: 7, effective: 7, requested: 8, refused: 9, created: 10, pruned: 11, failed: 12,
}

// add adds a line to the poll of the ScaledJob, or begins the next poll.
func (s *Subject) add(e entry, run int) {
	stage := stageOf[e.kind]
	p := s.open
	single := []kind{running, pending, checked, effective, created, requested, unneeded} // a poll has one of each
	next := p == nil || stage < p.stage || (stage == p.stage && slices.Contains(single, e.kind))
	if late := p != nil && e.kind == metric && p.stage == stageOf[checked]; late && next { // out of order within a second
		next = !p.Time.Equal(e.time)
	}
	if next {
		if p != nil {
			p.followed = true
		}
		p = &Poll{Time: e.time, Line: e.number, Run: run, source: e.source, Cut: stage > stageOf[running], HasBeginning: stage < stageOf[running]}
		s.Polls = append(s.Polls, p)
		s.open = p
	}
	p.stage = stage
	if !e.time.IsZero() {
		p.until = e.time
	}
	p.set(e)
}

func (p *Poll) set(e entry) {
	n, yes, zero := new(e.count), true, int64(0)
	switch e.kind {
	case metric:
		if e.values != nil {
			p.Triggers = append(p.Triggers, e.values.trigger)
		}
	case unreadable:
		p.Errors = append(p.Errors, e.text)
	case checked:
		p.IsActive, p.MaxValue = cmp.Or(e.values.active, p.IsActive), cmp.Or(e.values.maxValue, p.MaxValue)
	case running:
		p.Running = n
	case pending:
		p.Pending = n
	case selected:
		p.Strategy = cmp.Or(e.text, p.Strategy)
	case percentage:
		p.Strategy = "default"
	case active, inactive:
		yes = e.kind == active
		p.IsActive = &yes
	case unneeded:
		p.IsActive, p.Effective, p.Requested, p.Created = &yes, &zero, &zero, &zero
	case effective:
		p.Effective, p.IsActive = n, &yes
	case requested:
		p.Requested = n
	case refused:
		p.Refused = append(p.Refused, e.text)
	case created:
		if e.numbered {
			p.Created = n
		}
	case pruned:
		p.Pruned++
	}
}

var metricName = regexp.MustCompile(`"(s[0-9]+-[^"]*|queueLength)"\s*:\s*(-?[0-9][0-9.eE+]*)`)

func triggerOf(l line) (t Trigger, ok bool) {
	m := metricName.FindStringSubmatch(l.text)
	if m == nil {
		return t, false
	}
	value, err := strconv.ParseFloat(m[2], 64)
	target, failed := strconv.ParseFloat(l.fields["targetAverageValue"], 64)
	t = Trigger{strings.Clone(m[1]), value, target, l.fields["isTriggerActive"] == "true"}
	if fragment := !strings.Contains(l.text, "Scaler Metric value"); fragment { // the activity and the target are left out
		t.Active, t.Target, failed = value > 0, -1, nil
	}
	return t, err == nil && failed == nil
}

// settled is the time after which a missing line of a poll is not late but was not written.
const settled = 2 * time.Second

// finish removes polls that were pasted twice, and decides which polls are complete.
func (s *Subject) finish(l *Log) {
	visited := map[string]bool{}
	s.Polls = slices.DeleteFunc(s.Polls, func(p *Poll) bool {
		if p.Time.IsZero() || p.Running == nil {
			return false
		}
		key := p.key()
		repeated := visited[key]
		visited[key] = true
		return repeated
	})
	for _, p := range s.Polls {
		if p.Cut && p.followed && p.Running != nil {
			p.Cut = false
		}
		if p.Cut && p.Running != nil && p.Pending != nil && p.IsActive == nil && l.later(p) {
			p.Cut = false
		}
		open := p.Effective != nil && *p.Effective > 0 && p.Created == nil && len(p.Refused) == 0
		if filtered := p.Pending == nil && p.Effective == nil; p.Running == nil || filtered || (open && !p.followed) {
			p.Cut = true
		}
	}
}

func (p *Poll) key() string {
	text := p.Time.String() + strconv.FormatInt(*p.Running, 10)
	for _, n := range []*int64{p.Pending, p.Created} {
		if n != nil {
			text += " " + strconv.FormatInt(*n, 10)
		}
	}
	return text + strings.Join(p.Errors, "")
}
