package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// A Config is what a ScheduledJob says, with its defaults filled in.
type Config struct {
	Namespace string // the ScheduledJob's
	Name      string // the ScheduledJob's

	Schedule    schedule.Spec
	PodCount    int32 // pods that a run starts together
	MaxRestart  int32 // how often a failing pod is started again
	ExecTimeout int64 // seconds that a pod may be active; 0 is no limit
	// Template is of the pods. It is nil as long as the PodTemplate that TemplateRef
	// names is not known.
	Template    *corev1.PodTemplateSpec
	TemplateRef string // name of a PodTemplate; "" where the ScheduledJob has the template
	// Warnings are what is not wrong, but not what it seems either.
	Warnings []*adapter.FieldError
}

// MaxHistory is how many completed runs of each outcome may be kept: they are in the
// status, and no object may grow beyond what the API server stores.
const MaxHistory = 1000

// MaxPodCount is how many pods a run may have: what the API server allows.
const MaxPodCount = 100_000

// Config reads the ScheduledJob. referred is the PodTemplate that its templateRef
// names, nil where it has none, or where that is not known; it is checked as a
// template of its own is.
//
// All problems are returned at once, joined, each a [*adapter.FieldError]; the
// Config is then of no use.
func (s *ScheduledJob) Config(referred *corev1.PodTemplate) (Config, error) {
	r := reader{spec: &s.Spec}
	c := Config{Namespace: s.Namespace, Name: s.Name, Schedule: schedule.DefaultSpec()}
	if s.Name == "" {
		r.problem("metadata.name", "nothing", "a name")
	}
	c.Schedule.UID, c.Schedule.Created = string(s.UID), s.CreationTimestamp.Time
	r.schedule(&c.Schedule)
	r.after(s.Name, &c.Schedule)
	r.numbers(&c)
	if s.Spec.Selector != nil {
		r.warn("spec.selector", "one", "none: it is ignored, as a Job makes its own")
	}
	r.templates(s.Namespace, &c, referred)
	c.Warnings = r.warnings
	return c, errors.Join(r.problems...)
}

// A reader collects what it finds wrong.
type reader struct {
	spec     *Spec
	problems []error
	warnings []*adapter.FieldError
}

func (r *reader) problem(path, found, want string) {
	r.problems = append(r.problems, &adapter.FieldError{Field: path, Found: found, Want: want})
}

func (r *reader) warn(path, found, want string) {
	r.warnings = append(r.warnings, &adapter.FieldError{Field: path, Found: found, Want: want})
}

// A spelling is one of the places where a value may stand.
type spelling[T comparable] struct {
	path  string
	value *T // nil where it does not
}

func at[T comparable](path string, value *T) spelling[T] { return spelling[T]{path, value} }

// pick sets a value to what its spellings say, and leaves it where they say nothing.
// It returns the path of the one that says it, or the first.
func pick[T comparable](r *reader, to *T, spellings ...spelling[T]) (path string) {
	for _, s := range spellings {
		switch {
		case s.value == nil:
		case path == "":
			path, *to = s.path, *s.value
		case *s.value != *to:
			r.problem(s.path, quoted(*s.value), fmt.Sprintf("%s, as %s says, or only one of the two", quoted(*to), path))
		}
	}
	return cmp.Or(path, spellings[0].path)
}

func quoted(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(value)
}

// text is a pointer to a string that is set.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (r *reader) schedule(s *schedule.Spec) {
	const one, other = "spec.schedule.", "spec.scheduleSpec."
	a, b := value(r.spec.Schedule), value(r.spec.ScheduleSpec)
	var timeSpec, timeZone string
	path := pick(r, &timeSpec, at(one+"timeSpec", text(a.TimeSpec)), at(other+"timeSpec", text(b.TimeSpec)))
	r.interval(path, timeSpec, s)
	path = pick(r, &timeZone, at(one+"timeZone", text(a.TimeZone)), at(other+"timeZone", text(b.TimeZone)))
	r.zone(path, timeZone, s)
	pick(r, &s.SkipOutdated, at(one+"skipOutdated", a.SkipOutdated), at(other+"skipOutdated", b.SkipOutdated))
	pick(r, &s.BlockOnFailure,
		at(one+"blockOnFailure", a.BlockOnFailure), at(one+"suspendOnFailure", a.SuspendOnFailure),
		at(other+"blockOnFailure", b.BlockOnFailure), at(other+"suspendOnFailure", b.SuspendOnFailure))
	pick(r, &s.AllowConcurrentRun,
		at("spec.allowConcurrentRun", r.spec.AllowConcurrentRun), at("spec.allowConcurrent", r.spec.AllowConcurrent))
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (r *reader) interval(path, text string, s *schedule.Spec) {
	if text == "" {
		return
	}
	var wrong *schedule.ParseError
	var err error
	if s.Interval, err = schedule.Parse(text); errors.As(err, &wrong) {
		found, want, _ := strings.Cut(wrong.Error(), ": want ")
		r.problem(path, strconv.Quote(text)+", whose "+found, want)
	}
}

// zone takes IANA names only: Local would be the controller's own.
func (r *reader) zone(path, name string, s *schedule.Spec) {
	if name == "" {
		return
	}
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		r.problem(path, strconv.Quote(name), `the name of a time zone, such as "Europe/Berlin"`)
		return
	}
	s.Zone = zone
}

func (r *reader) after(name string, s *schedule.Spec) {
	seen := map[schedule.Dependency]bool{}
	for i, d := range r.spec.After {
		path := fmt.Sprintf("spec.after[%d]", i)
		outcome := cmp.Or(d.Outcome, schedule.Succeeded)
		switch {
		case d.Job == "":
			r.problem(path+".job", "nothing", "the name of another ScheduledJob")
		case d.Job == name:
			r.problem(path+".job", strconv.Quote(d.Job), "another ScheduledJob: a run would ask for the next for ever")
		}
		if !slices.Contains([]schedule.Outcome{schedule.Succeeded, schedule.Failed, schedule.Any}, outcome) {
			r.problem(path+".outcome", strconv.Quote(string(outcome)), "succeeded, failed or any")
		}
		dependency := schedule.Dependency{Job: d.Job, Outcome: outcome}
		if seen[dependency] {
			r.problem(path, fmt.Sprintf("%s %s once more", d.Job, outcome), "each dependency once")
		}
		seen[dependency] = true
		s.After = append(s.After, dependency)
	}
}

func (r *reader) numbers(c *Config) {
	c.PodCount, c.MaxRestart = 1, 1
	path := pick(r, &c.PodCount, at("spec.podCount", r.spec.PodCount), at("spec.PodCount", r.spec.CapitalPodCount))
	r.within(path, int64(c.PodCount), 1, MaxPodCount)
	pick(r, &c.MaxRestart, at("spec.maxRestart", r.spec.MaxRestart))
	r.within("spec.maxRestart", int64(c.MaxRestart), 0, math.MaxInt32)
	if n := r.spec.ExecTimeout; n != nil {
		r.within("spec.execTimeout", *n, 1, math.MaxInt32)
		c.ExecTimeout = *n
	}
	if n := r.spec.HistoryLimit; n != nil {
		r.within("spec.historyLimit", int64(*n), 0, MaxHistory)
		c.Schedule.History = history.Limits{Succeeded: history.Keep(int(*n)), Failed: history.Keep(int(*n))}
	}
}

func (r *reader) within(path string, n, least, most int64) {
	if n < least || n > most {
		r.problem(path, strconv.FormatInt(n, 10), fmt.Sprintf("%d to %d", least, most))
	}
}
