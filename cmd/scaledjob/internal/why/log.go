package why

import (
	"cmp"
	"slices"
	"time"
)

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
	stopped     *Event         // why the operator does not poll at the end of the log
	unleased    *Event         // the last error about the lease, if the operator neither led nor polled since
	times       []moment       // of all dated lines, in their order
	versions    map[int]string // of runs, if a line has it
	entries     []entry
}

// A moment is the time of a line and its subject.
type moment struct {
	at      time.Time
	run     int
	subject *Subject // nil is the operator
}

// Read reads a log in any of the forms in which people paste it.
func Read(texts ...string) *Log {
	l := &Log{Undated: true, versions: map[int]string{}}
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

// later reports whether the log of the run goes on long after the poll's last line.
func (l *Log) later(p *Poll) bool {
	return !p.until.IsZero() && l.last(p.Run, nil, time.Time{}).Sub(p.until) >= settled
}

// last returns the time of a run's last line before a time, if one is given: of any, or about another
// ScaledJob.
func (l *Log) last(run int, except *Subject, before time.Time) (last time.Time) {
	for _, m := range l.times {
		if m.run == run && (except == nil || (m.subject != nil && m.subject != except)) && (before.IsZero() || m.at.Before(before)) && m.at.After(last) {
			last = m.at
		}
	}
	return last
}
