package scheduledjob

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Config holds the values of a ScheduledJob, with its defaults filled in.
type Config struct {
	Namespace string // of the ScheduledJob
	Name      string // of the ScheduledJob

	Policy      schedule.Policy
	PodCount    int32 // pods that a run starts together
	MaxRestart  int32 // times that a failing pod is replaced
	ExecTimeout int64 // seconds that a pod may be active; 0 means no limit
	// TTL is the number of seconds that a finished Job exists, after its outcome has been
	// stored. nil means no limit.
	TTL *int32
	// ActiveDeadline and PodFailurePolicy apply to each Job; nil means none.
	ActiveDeadline   *int64
	PodFailurePolicy *batchv1.PodFailurePolicy
	// Template is the pod template. It is nil if TemplateRef names a PodTemplate that
	// is not known.
	Template    *corev1.PodTemplateSpec
	TemplateRef string         // name of a PodTemplate; "" if the ScheduledJob has the template
	Warnings    []*field.Error // valid fields that may surprise
}

const (
	// maxHistory is the greatest limit of the history, for each outcome, and the greatest maxCatchUp. The status holds the completed runs, and
	// the API server limits the size of an object.
	maxHistory = 1000
	// maxPodCount is the greatest podCount, which the API server limits.
	maxPodCount = 100_000
	// maxAfter is the greatest number of dependencies, which the status holds.
	maxAfter = 100
)

// Inputs holds values that a ScheduledJob refers to. The zero value has none.
type Inputs struct {
	// PodTemplate is the PodTemplate that templateRef names; nil if unknown. It is checked
	// like a template in the ScheduledJob.
	PodTemplate *corev1.PodTemplate
	// Cron reads a cron expression for a zone, which is never nil: see [Cron]. If it is nil, an
	// expression is an error.
	Cron func(expression string, zone *time.Location) (schedule.Schedule, error)
}

// Config reads the ScheduledJob.
//
// The error has all problems, joined, each a [*field.Error]. The Config must not be
// used then.
func (s *ScheduledJob) Config(in Inputs) (Config, error) {
	r := reader{spec: &s.Spec, inputs: in}
	c := Config{Namespace: s.Namespace, Name: s.Name, Policy: schedule.DefaultPolicy()}
	r.object(s.Name)
	for _, w := range s.renamed {
		r.warnings.Add(*w)
	}
	p := &c.Policy
	p.UID, p.Created = string(s.UID), s.CreationTimestamp.Time
	p.Unblock, p.Rewind = s.Annotations[schedule.AnnotationUnblock], s.Annotations[schedule.AnnotationRewind]
	r.schedule(p)
	r.after(s.Name, p)
	r.numbers(&c)
	r.concurrency(p)
	r.jobs(&c)
	r.templates(s.Namespace, &c, in.PodTemplate)
	r.ineffective(&c)
	c.Warnings = field.All(r.warnings.Err())
	return c, r.problems.Err()
}

// A reader reads a spec and collects its problems.
type reader struct {
	spec               *Spec
	inputs             Inputs
	problems, warnings field.Errors
}

// set sets a value from a field, unless the field is unset.
func set[T any](value, from *T) {
	if from != nil {
		*value = *from
	}
}

func (r *reader) schedule(p *schedule.Policy) {
	const path = "spec.schedule."
	spec := value(r.spec.Schedule)
	zone := r.zone(path+"timeZone", spec.TimeZone)
	text, name := spec.TimeSpec, path+"timeSpec"
	p.Schedule = schedule.ISO8601(r.interval(name, text), zone)
	switch {
	case spec.Cron == "":
	case text != "":
		r.problems.Add(field.Error{Path: path + "cron", Found: strconv.Quote(spec.Cron) + ", and a timeSpec", Fix: "only one of the two"})
	default:
		text, name = spec.Cron, path+"cron"
		p.Schedule = r.cron(name, text, zone)
	}
	p.End, p.Jitter = value(spec.EndTime).Time, r.seconds(path+"jitterSeconds", spec.JitterSeconds, 0)
	if p.Schedule != nil {
		after := p.Created.Add(-1)
		if p.Created.IsZero() { // of a file; a cron's occurrence at that time would count as none
			after = time.Unix(0, 0)
		}
		_, ok := p.Next(p.Created, after)
		r.warnings.Check(ok, name, text, "a schedule with a time after the creation, of a day that exists; no run will be due")
	}
	p.MaxCatchUp = int64(optional(r, path+"maxCatchUp", spec.MaxCatchUp, 1, maxHistory))
	set(&p.SkipOutdated, spec.SkipOutdated)
	set(&p.BlockOnFailure, spec.BlockOnFailure)
	p.Suspended = value(r.spec.Suspend)
	p.StartingDeadline = r.seconds("spec.startingDeadlineSeconds", r.spec.StartingDeadlineSeconds, 1)
}

