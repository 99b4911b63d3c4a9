package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// sentence says what the poll creates and why, in the words of somebody who has not read the steps.
func (p *Poll) sentence(m *input.ScaledJob, s *situation, running, pending int64) string {
	n := p.Create.Jobs
	creates := fmt.Sprintf("%s creates %s", p.Release, field.Plural(int(n), "Job"))
	if n == 0 {
		creates = fmt.Sprintf("%s creates no Job", p.Release)
	}
	var causes []string
	switch {
	case p.Release.Paused(m):
		return creates + ": the ScaledJob is paused."
	case p.Create.Panic:
		return fmt.Sprintf("%s panics in this poll.", p.Release)
	}
	demand, isSum := 0.0, m.Spec.Spec.ScalingStrategy.MultipleScalersCalculation == "sum"
	for i, t := range s.triggers {
		causes = append(causes, demandOf(t, s.lengths[i], len(s.triggers) > 1))
		if t.Target > 0 && s.lengths[i] > t.ActivationThreshold {
			if jobs := s.lengths[i] / t.Target; isSum {
				demand += jobs
			} else {
				demand = max(demand, jobs)
			}
		}
	}
	if limit := *cmp.Or(m.Spec.Spec.MaxReplicaCount, new(int32(100))); demand > float64(limit) {
		causes = append(causes, fmt.Sprintf("the maximum is %d", limit))
	}
	if running > 0 {
		text := field.Plural(int(running), "unfinished Job")
		if pending > 0 {
			text += fmt.Sprintf(" (%d pending)", pending)
		}
		if profile := p.Release.Profile; profile != nil { // of the specification the steps have it
			switch n := profile.Replicas(m.KEDA).Min; {
			case n == 1:
				text += "; 1 counts for the minimum"
			case 1 < n && n <= running:
				text += fmt.Sprintf("; %d count for the minimum", n)
			}
		}
		causes = append(causes, text)
	}
	strategy := ""
	if limit := m.Spec.Spec.MinReplicaCount; limit != nil && running < int64(*limit) {
		causes = append(causes, fmt.Sprintf("and the minimum is %d", *limit))
	} else if demand > 0 {
		strategy = subtraction(m, n, running, pending)
	}
	return creates + ": " + strings.Join(causes, ", ") + "." + strategy
}

// subtraction is a sentence about what the strategy subtracts. What default does, the unfinished Jobs say.
func subtraction(m *input.ScaledJob, created, running, pending int64) string {
	strategy := m.Spec.Spec.ScalingStrategy
	low, limit := int64(*cmp.Or(m.Spec.Spec.MinReplicaCount, new(int32(0)))), int64(*cmp.Or(m.Spec.Spec.MaxReplicaCount, new(int32(100))))
	room := limit - running
	if strategy.Strategy == "eager" {
		room -= pending
	}
	deduction := int64(*cmp.Or(strategy.CustomScalingQueueLengthDeduction, new(int32(0))))
	share := report.Clean(strategy.CustomScalingRunningJobPercentage) + " of the unfinished Jobs"
	if low > 0 {
		share += " above the minimum"
	}
	switch custom := strategy.Strategy == "custom" && strategy.CustomScalingRunningJobPercentage != ""; { // without, it is default
	case custom && deduction > 0 && deduction >= limit-low:
		return fmt.Sprintf(" customScalingQueueLengthDeduction is %d and uses up the maximum.", deduction)
	case custom && running > low && deduction == 0:
		return fmt.Sprintf(" The strategy custom subtracts %s.", share)
	case custom && running > low:
		return fmt.Sprintf(" The strategy custom subtracts %d (customScalingQueueLengthDeduction) and %s.", deduction, share)
	case custom && deduction > 0:
		return fmt.Sprintf(" The strategy custom subtracts %d (customScalingQueueLengthDeduction).", deduction)
	case custom || running == 0 || !slices.Contains([]string{"accurate", "eager"}, strategy.Strategy):
		return ""
	case created == max(0, room) && strategy.Strategy == "eager":
		return fmt.Sprintf(" The maximum leaves room for %d: %d - %d unfinished - %d pending.", created, limit, running, pending)
	case created == max(0, room):
		return fmt.Sprintf(" The maximum leaves room for %d: %d - %d unfinished.", created, limit, running)
	case pending > 0 && strategy.Strategy == "accurate":
		return " The strategy accurate subtracts only the pending Jobs."
	}
	return fmt.Sprintf(" The strategy %s subtracts no unfinished Job.", strategy.Strategy)
}

func demandOf(t manifest.Trigger, length float64, named bool) string {
	prefix, name := "", "the queue"
	if named {
		prefix, name = t.Name+": ", t.Name
	}
	switch {
	case math.IsNaN(length):
		return name + " cannot be read"
	case t.Type == "cron" && length <= 0:
		return t.Name + " is outside of its window"
	case t.Type == "cron":
		return fmt.Sprintf("%s asks for %s", t.Name, field.Plural(int(math.Ceil(length)), "Job"))
	case length <= t.ActivationThreshold && t.ActivationThreshold > 0:
		return inactive(t, length)
	case length <= 0:
		return name + " is empty"
	case t.Target > 0:
		return fmt.Sprintf("%squeue length %g / %g per Job = %s", prefix, length, t.Target, field.Plural(int(math.Ceil(length/t.Target-1e-9)), "Job"))
	}
	return fmt.Sprintf("%squeue length %g", prefix, length)
}

