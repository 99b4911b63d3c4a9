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
	At    time.Time // the first line's
	Line  int       // the first line's number
	Run   int       // the run of the operator, or the paste, from 0
	Cut   bool
	Began bool // lines before the count of running Jobs are known

	Triggers  []Trigger
	Errors    []string // of triggers
	MaxValue  *float64 // T before it is rounded up
	IsActive  *bool    // seen; at level info an active poll has lines about creating
	Running   *int64   // R
	Pending   *int64   // P
	Strategy  string   // the selected strategy
	Effective *int64   // the strategy's answer, at least 0
	Wanted    *int64
	Created   *int64
	Refused   []string // errors of creates
	Pruned    int
	Measured  bool // Triggers are of Prometheus

	source string    // the operator's pod
	until  time.Time // the last line's
	stage  int
	ended  bool // a later line shows that nothing is missing
}

// A Trigger is the value of a trigger in the log.
type Trigger struct {
	Name   string // of the metric
	Value  float64
	Target float64
	Active bool
}

// An Event is a line about a ScaledJob or the operator outside of polls.
type Event struct {
	entry
	Run   int
	lease string // of a stop: the error about the lease right before it
}

// A Subject is a ScaledJob in the log.
type Subject struct {
	Name, Namespace string
	Polls           []*Poll
	Events          []Event
	// Mixed reports that several namespaces have the name, so that lines of level 1,
	// which have no namespace, belong to none of them.
	Mixed bool

	open *Poll
}

// A Log is the content of a log, by ScaledJob.
type Log struct {
	Subjects []*Subject
	Operator []Event // of starts, stops and leases
	Lines    int
	Known    int // lines with a known message
	Short    int // lines whose number or name was cut off
	Reversed bool
	Undated  bool // no line has a time
	Version  string
	From, To time.Time
	// Releases are the first and the last release that write such lines; "" is no bound.
	First, Last string
	stopped     *Event   // why the operator does not poll at the end of the log
	unleased    *Event   // the last error about the lease, if the operator neither led nor polled since
	times       []moment // of all dated lines, in their order
	entries     []entry
}

// A moment is when a line is written, and of what.
type moment struct {
	at      time.Time
	run     int
	subject *Subject // nil is the operator
}

// Read reads a log in any of the forms in which people paste it.
func Read(texts ...string) *Log {
	l := &Log{Undated: true}
	var entries []entry
	pastes := 0
	for _, text := range texts {
		lines, next := split(text, pastes)
		pastes = next
		l.Lines += len(lines)
		others := false // the next version is another component's
		for _, line := range lines {
			switch e, ok := known(line); {
			case e.short:
				l.Short++
			case e.kind == other:
				others = true
			case ok && e.kind == version && others:
				others = false
			case ok:
				others = others && e.kind != started
				entries = append(entries, e)
			}
		}
	}
	l.Known = len(entries)
	complete(entries)
	l.order(entries)
	for _, e := range entries {
		l.bound(e)
	}
	l.entries = slices.Clone(entries)
	entries = l.assign(entries)
	l.join(entries)
	return l
}

// Values returns the values of the last poll of a ScaledJob that has one of each trigger, or nil.
func (l *Log) Values(namespace, name string, triggers int) []Trigger {
	for _, s := range l.Subjects {
		if s.Name != name || s.Namespace != namespace {
			continue
		}
		for _, p := range slices.Backward(s.Polls) {
			if len(p.Triggers) == triggers && len(p.Errors) == 0 {
				return p.Triggers
			}
		}
	}
	return nil
}

// complete gives times of klog, which have no year and no zone, those of the nearest line before, or else after.
func complete(entries []entry) {
	var near time.Time
	for _, e := range entries {
		if e.at.Year() > 0 && !e.at.IsZero() && near.IsZero() {
			near = e.at
		}
	}
	for i := range entries {
		switch e := &entries[i]; {
		case e.at.IsZero():
		case e.at.Year() > 0:
			near = e.at
		case klog.MatchString(e.text) && !near.IsZero():
			e.at = time.Date(near.Year(), e.at.Month(), e.at.Day(), e.at.Hour(), e.at.Minute(), e.at.Second(), 0, near.Location())
		}
	}
}

// order brings each paste into the order of time.
func (l *Log) order(entries []entry) {
	for start := 0; start < len(entries); {
		end := start
		for end < len(entries) && entries[end].paste == entries[start].paste {
			end++
		}
		if part := entries[start:end]; backwards(part) {
			slices.Reverse(part)
			l.Reversed = true
		}
		start = end
	}
	// pastes in the order of their times; files that overlap are merged
	first := map[int]time.Time{}
	for _, e := range entries {
		if _, ok := first[e.paste]; !ok && !e.at.IsZero() {
			first[e.paste] = e.at
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.paste == b.paste || first[a.paste].IsZero() || first[b.paste].IsZero() {
			return cmp.Compare(a.paste, b.paste)
		}
		return first[a.paste].Compare(first[b.paste])
	})
}