// seconds returns the duration of a field in seconds.
func (r *reader) seconds(path string, n *int64, minimum int64) schedule.Duration {
	return schedule.Duration(optional(r, path, n, minimum, math.MaxInt32)) * schedule.Duration(time.Second)
}

// paths are the fields of a policy.
var paths = map[string]string{
	"End": "spec.schedule.endTime", "Jitter": "spec.schedule.jitterSeconds", "SkipOutdated": "spec.schedule.skipOutdated",
	"BlockOnFailure": "spec.schedule.blockOnFailure", "Suspended": "spec.suspend",
	"StartingDeadline": "spec.startingDeadlineSeconds", "MaxCatchUp": "spec.schedule.maxCatchUp",
}

// ineffective warns of fields without an effect.
func (r *reader) ineffective(c *Config) {
	for _, w := range field.All(c.Policy.Warnings()) {
		r.warnings.Add(field.Error{Path: paths[w.Path], Found: w.Found, Fix: strings.Replace(w.Fix, "as Concurrency", "as concurrencyPolicy", 1)})
	}
	spec := r.spec
	if c.Policy.Schedule == nil && spec.Schedule != nil {
		r.warnings.Check(spec.Schedule.TimeZone == "", "spec.schedule.timeZone", spec.Schedule.TimeZone, "a schedule; without one it has no effect")
	}
	r.warnings.Check(spec.Selector == nil, "spec.selector", "one", "none; it is ignored, because a Job makes its own")
	replaced := spec.SuccessfulJobsHistoryLimit != nil && spec.FailedJobsHistoryLimit != nil
	r.warnings.Check(spec.HistoryLimit == nil || !replaced, "spec.historyLimit", value(spec.HistoryLimit), "none: the limits of successful and failed Jobs replace it")
	job, pod := value(c.ActiveDeadline), c.ExecTimeout
	hasBoth := job > 0 && pod > 0
	r.warnings.Check(!hasBoth || pod < job, "spec.execTimeout", pod, fmt.Sprintf("less than %d, the value of activeDeadlineSeconds, which ends a Job first", job))
}

// concurrency reads the policy. allowConcurrentRun agrees with Allow, or with any other
// policy; alone, false is Wait.
func (r *reader) concurrency(p *schedule.Policy) {
	const path = "spec.concurrencyPolicy"
	policy, allow := r.spec.ConcurrencyPolicy, true
	set(&allow, r.spec.AllowConcurrentRun)
	if !allow {
		p.Concurrency = schedule.Wait
	}
	switch {
	case policy == "":
	case !slices.Contains([]schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace}, policy):
		r.problems.Check(false, path, policy, "Allow, Wait, Forbid or Replace")
	case r.spec.AllowConcurrentRun != nil && allow != (policy == schedule.Allow):
		r.problems.Check(false, path, policy, fmt.Sprintf("a policy that agrees with %t, the value of spec.allowConcurrentRun, or only one of the two", allow))
	default:
		p.Concurrency = policy
	}
}

// jobs reads the fields that apply to each Job.
func (r *reader) jobs(c *Config) {
	c.TTL, c.ActiveDeadline, c.PodFailurePolicy = r.spec.TTLSecondsAfterFinished, r.spec.ActiveDeadlineSeconds, r.spec.PodFailurePolicy
	optional(r, "spec.ttlSecondsAfterFinished", c.TTL, 0, math.MaxInt32)
	optional(r, "spec.activeDeadlineSeconds", c.ActiveDeadline, 1, math.MaxInt32)
}

func (r *reader) cron(path, text string, zone *time.Location) schedule.Schedule {
	if r.inputs.Cron == nil {
		r.problems.Check(false, path, text, "timeSpec; this program reads no cron expressions")
		return nil
	}
	for _, note := range CronNotes(text) {
		r.warnings.Add(field.Error{Path: path, Found: note.Found, Fix: note.Fix})
	}
	s, err := r.inputs.Cron(text, zone)
	if err != nil {
		found, fix, _ := strings.Cut(err.Error(), "; use ")
		fix = cmp.Or(fix, `five fields (minute, hour, day of month, month, day of week), such as "0 6 * * *"`)
		r.problems.Add(field.Error{Path: path, Found: fmt.Sprintf("%q: %s", text, found), Fix: fix})
		return nil
	}
	return s
}

