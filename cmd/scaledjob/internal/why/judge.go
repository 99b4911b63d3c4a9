package why

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Basis is how a statement is known.
type Basis string

// Bases, from the strongest.
const (
	Observed Basis = "seen"     // a line of the log or a field of the cluster says it
	Computed Basis = "computed" // from values that were seen, with the rules of the release
	Inferred Basis = "inferred" // the only or one of several explanations of the lines
)

// A Cause is a reason why a poll created as many Jobs as it did.
type Cause struct {
	ID     string `json:"id"`
	Basis  Basis  `json:"basis"`
	Text   string `json:"text"`
	Decide string `json:"decide,omitempty"` // the command that shows whether it is this cause
	Fix    string `json:"fix,omitempty"`
}

// phrase returns the cause after a beginning, its fix, and what decides whether it is this cause.
func (c *Cause) phrase(begin string) string {
	text := begin + c.Text + "."
	if c.Fix != "" {
		text += " " + sentence(c.Fix)
	}
	if c.Decide != "" && c.Basis == Inferred {
		text += " To decide: " + c.Decide + "."
	}
	return text
}

// A Verdict is a poll with its causes. A poll that the log cuts has none.
type Verdict struct {
	*Poll
	Jobs   *int64 // created
	T      *Range // Jobs that the queue asks for
	Queue  *Range // queue length
	Causes []Cause
	// Differs says how the log differs from the rules of the release; "" if it does not, or if
	// values are missing.
	Differs  string
	Compared bool // the poll was computed again
}

// A Range is a range of a number that the log does not show. Max is nil without a bound.
type Range struct {
	Min float64
	Max *float64
}

// String returns "3", "at least 3", "at most 3" or "3 to 5".
func (r *Range) String() string {
	switch {
	case r.Max == nil:
		return fmt.Sprintf("at least %v", r.Min)
	case *r.Max == r.Min:
		return fmt.Sprint(r.Min)
	case r.Min <= 0:
		return fmt.Sprintf("at most %v", *r.Max)
	}
	return fmt.Sprintf("%v to %v", r.Min, *r.Max)
}

// A judge decides with the manifest and the rules of a release.
type judge struct {
	log      *Log
	spec     *manifest.ScaledJob // nil if it is not known
	keda     *keda.ScaledJob
	triggers []manifest.Trigger
	profile  keda.Profile
	bounds   keda.Replicas
	name, ns string
	sure     bool    // the release is given, or the log says it
	chosen   bool    // it is given
	rivals   []Cause // of operators that poll at the same time
}

func newJudge(l *Log, s *Subject, spec *manifest.ScaledJob, profile keda.Profile) *judge {
	j := &judge{log: l, spec: spec, profile: profile, name: s.Name, ns: s.Namespace}
	if spec == nil {
		j.keda = &keda.ScaledJob{}
		j.bounds.QueueMax = math.MaxInt32
		return j
	}
	j.name, j.ns = spec.Name, spec.Namespace
	j.keda = spec.KEDA()
	j.bounds = profile.Replicas(j.keda)
	j.triggers, _ = spec.Triggers(nil)
	return j
}

// in returns the judge with the release that the log has for a run of the operator.
func (j *judge) in(run int) *judge {
	profile, err := keda.Release(j.log.versions[run])
	if j.chosen || err != nil {
		return j
	}
	clone := *j
	if clone.profile = profile; j.spec != nil {
		clone.bounds = profile.Replicas(j.keda)
	}
	return &clone
}