// backwards reports whether the newest line is first: by the times, or if they are equal or
// missing by the order in which the operator writes the lines of a poll.
func backwards(part []entry) bool {
	balance := 0
	for i := 1; i < len(part); i++ {
		a, b := part[i-1], part[i]
		if !a.at.IsZero() && !b.at.IsZero() && a.source == b.source {
			balance += b.at.Compare(a.at)
		}
	}
	if balance != 0 {
		return balance < 0
	}
	for i := 1; i < len(part); i++ {
		switch a, b := part[i-1].kind, part[i].kind; [2]kind{min(a, b), max(a, b)} {
		case [2]kind{running, pending}, [2]kind{effective, wanted}, [2]kind{wanted, created}:
			balance += cmp.Compare(b, a)
		}
	}
	return balance < 0
}

// assign gives lines without a namespace to the only ScaledJob of the name.
func (l *Log) assign(entries []entry) (kept []entry) {
	spaces := map[string][]string{}
	for _, e := range entries {
		if e.namespace != "" && !slices.Contains(spaces[e.name], e.namespace) {
			spaces[e.name] = append(spaces[e.name], e.namespace)
		}
	}
	for _, e := range entries {
		if all := spaces[e.name]; !e.kind.ofOperator() && e.namespace == "" && len(all) > 0 {
			if len(all) > 1 {
				for _, namespace := range all {
					l.subject(e.name, namespace).Mixed = true
				}
				continue
			}
			e.namespace = all[0]
		}
		kept = append(kept, e)
	}
	return kept
}

func (l *Log) subject(name, namespace string) *Subject {
	i := slices.IndexFunc(l.Subjects, func(s *Subject) bool { return s.Name == name && s.Namespace == namespace })
	if i < 0 {
		i = len(l.Subjects)
		l.Subjects = append(l.Subjects, &Subject{Name: name, Namespace: namespace})
	}
	return l.Subjects[i]
}

// join puts the lines of each ScaledJob into polls.
func (l *Log) join(entries []entry) {
	run, paste, source := 0, -1, ""
	dated := slices.ContainsFunc(entries, func(e entry) bool { return !e.at.IsZero() })
	for i, e := range entries {
		moved := e.source != "" && source != "" && e.source != source && (e.kind == running || e.kind == metric)
		start := e.kind == version || e.kind == started
		prose := dated && e.at.IsZero() && e.kind.ofOperator() && !e.crash()
		if prose || start && starting(entries[:i], e) {
			continue
		}
		restarted := i > 0 && start
		if paste >= 0 && e.paste != paste || moved || restarted {
			if i > 0 {
				run++
			}
			l.close(!moved && !restarted)
		}
		paste, source = e.paste, cmp.Or(e.source, source)
		l.see(e, run)
	}
	l.close(true)
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
			return before.kind != e.kind && (e.at.IsZero() || e.at.Sub(before.at) < startup)
		case !before.kind.ofOperator():
			return false
		}
	}
	return false
}

// close ends all polls at the end of a paste or of a run.
func (l *Log) close(cut bool) {
	for _, s := range l.Subjects {
		if s.open != nil && cut {
			s.open.Cut = s.open.Cut || !s.open.concluded()
		}
		s.open = nil
	}
}

// concluded reports whether the poll has a line that only the end of a poll has.
func (p *Poll) concluded() bool {
	return p.Created != nil || p.stage >= stageOf[nothing] || p.IsActive != nil && !*p.IsActive && p.Pending != nil
}

