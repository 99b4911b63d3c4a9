package why

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
)

func (j *judge) idle(v *Verdict) (causes []Cause) {
	causes = j.failures(v.Poll)
	if len(v.Triggers) > 0 {
		return append(causes, j.inactive(v)...)
	}
	if len(causes) > 0 {
		return causes
	}
	if j.spec != nil && j.bounds.Min > 0 {
		return []Cause{j.otherManifest(fmt.Sprintf("the poll was inactive, but with a minimum of %d KEDA's polls are always active: the manifest does not match the log", j.bounds.Min))}
	}
	orLess := j.threshold(", or at most the activation value %v", "")
	reason := "the queue length is 0" + orLess
	if j.isCron() {
		reason = "the trigger cron is outside of its window"
	}
	empty := Cause{ID: "empty", Basis: Inferred, Text: reason + ": no line about creating Jobs follows, so no trigger was active",
		Decide: "set --zap-log-level=debug in the operator's Deployment: \"Scaler Metric value\" shows the value that KEDA reads",
		Fix:    j.ifWorkWaits()}
	if compare(j.releases()[0], "2.14.1") >= 0 { // before, a failed trigger is written at level debug only
		return []Cause{empty}
	}
	empty.ID, empty.Text = "empty-or-failed", "the trigger was inactive or failed: "+reason+", or the trigger cannot be read. KEDA up to 2.14.0 writes a failed trigger only at level debug"
	empty.Decide = j.kubectl("get events --field-selector involvedObject.name=%s") + " shows KEDAScalerFailed if the trigger fails"
	return []Cause{empty}
}

// threshold returns a text about the first activation value above 0, or another.
func (j *judge) threshold(format, otherwise string) string {
	for _, t := range j.triggers {
		if t.ActivationThreshold > 0 {
			return fmt.Sprintf(format, t.ActivationThreshold)
		}
	}
	return otherwise
}

// isCron reports whether the only trigger is a schedule, which has no queue.
func (j *judge) isCron() bool { return len(j.triggers) == 1 && j.triggers[0].Type == "cron" }

// countKeys are the keys of a trigger's metadata that set numbers and modes, and select no work.
var countKeys = regexp.MustCompile(`^(?:activation[A-Za-z]*|value|targetValue|threshold|[a-zA-Z]*(?:Length|Count|Threshold|Backlog|Lag)|mode|protocol|excludeUnacknowledged|scaleOnInFlight|queueLengthStrategy|includeOngoingSessions)$`)

// ifWorkWaits names the parameters that select the work, with the manifest of a single trigger.
func (j *judge) ifWorkWaits() string {
	if j.isCron() {
		return "If Jobs are missing: check start, end and timezone of the trigger"
	}
	selects := "the trigger reads the right queue, virtual host and database"
	if j.spec != nil && len(j.spec.Spec.Triggers) == 1 {
		t := j.spec.Spec.Triggers[0]
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(t.Metadata)), countKeys.MatchString) // values and modes
		if len(keys) > 0 {
			selects = fmt.Sprintf("%s of the trigger %s are those of the waiting items", strings.Join(keys, ", "), t.Type)
		}
	}
	return "If items wait: check that " + selects + ", and that workers have not taken them already"
}