// object checks the name of the ScheduledJob.
func (r *reader) object(name string) {
	fix := "a name of lower-case letters, digits, - and ."
	if meant := lower.ReplaceAllString(name, "$1-$2"); len(utilvalidation.IsDNS1123Subdomain(strings.ToLower(meant))) == 0 {
		fix += fmt.Sprintf(", such as %q", strings.ToLower(meant))
	}
	r.problems.Check(len(utilvalidation.IsDNS1123Subdomain(name)) == 0, "metadata.name", name, fix)
}

// lower finds where a word begins in a name such as myJob.
var lower = regexp.MustCompile("([a-z0-9])([A-Z])")

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (r *reader) interval(path, text string) interval.Interval {
	if text == "" {
		return interval.Interval{}
	}
	i, err := interval.Parse(text)
	if wrong := (*interval.ParseError)(nil); errors.As(err, &wrong) {
		found, fix, _ := strings.Cut(wrong.Error(), "; use ")
		if isCron := len(strings.Fields(text)) == 5 || strings.HasPrefix(text, "@"); isCron {
			fix = "spec.schedule.cron for a cron expression"
		}
		r.problems.Add(field.Error{Path: path, Found: strconv.Quote(text) + ", whose " + found, Fix: fix})
	}
	return i
}

// zone accepts IANA names only: Local is the controller's own zone. No name means UTC.
func (r *reader) zone(path, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		r.problems.Check(false, path, name, `the name of a time zone, such as "Europe/Berlin"`)
		return time.UTC
	}
	return zone
}

func (r *reader) after(name string, p *schedule.Policy) {
	if n := len(r.spec.After); n > maxAfter {
		r.problems.Check(false, "spec.after", n, fmt.Sprintf("at most %d dependencies", maxAfter))
		return
	}
	for i, d := range r.spec.After {
		path := fmt.Sprintf("spec.after[%d]", i)
		dependency := schedule.Dependency{Job: d.Job, Outcome: cmp.Or(d.Outcome, schedule.Succeeded)}
		r.problems.Check(d.Job != "", path+".job", d.Job, "the name of another ScheduledJob")
		r.problems.Check(d.Job == "" || d.Job != name, path+".job", d.Job, "another ScheduledJob, because each run would request the next")
		r.problems.Check(slices.Contains([]schedule.Outcome{schedule.Succeeded, schedule.Failed, schedule.Any}, dependency.Outcome),
			path+".outcome", d.Outcome, "succeeded, failed or any")
		if slices.Contains(p.After, dependency) {
			r.problems.Add(field.Error{Path: path, Found: fmt.Sprintf("%s %s once more", d.Job, dependency.Outcome), Fix: "each dependency once"})
		}
		p.After = append(p.After, dependency)
	}
}

func (r *reader) numbers(c *Config) {
	c.PodCount, c.MaxRestart = 1, 1
	set(&c.PodCount, r.spec.PodCount)
	r.within("spec.podCount", int64(c.PodCount), 1, maxPodCount)
	set(&c.MaxRestart, r.spec.MaxRestart)
	r.within("spec.maxRestart", int64(c.MaxRestart), 0, math.MaxInt32)
	c.ExecTimeout = optional(r, "spec.execTimeout", r.spec.ExecTimeout, 1, math.MaxInt32)
	for _, limit := range []struct {
		path   string
		n      *int32
		limits []**int64
	}{
		{"spec.historyLimit", r.spec.HistoryLimit, []**int64{&c.Policy.History.Succeeded, &c.Policy.History.Failed}},
		{"spec.successfulJobsHistoryLimit", r.spec.SuccessfulJobsHistoryLimit, []**int64{&c.Policy.History.Succeeded}},
		{"spec.failedJobsHistoryLimit", r.spec.FailedJobsHistoryLimit, []**int64{&c.Policy.History.Failed}},
	} {
		n := optional(r, limit.path, limit.n, 0, maxHistory)
		for _, l := range limit.limits {
			if limit.n != nil {
				*l = history.Keep(int64(n))
			}
		}
	}
}

// optional returns the value of a field, which must be within bounds, or 0 if it is unset.
func optional[T int32 | int64](r *reader, path string, n *T, minimum, maximum int64) T {
	if n != nil {
		r.within(path, int64(*n), minimum, maximum)
	}
	return value(n)
}

func (r *reader) within(path string, n, minimum, maximum int64) {
	r.problems.Check(n >= minimum && n <= maximum, path, n, fmt.Sprintf("%d to %d", minimum, maximum))
}
