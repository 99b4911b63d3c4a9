package why

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A Question is what to explain.
type Question struct {
	Name, Namespace string // "" is all
	Manifests       []*manifest.ScaledJob
	Release         string           // "" is found in the log
	Live            map[string]*Live // of the cluster, by name
	Pasted          []*Paste         // of kubectl, instead of a cluster
	Past            Metrics          // of Prometheus
	Moment          time.Time        // the moment asked about; the zero value is the end of the log
}

// A Report explains the ScaledJobs of a log.
type Report struct {
	Release  string     `json:"release"`
	Basis    Basis      `json:"releaseBasis"`
	Reason   string     `json:"releaseWhy,omitempty"`
	Notes    []string   `json:"notes,omitempty"`
	Subjects []*Account `json:"scaledJobs"`

	fitting []keda.Profile // releases that can have written the log, if there are several
}

// An Account is what a log shows of a ScaledJob.
type Account struct {
	Name      string     `json:"name"`
	Namespace string     `json:"namespace,omitempty"`
	State     string     `json:"state"` // for a list of many: stuck, unreadable, …
	Polls     int        `json:"polls"`
	Complete  int        `json:"complete"`
	Compared  int        `json:"compared"` // computed again
	Differ    int        `json:"differ"`
	Interval  string     `json:"interval,omitempty"`
	Groups    []Group    `json:"timeline"`
	Causes    []Cause    `json:"causes"` // of the moment asked about, the most important first
	Also      []Cause    `json:"also,omitempty"`
	Answer    string     `json:"answer"`
	Notes     []string   `json:"notes,omitempty"`
	Lint      []string   `json:"lint,omitempty"`
	verdicts  []*Verdict `json:"-"`
}

// A Group is a line of the timeline: polls that are alike, or an event.
type Group struct {
	From  time.Time `json:"from,omitzero"`
	End   time.Time `json:"to,omitzero"`
	Line  int       `json:"line"`
	Run   int       `json:"run"`
	Polls int       `json:"polls,omitempty"` // 0 is an event
	Times int       `json:"times,omitempty"` // of an error that occurs more than once, anywhere between From and To
	Text  string    `json:"text"`
	Cause *Cause    `json:"cause,omitempty"`
	like  string
}

// Explain answers a question about a log.
func Explain(l *Log, q Question) *Report {
	r := &Report{}
	profile := r.release(l, q)
	r.Notes = append(r.Notes, l.notes()...)
	if l.Output > 0 && len(q.Pasted) == 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("line %d begins output of kubectl that was not read: give that output in a --log file of its own, of at most 16 MiB", l.Output))
	}
	if outside := l.From.IsZero() || q.Moment.Before(l.From) || q.Moment.After(l.End); outside && !q.Moment.IsZero() {
		r.Notes = slices.Insert(r.Notes, 0, fmt.Sprintf("--at %s is outside the log, %s to %s; give the log of that time", clockOf(q.Moment, true), clockOf(l.From, true), clockOf(l.End, true)))
	}
	present := map[string]bool{}
	for _, s := range l.Subjects {
		present[s.Name] = true
	}
	add := func(namespace, name string) { // a ScaledJob without a line
		if !present[name] {
			present[name] = true
			l.Subjects = append(l.Subjects, &Subject{Name: name, Namespace: namespace})
		}
	}
	if len(l.Subjects) == 0 && l.Recognized > 0 { // all lines are about the operator
		for _, m := range q.Manifests {
			add(m.Namespace, m.Name)
		}
	}
	for _, p := range q.Pasted {
		if p.Name == "" && len(q.Manifests) == 1 {
			p.Name, p.Namespace = q.Manifests[0].Name, q.Manifests[0].Namespace
		}
		add(p.Namespace, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Live)) {
		add(q.Namespace, name)
	}
	for _, s := range l.Subjects {
		spec, note := q.manifest(s, len(l.Subjects))
		if !q.asks(s.Name, s.Namespace) {
			continue
		}
		j := newJudge(l, s, spec, profile)
		j.sure, j.chosen = r.Basis == Observed, q.Release != ""
		past := q.Past.ForScaledJob(cmp.Or(q.Namespace, s.Namespace, j.ns), s.Name)
		j.measure(s, past)
		a := account(l, s, j, q.Moment, past)
		a.Groups = timeline(l, s, a.verdicts, j.past(s, past))
		r.byRelease(l, s, q, spec, a)
		j.live(a, q.state(s, spec))
		if note != "" {
			a.Notes = append(a.Notes, note)
		}
		a.verdicts = nil // of many ScaledJobs the report is enough
		r.Subjects = append(r.Subjects, a)
	}
	if l.unshared > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of the operator, the oldest, are left out of the timelines of %s; read one ScaledJob's part of the log with grep", field.Plural(l.unshared, "event"), field.Plural(len(l.Subjects), "ScaledJob")))
	}
	if q.Name != "" && len(r.Subjects) == 0 && l.Recognized > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no line is about the ScaledJob %q: KEDA does not poll it, or the log is of another time or operator. The log has %s", q.Name, names(l)))
	}
	return r
}