func distinct(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

func (j *judge) unreadable(text string) Cause {
	c := Cause{ID: "unreadable", Basis: Observed}
	said, found := j.log.unreadable[text]
	if !found { // many polls have the same error
		said.text, said.fix = plainly("the metric cannot be read: ", readErrors, text)
		if means, _ := in(readErrors, text); means == canceled {
			said.id = "canceled"
		}
		j.log.unreadable[text] = said
	}
	c.ID, c.Text, c.Fix = cmp.Or(said.id, c.ID), said.text, said.fix
	if c.Fix == "" {
		c.Fix, c.Decide = "Correct the trigger or its TriggerAuthentication, as the error says", j.kubectl("describe scaledjob %s")
	}
	return c
}

func (j *judge) inactive(v *Verdict) (causes []Cause) {
	var above, zero []string
	for _, t := range v.Triggers {
		switch {
		case t.Active && t.Value > 0:
		case t.Value > 0:
			above = append(above, fmt.Sprintf("%s is %v", t.Name, t.Value))
		default:
			zero = append(zero, t.Name)
		}
	}
	if len(above) > 0 {
		value := ""
		if len(j.triggers) > 0 {
			value = j.threshold(" %v", ". The manifest has none above 0: it does not match the log, or this scaler does not decide by the value whether it is active")
		}
		causes = append(causes, Cause{ID: "activation", Basis: Observed,
			Text: strings.Join(above, ", ") + " and the trigger is inactive: the value does not exceed the activation value" + value,
			Fix:  "Lower the activation value (activationValue, activationListLength, …) below the smallest queue that needs a Job; its default is 0"})
	}
	if len(zero) > 0 {
		text := "the queue length is 0 (" + strings.Join(zero, ", ") + ")"
		if j.isCron() {
			text = "the trigger cron is outside of its window"
		}
		causes = append(causes, Cause{ID: "empty", Basis: Observed, Text: text,
			Fix: j.ifWorkWaits()})
	}
	return causes
}

// covered returns the causes of an active poll when the strategy asks for no Job.
func (j *judge) covered(v *Verdict) (causes []Cause) {
	r, p, m, queueMax := value(v.Running), value(v.Pending), j.bounds.Min, j.bounds.QueueMax
	basis := Computed
	if j.spec == nil || v.T == nil {
		basis = Inferred
	}
	name, noDemand := j.strategyOf(v.Poll), v.T != nil && v.T.Max != nil && *v.T.Max == 0
	createsForAny := r == 0 || name == "eager" || (name == "accurate" && p == 0)
	switch {
	case m == 0 && r < queueMax && v.MaxValue == nil && noDemand && createsForAny:
		causes = append(causes, j.otherManifest(fmt.Sprintf("a trigger is active, but the strategy %s would create Jobs for any value above 0: the value is 0, or the manifest does not match the log", name)))
	case j.spec != nil && r > m+queueMax && name != "custom" && j.rivals == nil:
		causes = append(causes, j.foreign(r))
	case j.spec != nil && r >= m+queueMax && name != "custom":
		causes = append(causes, Cause{ID: "maximum", Basis: Computed,
			Text: fmt.Sprintf("the maximum is reached: %s%s, and maxReplicaCount allows %d", jobsRun(r), pendingWords(p), m+queueMax),
			Fix:  "Raise maxReplicaCount, or make Jobs shorter"})
		if p > 0 {
			causes[0].Fix = "Make the pending pods start, raise maxReplicaCount, or make Jobs shorter"
		}
	case m > 0 && noDemand:
		causes = append(causes, j.noDemand(v, basis))
	default:
		causes = append(causes, j.deducted(v, name)...)
	}
	if r > 0 && p == r {
		stuck := Cause{ID: "stuck", Basis: Observed, Decide: j.jobsCommand() + ", then kubectl describe of a pod that is Pending",
			Text: fmt.Sprintf("%s no running pod (P=%d), and KEDA counts such Jobs all the same: pods may have no node or image, be blocked by a quota, or be in back-off after failures", field.Plural(int(r), "Job")+map[bool]string{true: " has", false: " have"}[r == 1], p),
			Fix:  "Make the pods start, or delete the Jobs" + deadlineAdvice}
		for i := range causes {
			causes[i].Fix = stuck.Fix // no other strategy or maximum makes them work
		}
		causes = append(causes, stuck)
	}
	return causes
}

const deadlineAdvice = "; set activeDeadlineSeconds and backoffLimit so that they end"

// noDemand is the cause of a poll that the minimum keeps active although no trigger asks for a Job.
func (j *judge) noDemand(v *Verdict, basis Basis) Cause {
	c := Cause{ID: "no-demand", Basis: basis, Fix: "If items wait: check which queue the trigger reads, and that workers have not taken them already"}
	which := "every queue is empty, at most at its activation value, or unreadable; the log does not show which"
	switch read := j.inactive(v); {
	case len(v.Triggers) > 0 && len(read) > 0:
		var texts []string
		for _, cause := range read {
			texts = append(texts, cause.Text)
		}
		which, c.Fix = strings.Join(texts, "; "), read[0].Fix
	case len(v.Errors) > 0:
		which = "the trigger cannot be read"
	default:
		c.Decide = "set --zap-log-level=debug in the operator's Deployment: \"Scaler Metric value\" shows the value that KEDA reads"
		if text := j.threshold("%v", ""); text != "" {
			which = "every queue is empty, at most at its activation value of " + text + ", or unreadable; the log does not show which"
		}
	}
	c.Text = fmt.Sprintf("no trigger asks for a Job (T=0): %s. The minimum of %d keeps the poll active all the same, and %s", which, j.bounds.Min, jobsRun(value(v.Running)))
	return c
}

func (j *judge) foreign(r int64) Cause {
	return Cause{ID: "foreign-jobs", Basis: Inferred, Decide: j.jobsCommand() + " -o wide",
		Text: fmt.Sprintf("R=%d is above the maximum of %d: other Jobs have the label scaledjob.keda.sh/name=%s, maxReplicaCount was lowered, or a create request that timed out in KEDA made its Job nevertheless", r, j.bounds.Min+j.bounds.QueueMax, j.name),
		Fix:  "Remove the label from other Jobs; no ScaledJob may copy another's label into its template"}
}

// stuckFirst makes stuck Jobs the first cause of polls in which no Job has had a running pod for a while.
func stuckFirst(verdicts []*Verdict) {
	var start time.Time
	for _, v := range verdicts {
		index := slices.IndexFunc(v.Causes, func(c Cause) bool { return c.ID == "stuck" })
		switch {
		case index < 0:
			start = time.Time{}
		case start.IsZero():
			start = v.Time
		case v.Time.Sub(start) >= StuckAfter:
			stuck := v.Causes[index]
			v.Causes = slices.Insert(slices.Delete(v.Causes, index, index+1), 0, stuck)
		}
	}
}

func pendingWords(p int64) string {
	if p == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them without a running pod)", p)
}