// strategyOf returns the name of the poll's strategy, or "" if it is not known.
func (j *judge) strategyOf(p *Poll) string {
	if p.Strategy != "" {
		return p.Strategy
	}
	if j.spec == nil {
		return ""
	}
	return j.profile.Strategy(j.keda).Name()
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (j *judge) verdict(p *Poll) *Verdict {
	v := &Verdict{Poll: p}
	if p.Cut { // its errors are seen nevertheless
		if len(p.Refused) > 0 {
			v.Causes = append(v.Causes, j.refusal(p))
		}
		v.Causes = append(v.Causes, j.failures(p)...)
		return v
	}
	jobs := j.jobsOf(p)
	v.Jobs = &jobs
	j.compare(v)
	j.ranges(v)
	if n := len(p.Refused); n > 0 {
		v.Causes = append(v.Causes, j.refusal(p))
		if jobs == 0 {
			return v
		}
	}
	switch {
	case jobs > 0:
		v.Causes = append(v.Causes, j.creation(v))
	case p.Effective == nil:
		v.Causes = append(v.Causes, j.idle(v)...)
	case len(p.Refused) == 0:
		v.Causes = append(v.Causes, j.covered(v)...)
	}
	if jobs == 0 && p.Effective != nil { // a trigger that cannot be read may ask for more
		v.Causes = append(j.failures(p), v.Causes...)
	} else if jobs > 0 {
		v.Causes = append(v.Causes, j.failures(p)...)
	}
	return v
}

func (j *judge) failures(p *Poll) (causes []Cause) {
	for _, text := range distinct(p.Errors) {
		causes = append(causes, j.unreadable(text))
	}
	return causes
}

// jobsOf returns the number of Jobs that a poll created. Up to 2.20, KEDA prints the number
// that it wanted, also if creates fail.
func (j *judge) jobsOf(p *Poll) int64 {
	switch {
	case p.Created == nil && p.Requested != nil:
		return max(0, *p.Requested-p.refusals())
	case p.Created == nil && p.Effective != nil && len(p.Refused) == 0: // the lines in between are left out
		return *p.Effective
	case p.Created == nil:
		return 0
	case p.Requested != nil && *p.Created == *p.Requested && len(p.Refused) > 0:
		return max(0, *p.Created-p.refusals())
	}
	return *p.Created
}

// refusals returns the number of creates that failed, of which a log may show only some.
func (p *Poll) refusals() int64 {
	n := int64(len(p.Refused))
	if n > 0 && failsAll.MatchString(p.Refused[0]) {
		return max(n, value(p.Requested))
	}
	return n
}

// compare computes a poll with all its values again.
func (j *judge) compare(v *Verdict) {
	read := len(v.Triggers) + len(v.Errors)
	if j.spec == nil || v.Running == nil || v.Pending == nil || !v.HasBeginning || (v.MaxValue == nil && v.IsActive == nil) || read < len(j.keda0()) || read == 0 {
		return
	}
	d := j.profile.Decide(j.keda, keda.State{Scalers: j.scalers(v.Poll), Running: *v.Running, Pending: *v.Pending})
	v.Compared = true
	var differences []string
	differ := func(quantity string, logged, computed int64) {
		if logged != computed {
			differences = append(differences, fmt.Sprintf("%s is %d in the log and %d by the rules", quantity, logged, computed))
		}
	}
	if v.Effective != nil {
		differ("the strategy's answer", *v.Effective, max(0, d.EffectiveMaxScale))
	}
	differ("the number of Jobs", value(v.Requested), d.Create)
	v.Differs = strings.Join(differences, "; ")
}

// keda0 returns the triggers of the manifest, of which resource metrics have no line.
func (j *judge) keda0() []manifest.ScaleTrigger {
	return slices.DeleteFunc(slices.Clone(j.spec.Spec.Triggers), func(t manifest.ScaleTrigger) bool { return t.Type == "cpu" || t.Type == "memory" })
}

func (j *judge) ranges(v *Verdict) {
	if v.MaxValue != nil && j.profile != (keda.Profile{}) {
		t := math.Ceil(*v.MaxValue)
		v.T = &Range{t, &t}
		return
	}
	if v.Effective == nil || j.spec == nil || v.Running == nil || *v.Running < j.bounds.Min {
		return
	}
	chosen := j.profile.Strategy(j.keda)
	load := strategy.Load{Running: *v.Running - j.bounds.Min, Pending: value(v.Pending), Max: j.bounds.QueueMax}
	low, high := int64(-1), int64(-1)
	const limit = 20000
	for t := range min(j.bounds.QueueMax, limit) + 1 {
		load.Target = t
		answer := chosen.Scale(load, math.MaxInt32)
		if max(0, answer.EffectiveMaxScale) == *v.Effective {
			if low < 0 {
				low = t
			}
			high = t
		}
	}
	if low < 0 {
		return
	}
	v.T = &Range{Min: float64(low)}
	if high < limit {
		n := float64(high)
		v.T.Max = &n
	}
	j.queue(v, high >= j.bounds.QueueMax)
}

// jobs returns the range with its unit.
func (r *Range) jobs() string {
	if text := r.String(); text != "1" && !strings.HasSuffix(text, " 1") {
		return text + " Jobs"
	}
	return r.String() + " Job"
}

// length is the queue length, unless it is T.
func (v *Verdict) length() string {
	if v.Queue == nil || v.Queue.String() == v.T.String() {
		return ""
	}
	return " (queue length " + v.Queue.String() + ")"
}

func (j *judge) queue(v *Verdict, capped bool) {
	if len(j.triggers) != 1 || j.isCron() || j.triggers[0].Target <= 0 {
		return
	}
	target := j.triggers[0].Target
	v.Queue = &Range{Min: max(0, math.Floor((v.T.Min-1)*target)+1)}
	if v.T.Max != nil && !capped {
		n := math.Floor(*v.T.Max * target)
		v.Queue.Max = &n
	}
	if request := v.Requested; request != nil && *request < value(v.Effective) && j.strategyOf(v.Poll) != "eager" {
		n := float64(*request)
		v.Queue = &Range{max(0, n), &n}
	}
}

func (j *judge) creation(v *Verdict) Cause {
	c := Cause{ID: "created", Basis: Observed}
	r := value(v.Running)
	if j.spec != nil && r < j.bounds.Min {
		c.ID = "below-min"
		c.Text = fmt.Sprintf("%s and the minimum is %d: KEDA creates the missing Jobs and ignores the queue in this poll", jobsRun(r), j.bounds.Min)
		return c
	}
	if v.T == nil && j.spec != nil && v.Effective != nil {
		return j.otherManifest(fmt.Sprintf("no queue length gives this number with the strategy %s, a maximum of %d, R=%d and P=%d: the manifest or the release does not match the log", j.strategyOf(v.Poll), j.bounds.Min+j.bounds.QueueMax, r, value(v.Pending)))
	}
	if v.T == nil {
		c.Text = fmt.Sprintf("the queue asks for more Jobs than run (R=%d)", r)
		return c
	}
	c.Text = fmt.Sprintf("the queue asks for %s (T)%s, R=%d run%s, P=%d of them pending", v.T.jobs(), v.length(), r, aboveMin(j.bounds.Min), value(v.Pending))
	if name := j.strategyOf(v.Poll); name != "" {
		c.Text += ", strategy " + name
	}
	if request := v.Requested; request != nil && *request < value(v.Effective) {
		c.Text += fmt.Sprintf("; the strategy answers %d, and no more than the queue length of %d are created", *v.Effective, *request)
	}
	if v.MaxValue == nil {
		c.Basis = Inferred
	} else if v.Compared {
		c.Basis = Computed
	}
	return c
}

func (j *judge) otherManifest(text string) Cause {
	return Cause{ID: "other-manifest", Basis: Inferred, Text: text, Decide: j.kubectl("get scaledjob %s -o yaml"), Fix: "Give the manifest that the cluster had then"}
}

func jobsRun(n int64) string {
	if n == 1 {
		return "1 Job runs"
	}
	return fmt.Sprintf("%d Jobs run", n)
}

func (j *judge) refusal(p *Poll) Cause {
	c := Cause{ID: "create-failed", Basis: Observed}
	if c.Text, c.Fix = plainly(field.Plural(int(p.refusals()), "create")+" failed: ", createErrors, p.Refused[0]); c.Fix == "" {
		c.Fix, c.Decide = "Remove the reason that the API server gives", j.kubectl("describe scaledjob %s")
	}
	return c
}

func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// kubectl returns a command for the ScaledJob. A name that no object has is left out: it could be a command.
func (j *judge) kubectl(format string) string {
	name, ns := j.name, j.ns
	if !objectName.MatchString(name) {
		name = "NAME"
	}
	if !objectName.MatchString(ns) {
		ns = "NAMESPACE"
	}
	return "kubectl -n " + ns + " " + fmt.Sprintf(format, name)
}

func (j *judge) jobsCommand() string {
	return j.kubectl("get jobs,pods -l scaledjob.keda.sh/name=%s")
}

// scalers are the triggers as the log shows them.
func (j *judge) scalers(p *Poll) (scalers []keda.Scaler) {
	for i, t := range p.Triggers {
		if t.Target < 0 && i < len(j.triggers) {
			t.Target = j.triggers[i].Target
		}
		s := keda.Scaler{QueueLength: t.Value, Target: t.Target, Activity: scaling.Inactive}
		if t.Active {
			s.Activity = scaling.Active
		}
		scalers = append(scalers, s)
	}
	for range p.Errors {
		scalers = append(scalers, keda.Scaler{Failed: true})
	}
	return scalers
}