// notes describes the form of the log.
func (l *Log) notes() (notes []string) {
	if l.Short > 0 {
		notes = append(notes, fmt.Sprintf("the number or the name of the ScaledJob is cut off in %s, as by less -S or a narrow terminal; give whole lines", field.Plural(l.Short, "line")))
	}
	if l.Forgotten > 0 {
		notes = append(notes, fmt.Sprintf("the log has more lines than are kept: %s before %s are left out; read an older part with --at or --name", field.Plural(l.Forgotten, "line"), clockOf(l.From, true)))
	}
	switch {
	case l.Recognized == 0 && l.scaledObjects:
		return append(notes, "all lines are about ScaledObjects, which scale Deployments and create no Jobs; give the lines of a ScaledJob")
	case l.Recognized == 0 && l.unknownKind:
		return append(notes, "the API server knows no ScaledJobs: KEDA 2 is not installed in this cluster, or its CRDs are not; apply those of its release")
	case l.Recognized == 0 && l.Lines == 0:
		return notes
	case l.Recognized == 0:
		return append(notes, "no line of KEDA's operator that is about a ScaledJob was found; use kubectl logs -n keda deploy/keda-operator")
	case l.Reversed:
		notes = append(notes, "the log has the newest line first")
	}
	if l.Undated {
		notes = append(notes, "the lines have no time: gaps and the polling interval are not known")
	}
	// Without running Jobs, an active poll creates some, which such lines show.
	if l.Recognized == l.Lines && !l.unnumbered && l.running {
		notes = append(notes, "each line has \"Number of\": if the log was filtered by it, lines such as \"No need to create jobs\" are missing, and a poll looks inactive that is not")
	}
	return notes
}

// asks reports whether the question is about the ScaledJob of a line. A line without a name may be
// of the only manifest.
func (q *Question) asks(name, namespace string) bool {
	if !sameNamespace(namespace, q.Namespace) || (q.Live != nil && q.Live[name] == nil) {
		return false
	}
	unnamed := name == "" && len(q.Manifests) == 1
	return q.Name == "" || name == q.Name || unnamed
}

// sameNamespace reports whether two namespaces may be the same; "" is not known.
func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// state is that of a cluster, or of pastes.
func (q *Question) state(s *Subject, spec *manifest.ScaledJob) *Live {
	live := q.Live[s.Name]
	for _, p := range q.Pasted {
		if p.Name != s.Name || !sameNamespace(p.Namespace, s.Namespace) {
			continue
		}
		if live == nil {
			live = &Live{}
		}
		live.Conditions, live.Events = append(live.Conditions, p.Live.Conditions...), append(live.Events, p.Live.Events...)
		live.Deleted = cmp.Or(live.Deleted, p.Live.Deleted)
	}
	if spec != nil && spec.DeletionTimestamp != nil {
		live = cmp.Or(live, &Live{})
		live.Deleted = spec.DeletionTimestamp.UTC().Format(time.RFC3339)
	}
	return live
}

func names(l *Log) string {
	var all []string
	for _, s := range l.Subjects {
		all = append(all, titled(s.Namespace, s.Name))
	}
	if len(all) > 10 {
		all = append(all[:10], "…")
	}
	return cmp.Or(strings.Join(all, ", "), "no ScaledJob")
}