// deducted returns the cause for each strategy that the poll may have.
func (j *judge) deducted(v *Verdict, name string) (causes []Cause) {
	r, p, m := value(v.Running), value(v.Pending), j.bounds.Min
	basis := Computed
	if name == "" || v.T == nil {
		basis = Inferred
	}
	if name == "" || name == "default" {
		c := Cause{ID: "running-deducted", Basis: basis, Fix: j.fixOfDefault(),
			Text: fmt.Sprintf("the strategy default subtracts the running Jobs (R) from those that the queue asks for (T): %s%s%s", v.minus("R", r-m), aboveMin(m), pendingWords(p))}
		causes = append(causes, c)
	}
	switch {
	case name == "accurate" && p == 0 && v.T == nil:
		causes = append(causes, Cause{ID: "nothing-asked", Basis: Inferred,
			Text:   fmt.Sprintf("the strategy accurate subtracts only pending Jobs, and P=0: T is 0 and a minimum keeps the poll active, or R=%d is the maximum", r),
			Decide: j.kubectl("get scaledjob %s -o yaml") + " shows minReplicaCount and maxReplicaCount",
			Fix:    "If items wait, see the value of the trigger, or raise maxReplicaCount"})
	case name == "accurate", name == "" && p > 0:
		causes = append(causes, Cause{ID: "pending-deducted", Basis: basis,
			Text: fmt.Sprintf("the strategy accurate subtracts the pending Jobs: %s. Pending Jobs have no running pod; they are a part of R, and are not items that wait", v.minus("P", p)),
			Fix:  "Make the pending pods start; pendingPodConditions decides which Jobs are pending"})
	case name == "eager" && j.spec == nil:
		causes = append(causes, Cause{ID: "eager-deducted", Basis: basis,
			Text: fmt.Sprintf("the strategy eager creates at most M - R - P, of which R=%d and P=%d are known: R contains P already", r, p),
			Fix:  "Make the pending pods start, raise maxReplicaCount, or use default or accurate"})
	case name == "eager":
		causes = append(causes, Cause{ID: "eager-deducted", Basis: basis,
			Text: fmt.Sprintf("the strategy eager creates at most M - R - P = %d - %d - %d, although R contains P already", j.bounds.QueueMax, r-m, p),
			Fix:  "Make the pending pods start, raise maxReplicaCount, or use default or accurate"})
	case name == "custom" && j.deduction() > 0 && j.deduction() >= j.bounds.QueueMax:
		causes = append(causes, Cause{ID: "custom-deducted", Basis: Computed, Fix: "Lower customScalingQueueLengthDeduction below the maximum",
			Text: fmt.Sprintf("customScalingQueueLengthDeduction is %d, and the queue may have %s at most: the strategy custom never creates one", j.deduction(), field.Plural(int(j.bounds.QueueMax), "Job"))})
	case name == "custom":
		causes = append(causes, Cause{ID: "custom-deducted", Basis: basis,
			Text: fmt.Sprintf("the strategy custom (%s) answers at most 0: %s%s%s", j.profile.Strategy(j.keda), v.minus("R", r-m), aboveMin(m), pendingWords(p)),
			Fix:  "Lower customScalingQueueLengthDeduction or customScalingRunningJobPercentage"})
	}
	if name == "" {
		for i := range causes {
			causes[i].Decide = j.kubectl("get scaledjob %s -o yaml") + " shows the strategy"
		}
	}
	return causes
}

