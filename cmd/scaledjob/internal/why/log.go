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
	Subjects   []*Subject
	Operator   []Event // of starts, stops and leases
	Lines      int
	Recognized int // lines with a known message
	Short      int // lines whose number or name was cut off
	Reversed   bool
	Undated    bool // no line has a time
	Version    string
	From, End  time.Time
	// Releases are the first and the last release that write such lines; "" is no bound.
	First, Last   string
	scaledObjects bool           // it has lines about ScaledObjects
	stopped       *Event         // why the operator does not poll at the end of the log
	unleased      *Event         // the last error about the lease, if the operator neither led nor polled since
	times         []moment       // of all dated lines, in their order
	versions      map[int]string // of runs, if a line has it
	entries       []entry
}

// A moment is the time of a line and its subject.
type moment struct {
	time    time.Time
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
			e, ok := classify(line)
			l.scaledObjects = l.scaledObjects || e.scaledObject
			switch {
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
	l.Recognized = len(entries)
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
		if e.time.Year() > 0 && !e.time.IsZero() && near.IsZero() {
			near = e.time
		}
	}
	for i := range entries {
		switch e := &entries[i]; {
		case e.time.IsZero():
		case e.time.Year() > 0:
			near = e.time
		case klog.MatchString(e.text) && !near.IsZero():
			e.time = time.Date(near.Year(), e.time.Month(), e.time.Day(), e.time.Hour(), e.time.Minute(), e.time.Second(), 0, near.Location())
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
		if _, ok := first[e.paste]; !ok && !e.time.IsZero() {
			first[e.paste] = e.time
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
		if !a.time.IsZero() && !b.time.IsZero() && a.source == b.source {
			balance += b.time.Compare(a.time)
		}
	}
	if balance != 0 {
		return balance < 0
	}
	for i := 1; i < len(part); i++ {
		switch a, b := part[i-1].kind, part[i].kind; [2]kind{min(a, b), max(a, b)} {
		case [2]kind{running, pending}, [2]kind{effective, requested}, [2]kind{requested, created}:
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
		if namespaces := spaces[e.name]; !e.kind.ofOperator() && e.namespace == "" && len(namespaces) > 0 {
			if len(namespaces) > 1 {
				for _, namespace := range namespaces {
					l.subject(e.name, namespace).Mixed = true
				}
				continue
			}
			e.namespace = namespaces[0]
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
		if m.run == run && (except == nil || (m.subject != nil && m.subject != except)) && (before.IsZero() || m.time.Before(before)) && m.time.After(last) {
			last = m.time
		}
	}
	return last
}