func inactive(t manifest.Trigger, length float64) string {
	return fmt.Sprintf("%s is not active: queue length %g does not exceed its activation value %g", t.Name, length, t.ActivationThreshold)
}

// Files are what ScaledJobs were read from. With them lint knows their TriggerAuthentications and Secrets.
type Files struct {
	sources  []input.Source
	findings map[string][]lint.Finding // by release
}

// NewFiles returns the files of sources.
func NewFiles(sources []input.Source) *Files {
	return &Files{sources: sources, findings: map[string][]lint.Finding{}}
}

// rejection returns the finding of lint with which the release never polls the manifest, or "". A ScaledJob
// without files is judged by itself.
func (f *Files) rejection(m *input.ScaledJob, profile keda.Profile) string {
	for _, found := range f.check(m, profile) {
		if found.Severity == lint.Error && slices.ContainsFunc(found.Effects, func(e lint.Effect) bool { return e.NeverPolled }) {
			return found.Message()
		}
	}
	return ""
}

// check returns what lint says of a ScaledJob in its file. Another directory may have one of the same name.
func (f *Files) check(m *input.ScaledJob, profile keda.Profile) []lint.Finding {
	if f == nil || !slices.ContainsFunc(f.sources, func(s input.Source) bool { return s.Name == m.File }) {
		data, err := json.Marshal(m.Spec)
		if err != nil {
			return nil
		}
		return lint.Check([]lint.File{{Name: m.Name(), Data: data}}, profile).Findings
	}
	release := profile.Release()
	if _, known := f.findings[release]; !known {
		var files []lint.File
		for _, s := range f.sources {
			files = append(files, lint.File{Name: s.Name, Data: s.Data, Unread: s.Unread})
		}
		f.findings[release] = lint.Check(files, profile).Findings
	}
	object := m.Name()
	if m.Spec.Namespace != "" {
		object = m.Spec.Namespace + "/" + object
	}
	return slices.DeleteFunc(slices.Clone(f.findings[release]), func(found lint.Finding) bool { return found.File != m.File || found.Object != object })
}

// limitByPartitions bounds the queue lengths as the scalers do, and notes it.
func (p *Poll) limitByPartitions(m *input.ScaledJob, s *situation, partitions int64) {
	for i, t := range s.triggers {
		limit := triggers.LimitOf(t.Type, p.Release.Version(), m.Spec.Spec.Triggers[i].Metadata)
		if limit == nil || math.IsNaN(s.lengths[i]) {
			continue
		}
		bounded := limit.Bound(s.lengths[i], t.Target, partitions)
		switch {
		case partitions == 0 && s.lengths[i] > t.Target:
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %s asks for at most one Job for each of the %s; use --partitions NUMBER", t.Name, t.Type, limit.Noun()))
		case bounded != s.lengths[i]:
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %d %s limit the queue length of %g to %g", t.Name, partitions, limit.Noun(), s.lengths[i], bounded))
		}
		s.lengths[i] = bounded
	}
}

var roundedUp = regexp.MustCompile(`(\d+)( Jobs?(?:, limited to (\d+) by the maximum)?), rounded up to (\d+)`)

// noActive is what the steps say of triggers of which none is active.
var noActive = regexp.MustCompile(`(not active|0 active)(?:: queue length 0 asks for 0 Jobs, rounded up to 0)?\n`)

// choice is a formula of a strategy with two cases.
var choice = regexp.MustCompile(`: ([^?:;\n]+) \? ([^?:;\n]+) : ([^?:;\n]+)`)

// answered is the last step if the strategy decides.
var answered = regexp.MustCompile(`(?m)^(create +\d+): the strategy's (?:answer|proposal)$`)

// plainer leaves out of the steps what they say twice, and names the triggers that are not active, with their numbers.
func plainer(trace string, s *situation) string {
	var names []string
	for i, t := range s.triggers {
		if s.lengths != nil && s.lengths[i] <= t.ActivationThreshold {
			names = append(names, fmt.Sprintf("%s has queue length %g and activation value %g", t.Name, s.lengths[i], t.ActivationThreshold))
		}
	}
	if len(names) > 0 {
		trace = noActive.ReplaceAllString(trace, "$1: "+strings.ReplaceAll(strings.Join(names, ", "), "$", "$$")+"\n")
	}
	for _, t := range s.triggers {
		if t.Type == "cron" { // has no queue
			trace = strings.ReplaceAll(strings.ReplaceAll(trace, t.Name+": queue length", t.Name+": value"), t.Name+" has queue length", t.Name+" has value")
			if len(s.triggers) == 1 {
				trace = strings.ReplaceAll(trace, "queue length", "value")
			}
		}
	}
	return Plain(trace)
}

// Plain leaves out of steps what they say twice.
func Plain(trace string) string {
	trace = choice.ReplaceAllString(trace, ": $2 if $1, else $3")
	trace = answered.ReplaceAllString(trace, "$1: what the strategy proposes")
	trace = strings.Replace(trace, "create    0: what the strategy proposes", "create    0: the strategy proposes none", 1)
	return roundedUp.ReplaceAllStringFunc(trace, func(text string) string {
		m := roundedUp.FindStringSubmatch(text)
		if m[4] == m[1] || m[4] == m[3] {
			return m[1] + m[2]
		}
		return text
	})
}