func titled(namespace, name string) string {
	name = cmp.Or(name, "(without a name)")
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (q *Question) manifest(s *Subject, subjects int) (*manifest.ScaledJob, string) {
	for _, m := range q.Manifests {
		if m.Name == s.Name && sameNamespace(m.Namespace, s.Namespace) {
			return m, ""
		}
	}
	if len(q.Manifests) == 1 && (s.Name == "" || subjects == 1) {
		name := fmt.Sprintf("the log names %q", s.Name)
		if s.Name == "" {
			name = "the log does not name the ScaledJob"
		}
		return q.Manifests[0], fmt.Sprintf("%s; the manifest of %q is used", name, q.Manifests[0].Name)
	}
	return nil, "no manifest: minimum, maximum and strategy are not known; add its file, or the output of kubectl get scaledjob -o yaml"
}

func (r *Report) release(l *Log, q Question) keda.Profile {
	profile, err := keda.Release(cmp.Or(q.Release, l.Version))
	switch profiles := l.Candidates(); {
	case err == nil && q.Release == "":
		r.Basis, r.Reason = Observed, "the log says so"
		if versions := slices.Compact(slices.Sorted(maps.Values(l.versions))); len(versions) > 1 {
			r.Reason += ": " + strings.Join(versions, ", then ") + "; each poll is judged by the rules of its release"
		}
	case err == nil:
		r.Basis, r.Reason = Observed, "--release, or the image of the operator"
		if l.Version != "" && compare(l.Version, profile.Release()) != 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("the log says KEDA %s, not %s", l.Version, profile.Release()))
		}
	case len(profiles) == 0:
		profile, r.Basis, r.Reason = keda.Newest(), Inferred, "no release writes all of these lines"
		r.Notes = append(r.Notes, fmt.Sprintf("some lines are of %s or later, others of %s or earlier; give the log of one operator", l.First, l.Last))
	case len(profiles) == 1:
		profile, r.Basis, r.Reason = profiles[0], Inferred, "no other release writes such lines"
	default:
		r.fitting, r.Basis = fitting(l, q, profiles), Inferred
		profile = r.fitting[len(r.fitting)-1]
		r.Reason = fmt.Sprintf("%s to %s write such lines; use --release to name one", profiles[0].Release(), profiles[len(profiles)-1].Release())
	}
	if l.Lines == 0 && q.Release == "" && q.Live == nil { // pastes of kubectl alone
		r.fitting = nil
		return profile
	}
	r.Release = profile.Release()
	if n := len(r.fitting); n > 1 {
		r.Release = r.fitting[0].Release() + " to " + r.fitting[n-1].Release()
	}
	return profile
}

// fitting returns the candidates that agree with most polls, oldest first.
func fitting(l *Log, q Question, candidates []keda.Profile) (best []keda.Profile) {
	fewest := -1
	for _, p := range candidates {
		differ := 0
		for _, s := range l.Subjects {
			spec, _ := q.manifest(s, len(l.Subjects))
			j := newJudge(l, s, spec, p)
			for _, poll := range s.Polls {
				if v := (&Verdict{Poll: poll}); !poll.Cut {
					if j.compare(v); v.Differs != "" {
						differ++
					}
				}
			}
		}
		if fewest < 0 || differ < fewest {
			best, fewest = nil, differ
		}
		if differ == fewest {
			best = append(best, p)
		}
	}
	return best
}

// maxCompared is the number of polls up to which the answers of several releases are compared.
const maxCompared = 5000

// byRelease answers for each range of the releases that can have written the log, if they differ in the cause.
func (r *Report) byRelease(l *Log, s *Subject, q Question, spec *manifest.ScaledJob, a *Account) {
	if len(r.fitting) < 2 || len(s.Polls) > maxCompared || len(a.Causes) == 0 {
		return
	}
	type span struct {
		first, last, id string
		account         *Account
	}
	var spans []span
	for i, p := range r.fitting {
		if i > 0 && alike(r.fitting[i-1], p) {
			if n := len(spans); n > 0 {
				spans[n-1].last = p.Release()
			}
			continue
		}
		j := newJudge(l, s, spec, p)
		j.sure = true
		verdict := account(l, s, j, q.Moment, nil)
		id := verdict.State
		for _, c := range verdict.Causes {
			id += " " + c.ID
		}
		if n := len(spans); n > 0 && spans[n-1].id == id {
			spans[n-1].last, spans[n-1].account = p.Release(), verdict
			continue
		}
		spans = append(spans, span{p.Release(), p.Release(), id, verdict})
	}
	if len(spans) < 2 {
		return
	}
	texts := make([]string, len(spans))
	for i, s := range spans {
		texts[i] = fmt.Sprintf("KEDA %s to %s: %s", s.first, s.last, s.account.Answer)
		if s.first == s.last {
			texts[i] = fmt.Sprintf("KEDA %s: %s", s.first, s.account.Answer)
		}
	}
	a.Answer = "It depends on the release, which the log does not show; give it with --release. " + strings.Join(texts, " ")
}