func (l *Log) see(e entry, run int) {
	if !e.at.IsZero() {
		l.Undated = false
		if l.From.IsZero() || e.at.Before(l.From) {
			l.From = e.at
		}
		if e.at.After(l.To) {
			l.To = e.at
		}
	}
	event := Event{entry: e, Run: run}
	switch {
	case e.kind.ofOperator():
		l.operate(&event)
		l.Operator = append(l.Operator, event)
		l.times = append(l.times, moment{e.at, run, nil})
		return
	}
	if e.kind == another {
		l.times = append(l.times, moment{e.at, run, &Subject{}})
		return
	}
	s := l.subject(e.name, e.namespace)
	l.times = append(l.times, moment{e.at, run, s})
	if stageOf[e.kind] == 0 {
		event.text = cmp.Or(e.fields["error"], e.fields["err"], e.text)
		s.Events = append(s.Events, event)
		return
	}
	s.add(e, run)
	if l.stopped == nil || l.stopped.kind != stopped { // it polls
		l.stopped, l.unleased = nil, nil
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
		if u != nil && u.Run == e.Run && e.at.Sub(u.at) < renewing && !e.crash() {
			e.lease = cmp.Or(u.fields["error"], u.text)
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
	nothing: 7, effective: 7, wanted: 8, refused: 9, created: 10, pruned: 11, failed: 12,
}

// add adds a line to the poll of the ScaledJob, or begins the next poll.
func (s *Subject) add(e entry, run int) {
	stage := stageOf[e.kind]
	p := s.open
	next := p == nil || stage < p.stage || stage == p.stage && (e.kind == running || e.kind == pending || e.kind == checked ||
		e.kind == effective || e.kind == created || e.kind == wanted || e.kind == nothing)
	if next && p != nil && e.kind == metric && p.stage == stageOf[checked] { // a line out of order within a second
		next = !p.At.Equal(e.at)
	}
	if next {
		if p != nil {
			p.ended = true
		}
		p = &Poll{At: e.at, Line: e.line.number, Run: run, source: e.source, Cut: stage > stageOf[running], Began: stage < stageOf[running]}
		s.Polls = append(s.Polls, p)
		s.open = p
	}
	p.stage = stage
	if !e.at.IsZero() {
		p.until = e.at
	}
	p.set(e)
}

func (p *Poll) set(e entry) {
	n, on, none := &e.number, true, int64(0)
	switch e.kind {
	case metric:
		if t, ok := triggerOf(e); ok {
			p.Triggers = append(p.Triggers, t)
		}
	case unreadable:
		p.Errors = append(p.Errors, cmp.Or(e.fields["error"], e.fields["Error"], "no text"))
	case checked:
		if text, found := e.fields["isActive"]; found {
			on = text == "true"
			p.IsActive = &on
		}
		if v, err := strconv.ParseFloat(e.fields["maxValue"], 64); err == nil {
			p.MaxValue = &v
		}
	case running:
		p.Running = n
	case pending:
		p.Pending = n
	case selected:
		p.Strategy = cmp.Or(e.fields["selected"], e.fields["selected:"], p.Strategy)
	case percentage:
		p.Strategy = "default"
	case active, inactive:
		on = e.kind == active
		p.IsActive = &on
	case nothing:
		p.IsActive, p.Effective, p.Wanted, p.Created = &on, &none, &none, &none
	case effective:
		p.Effective, p.IsActive = n, &on
	case wanted:
		p.Wanted = n
	case refused:
		p.Refused = append(p.Refused, cmp.Or(e.fields["error"], "no text"))
	case created:
		if e.numbered {
			p.Created = n
		}
	case pruned:
		p.Pruned++
	}
}

var metricName = regexp.MustCompile(`"(s[0-9]+-[^"]*|queueLength)"\s*:\s*(-?[0-9][0-9.eE+]*)`)

func triggerOf(e entry) (t Trigger, ok bool) {
	m := metricName.FindStringSubmatch(e.text)
	if m == nil {
		return t, false
	}
	t.Name = m[1]
	value, err := strconv.ParseFloat(m[2], 64)
	target, failed := strconv.ParseFloat(e.fields["targetAverageValue"], 64)
	t.Value, t.Target, t.Active = value, target, e.fields["isTriggerActive"] == "true"
	if fragment := !strings.Contains(e.text, "Scaler Metric value"); fragment { // the activity and the target are left out
		t.Active, t.Target, failed = value > 0, -1, nil
	}
	return t, err == nil && failed == nil
}

// settled is the time after which a missing line of a poll is not late but was not written.
const settled = 2 * time.Second

// finish removes polls that were pasted twice, and decides which polls are complete.
func (s *Subject) finish(l *Log) {
	seen := map[string]bool{}
	s.Polls = slices.DeleteFunc(s.Polls, func(p *Poll) bool {
		if p.At.IsZero() || p.Running == nil {
			return false
		}
		key := p.key()
		again := seen[key]
		seen[key] = true
		return again
	})
	for _, p := range s.Polls {
		if p.Cut && p.ended && p.Running != nil {
			p.Cut = false
		}
		if p.Cut && p.Running != nil && p.Pending != nil && p.IsActive == nil && l.later(p) {
			p.Cut = false
		}
		open := p.Effective != nil && *p.Effective > 0 && p.Created == nil && len(p.Refused) == 0
		if filtered := p.Pending == nil && p.Effective == nil; p.Running == nil || filtered || open && !p.ended {
			p.Cut = true
		}
	}
}

func (p *Poll) key() string {
	text := p.At.String() + strconv.FormatInt(*p.Running, 10)
	for _, n := range []*int64{p.Pending, p.Created} {
		if n != nil {
			text += " " + strconv.FormatInt(*n, 10)
		}
	}
	return text + strings.Join(p.Errors, "")
}

// later reports whether the log of the run goes on long after the poll's last line.
func (l *Log) later(p *Poll) bool {
	return !p.until.IsZero() && l.last(p.Run, nil, time.Time{}).Sub(p.until) >= settled
}

// last returns the time of a run's last line before a time, if one is given: of any, or about another
// ScaledJob.
func (l *Log) last(run int, except *Subject, before time.Time) (last time.Time) {
	for _, m := range l.times {
		if m.run == run && (except == nil || m.subject != nil && m.subject != except) && (before.IsZero() || m.at.Before(before)) && m.at.After(last) {
			last = m.at
		}
	}
	return last
}