func (j *judge) deduction() int64 {
	if j.spec == nil || j.spec.Spec.ScalingStrategy.CustomScalingQueueLengthDeduction == nil {
		return 0
	}
	return int64(*j.spec.Spec.ScalingStrategy.CustomScalingQueueLengthDeduction)
}

func (v *Verdict) minus(letter string, n int64) string {
	switch {
	case v.T == nil:
		return fmt.Sprintf("T - %s is at most 0, %s=%d", letter, letter, n)
	case v.T.Max != nil && *v.T.Max == v.T.Min:
		return fmt.Sprintf("T - %s = %v - %d", letter, v.T.Min, n)
	}
	return fmt.Sprintf("T is %s%s, %s=%d", v.T, v.length(), letter, n)
}

// fixOfDefault depends on whether the metric counts the items that Jobs work on.
func (j *judge) fixOfDefault() string {
	fix := "If items wait while these Jobs work on others, use the strategy accurate, with a metric that does not count in-progress items"
	switch how, trigger, differ := j.counting(); {
	case differ:
		return fix + fmt.Sprintf(". Whether the metric of %s counts them depends on the release; use --release", trigger)
	case how == triggers.Includes:
		return fmt.Sprintf("KEDA did its part: the metric of %s counts in-progress items too, so each item has its Job. Check that the Jobs take their items", trigger)
	case how == triggers.LeavesOut:
		return fmt.Sprintf("The metric of %s leaves out in-progress items, so items wait while these Jobs work on others. Use the strategy accurate", trigger)
	}
	return fix
}

func aboveMin(m int64) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf(" (R counts above min %d)", m)
}

// counting returns how the metric of the first trigger with a known way counts in-progress items, and
// whether the releases that can have written the log differ in it.
func (j *judge) counting() (how triggers.Counting, trigger string, differ bool) {
	if j.spec == nil {
		return 0, "", false
	}
	for _, t := range j.spec.Spec.Triggers {
		for i, release := range j.releases() {
			counts, _ := triggers.Counts(t.Type, release, triggers.Input{Metadata: t.Metadata})
			if i > 0 && counts != how {
				return 0, t.Type, true
			}
			how = counts
		}
		if how != 0 {
			return how, t.Type, false
		}
	}
	return 0, "", false
}

// releases returns the releases that can have written the log: one if it is sure.
func (j *judge) releases() (releases []string) {
	if !j.sure {
		for _, p := range j.log.Candidates() {
			releases = append(releases, p.Release())
		}
	}
	if len(releases) == 0 {
		releases = []string{j.profile.Release()}
	}
	return releases
}