// alike reports whether two patches of a release differ in no rule. What 2.14.0 logs, 2.14.1 does not.
func alike(p, next keda.Profile) bool {
	return compare(next.Release(), "2.15") >= 0 && compare(minor(p), next.Release()) == 0 && len(keda.Changes(p, next)) == 0
}

func minor(p keda.Profile) string {
	release := p.Release()
	return release[:strings.LastIndexByte(release, '.')]
}

func account(l *Log, s *Subject, j *judge, instant time.Time, past Metrics) *Account {
	a := &Account{Name: s.Name, Namespace: s.Namespace, Polls: len(s.Polls)}
	j.rivals = twoOperators(s)
	for _, p := range s.Polls {
		v := j.in(p.Run).verdict(p)
		a.verdicts = append(a.verdicts, v)
		if !p.Cut {
			a.Complete++
		}
		if v.Compared {
			a.Compared++
		}
		if v.Differs != "" {
			a.Differ++
		}
	}
	stuckFirst(a.verdicts)
	if j.spec != nil {
		if err := j.profile.Validate(j.keda); err != nil {
			a.Notes = strings.Split(err.Error(), "\n")
		}
	}
	if s.Mixed {
		a.Notes = append(a.Notes, "several namespaces have a ScaledJob of this name: lines of level debug, which have no namespace, are left out")
	}
	interval := j.interval(s)
	if interval > 0 {
		a.Interval = interval.Round(time.Second).String()
	}
	if measured := s.interval(); measured > 0 && measured < interval*2/3 {
		a.Notes = append(a.Notes, fmt.Sprintf("polls come every %s, but pollingInterval is %s: the manifest does not match the log, or two operators poll", measured.Round(time.Second), interval))
	}
	a.Also = j.also(l, s, a.verdicts, interval)
	if names := past.failing(); len(names) > 0 {
		a.Notes = append(a.Notes, "in Prometheus the errors of these triggers increase: "+strings.Join(names, ", "))
	}
	j.answer(l, s, a, instant)
	return a
}

// interval returns the manifest's polling interval, or that of the log.
func (j *judge) interval(s *Subject) time.Duration {
	switch {
	case j.spec == nil:
		return s.interval()
	case j.keda.Spec.PollingInterval != nil:
		return time.Duration(*j.keda.Spec.PollingInterval) * time.Second
	}
	return 30 * time.Second
}

// interval returns the median of the times between polls, or 0 if it has too few.
func (s *Subject) interval() time.Duration {
	var durations []time.Duration
	for i := 1; i < len(s.Polls); i++ {
		if p, before := s.Polls[i], s.Polls[i-1]; p.Run == before.Run && !p.Time.IsZero() && p.Time.After(before.Time) {
			durations = append(durations, p.Time.Sub(before.Time))
		}
	}
	if len(durations) < 2 {
		return 0
	}
	slices.Sort(durations)
	return durations[len(durations)/2]
}

// maxShared is the number of the operator's events in all timelines together.
const maxShared = 100_000

// timeline folds the polls that are alike, and puts the events between them.
func timeline(l *Log, s *Subject, verdicts []*Verdict, groups []Group) []Group {
	for _, v := range verdicts {
		groups = append(groups, groupOf(v))
	}
	groups = addEvents(groups, s.Events)
	if l.shared == nil {
		l.shared = addEvents([]Group{}, l.Operator)
		l.unshared = max(0, len(l.shared)-maxShared/len(l.Subjects)) // each of many ScaledJobs has them
		l.shared = l.shared[l.unshared:]
	}
	groups = append(groups, l.shared...)
	slices.SortStableFunc(groups, func(a, b Group) int {
		if a.Run != b.Run {
			return a.Run - b.Run
		}
		if a.From.IsZero() || b.From.IsZero() || a.From.Equal(b.From) {
			if l.Reversed {
				return b.Line - a.Line
			}
			return a.Line - b.Line
		}
		return a.From.Compare(b.From)
	})
	return fold(groups)
}

