package why

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/keda"
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
	Forgotten  int // lines with a known message that are older than what was kept
	Output     int // the first line of kubectl's output, which is no log, or 0
	Reversed   bool
	Undated    bool // no line has a time
	Version    string
	From, End  time.Time
	// Releases are the first and the last release that write such lines; "" is no bound.
	First, Last   string
	scaledObjects bool             // it has lines about ScaledObjects
	unnumbered    bool             // a known line does not have "Number of"
	running       bool             // a line counts running Jobs
	unknownKind   bool             // the API server does not know the kind ScaledJob
	stopped       *Event           // why the operator does not poll at the end of the log
	unleased      *Event           // the last error about the lease, if the operator neither led nor polled since
	times         map[int][]moment // of lines about ScaledJobs, by run, in order
	ends          map[int]time.Time
	versions      map[int]string // of runs, if a line has it
	subjects      map[[2]string]*Subject
	open          []*Subject // with an open poll
	candidates    []keda.Profile
	unreadable    map[string]struct{ id, text, fix string } // by the error of a trigger
	shared        []Group                                   // of the operator's events, in the timeline of each ScaledJob
	unshared      int                                       // older groups, in none
}

// A moment is the time of a line and its subject.
type moment struct {
	time    time.Time
	subject *Subject
}

// maxKept is the number of lines with a known message that are kept: two days of 20 ScaledJobs, or 60 MB of a log. With more,
// the older ones are left out.
const maxKept = 300_000

// maxText is the number of bytes of the different texts of these lines, such as errors.
const maxText = 64 << 20

// A reader keeps of a log what an answer needs.
type reader struct {
	*Log
	name    string    // of the only ScaledJob asked about, or ""
	until   time.Time // the moment asked about, or zero
	entries []entry
	texts   map[string]string // one copy of each name and text
	size    int               // bytes of the copies
	skipped int               // the paste of which no more is kept, or -1
	others  bool              // the next version is another component's
}

// Read reads logs in any of the forms in which people paste them.
func Read(texts ...string) *Log {
	readers := make([]io.Reader, len(texts))
	for i, text := range texts {
		readers[i] = strings.NewReader(text)
	}
	l, _ := Scan("", time.Time{}, readers...) // a string has no error
	return l
}

// Scan reads logs line by line, and keeps what answers need: about a ScaledJob if a name is given, and until a moment if one is.
func Scan(name string, until time.Time, texts ...io.Reader) (*Log, error) {
	r := &reader{Log: &Log{Undated: true, versions: map[int]string{}, subjects: map[[2]string]*Subject{}, times: map[int][]moment{}, ends: map[int]time.Time{}, unreadable: map[string]struct{ id, text, fix string }{}},
		name: name, until: until, texts: map[string]string{}, skipped: -1}
	s := splitter{emit: r.read}
	for _, text := range texts {
		r.others = false
		if err := s.scan(text); err != nil {
			return nil, err
		}
	}
	r.Output = s.output
	complete(r.entries)
	r.order(r.entries)
	r.join(r.assign(r.entries))
	return r.Log, nil
}

func (r *reader) read(l line) {
	r.Lines++
	e, ok := classify(l)
	r.scaledObjects = r.scaledObjects || e.scaledObject
	switch {
	case e.short:
		r.Short++
		return
	case e.kind == other:
		r.others = true
		return
	case ok && e.kind == version && r.others:
		r.others = false
		return
	case !ok:
		r.unknownKind = r.unknownKind || strings.Contains(l.text, `no matches for kind "ScaledJob"`)
		return
	}
	r.others = r.others && e.kind != started
	r.Recognized++
	r.bound(l, e)
	r.unnumbered = r.unnumbered || !strings.Contains(l.text, "Number of")
	r.running = r.running || (e.kind == running && e.count > 0)
	if named := e.name != "" && !e.kind.ofOperator(); named && r.name != "" && e.name != r.name { // its time is enough
		e.kind, e.text, e.values = mentioned, "", nil
		if n := len(r.entries); n > 0 && r.entries[n-1].kind == mentioned && r.entries[n-1].time.Equal(e.time) {
			return
		}
	}
	if r.skipped == e.paste {
		r.Forgotten++
		return
	}
	r.share(&e)
	if r.entries = append(r.entries, e); len(r.entries) >= maxKept || r.size > maxText {
		r.forget()
	}
}

// share lets an entry have the texts of others that are equal.
func (r *reader) share(e *entry) {
	for _, text := range []*string{&e.name, &e.namespace, &e.source, &e.text, &e.err} {
		*text = r.single(*text)
	}
}

// single returns the one copy of a text, which holds no other text of its line.
func (r *reader) single(text string) string {
	const limit = 8 << 10
	text = text[:min(limit, len(text))]
	copied, found := r.texts[text]
	if !found {
		if len(r.texts) > maxKept {
			clear(r.texts)
		}
		copied = strings.Clone(text)
		r.size += len(text)
		r.texts[copied] = copied
	}
	return copied
}

// forget leaves out what is after the moment asked about, and else the older half.
func (r *reader) forget() {
	paste := r.entries[len(r.entries)-1].paste
	if end := r.until.Add(time.Minute); !r.until.IsZero() {
		r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.time.After(end) })
	}
	n := len(r.entries)
	if n > maxKept/2 || r.size > maxText/2 {
		from := slices.IndexFunc(r.entries, func(e entry) bool { return e.paste == paste })
		if from >= 0 && backwards(r.entries[from:]) { // the remainder is older
			r.skipped = paste
		}
		r.order(r.entries)
		r.entries = slices.Delete(r.entries, 0, len(r.entries)/2)
	}
	r.Forgotten += n - len(r.entries)
	clear(r.texts)
	r.size = 0
	for i := range r.entries {
		r.share(&r.entries[i])
	}
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
		case e.klog && !near.IsZero():
			e.time = time.Date(near.Year(), e.time.Month(), e.time.Day(), e.time.Hour(), e.time.Minute(), e.time.Second(), 0, near.Location())
		}
	}
}

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
	kept = entries[:0]
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
	key := [2]string{namespace, name}
	s := l.subjects[key]
	if s == nil {
		s = &Subject{Name: name, Namespace: namespace}
		l.subjects[key] = s
		l.Subjects = append(l.Subjects, s)
	}
	return s
}

// later reports whether the log of the run goes on long after the poll's last line.
func (l *Log) later(p *Poll) bool {
	return !p.until.IsZero() && l.ends[p.Run].Sub(p.until) >= settled
}

// lastOfOthers returns the time of a run's last line about another ScaledJob, before a time if one is given.
func (l *Log) lastOfOthers(run int, s *Subject, before time.Time) time.Time {
	for _, m := range slices.Backward(l.times[run]) {
		if m.subject != s && (before.IsZero() || m.time.Before(before)) {
			return m.time
		}
	}
	return time.Time{}
}