// addEvents adds a group for each event, or adds an error that occurred before to its group.
func addEvents(groups []Group, events []Event) []Group {
	type occurrence struct {
		text string
		run  int
	}
	first := map[occurrence]int{}
	for _, e := range events {
		text := eventText(e)
		if text == "" {
			continue
		}
		i, occurred := first[occurrence{text, e.Run}]
		if occurred && (e.kind == failure || e.kind == fault) {
			groups[i].End, groups[i].Times = e.time, max(1, groups[i].Times)+1
			continue
		}
		if !occurred {
			first[occurrence{text, e.Run}] = len(groups)
		}
		groups = append(groups, Group{From: e.time, End: e.time, Line: e.number, Run: e.Run, Text: text, like: text})
	}
	return groups
}

func fold(groups []Group) (folded []Group) {
	for _, g := range groups {
		if n := len(folded); n > 0 && folded[n-1].like == g.like && folded[n-1].Run == g.Run {
			folded[n-1].End = g.End
			folded[n-1].Polls += g.Polls
			continue
		}
		folded = append(folded, g)
	}
	return folded
}

func groupOf(v *Verdict) Group {
	g := Group{From: v.Time, End: v.Time, Line: v.Line, Run: v.Run, Polls: 1}
	var parts []string
	add := func(holds bool, format string, args ...any) {
		if holds {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	for _, t := range v.Triggers {
		add(true, "%s", t)
	}
	add(len(v.Errors) > 0, "%s unreadable", field.Plural(len(v.Errors), "trigger"))
	add(v.Running != nil, "R=%d", value(v.Running))
	add(v.Pending != nil, "P=%d", value(v.Pending))
	if v.MaxValue != nil {
		add(true, "T=%v", math.Ceil(*v.MaxValue))
	}
	add(v.Cut && v.Created != nil, "created %d,", value(v.Created))
	add(v.Cut, "incomplete in the log")
	add(v.Measured, "(value of Prometheus)")
	add(!v.Cut, "created %d", value(v.Jobs))
	if len(v.Refused) > 0 && !v.Cut {
		parts[len(parts)-1] += ", " + field.Plural(int(v.refusals()), "create") + " failed"
	}
	if v.Pruned > 0 && !v.Cut {
		parts[len(parts)-1] += ", " + field.Plural(v.Pruned, "finished Job") + " deleted"
	}
	add(v.Differs != "", "(differs: %s)", v.Differs)
	g.Text = strings.Join(parts, " ")
	if g.like = g.Text; len(v.Causes) > 0 {
		g.Cause = &v.Causes[0]
		g.like += g.Cause.ID
	}
	return g
}

// eventTexts are the lines of a timeline for events, with the event's text if it has a place.
var eventTexts = map[kind]string{
	deleted: "the ScaledJob is deleted", unfinalized: "the finalizer could not be removed: %s", paused: "paused: polling stops", unpaused: "unpaused", invalid: "not polled: %s", looped: "the ScaledJob was read; polling begins anew",
	failure: "error: %s", fault: "error of the operator: %s",
	absent: "a TriggerAuthentication is missing: %s", unpruned: "finished Jobs could not be deleted: %s",
	version: "the operator starts", started: "the operator starts", leads: "the operator becomes leader", stopped: "the operator stops or loses its lease",
	unleased: "the operator cannot renew its lease: %s", waits: "the operator waits for the lease", denied: "the operator cannot read the cluster: %s",
}

func eventText(e Event) string {
	text := eventTexts[e.kind]
	switch {
	case e.kind == rollout && !e.numbered:
		return "rollout: outdated Jobs deleted (the line does not say how many)"
	case e.kind == rollout:
		return fmt.Sprintf("rollout: %s deleted, running or not, after the ScaledJob changed", field.Plural(int(e.count), "Job"))
	case strings.HasSuffix(text, "%s"):
		return fmt.Sprintf(text, quote(e.text))
	}
	return text
}

// String returns the value with its target and activity, as far as they are known.
func (t Trigger) String() string {
	text := fmt.Sprintf("%s %v", t.Name, t.Value)
	switch {
	case t.Target < 0:
	case t.Active:
		text += fmt.Sprintf(" (target %v)", t.Target)
	default:
		text += fmt.Sprintf(" (target %v, inactive)", t.Target)
	}
	return text
}

// clockOf is a time for people: with its day, or the time of the day.
func clockOf(t time.Time, day bool) string {
	switch {
	case t.IsZero():
		return "an unknown time"
	case day && t.Year() > 0:
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("15:04:05")
}
