package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// counts returns the condition that a trigger's metric counts so.
func (j *job) counts(trigger int, want triggers.Counting) condition {
	in := j.input(trigger)
	if j.bull(trigger) {
		return func(keda.Profile) bool { return want == triggers.Includes }
	}
	return func(p keda.Profile) bool {
		how, _ := triggers.Counts(j.spec.Triggers[trigger].Type, p.Release(), in)
		return how == want
	}
}

// bull reports whether the trigger is one of two Redis lists of a BullMQ queue, waiting and
// active items, that are added up.
func (j *job) bull(trigger int) bool {
	if !j.compares("sum") {
		return false
	}
	list := listOf(&j.spec.Triggers[trigger])
	name, wait := strings.CutSuffix(list, ":wait")
	other := name + ":active"
	if !wait {
		name, wait = strings.CutSuffix(list, ":active")
		other = name + ":wait"
	}
	return wait && j.lists()[other]
}

func listOf(t *manifest.ScaleTrigger) string { return t.Type + " " + t.Metadata["listName"] }

// findLists returns the lists of all triggers.
func (j *job) findLists() map[string]bool {
	lists := map[string]bool{}
	for i := range j.spec.Triggers {
		lists[listOf(&j.spec.Triggers[i])] = true
	}
	return lists
}

// metricUnknown reports triggers for which the manifest does not show this.
func metricUnknown(j *job, i int, t *manifest.ScaleTrigger) {
	if t.Type != "rabbitmq" || j.spec.ScalingStrategy.Strategy == "custom" {
		return
	}
	_, hidden := triggers.Counts(t.Type, knownProfiles()[len(knownProfiles())-1].Release(), j.input(i))
	j.check(hidden, j.trigger(i, "type"), "Write protocol: amqp or protocol: http, or lint the manifest together with the Secret",
		"the manifest does not show the URL's protocol, which decides whether the metric includes in-progress items")
}

// exclusions holds the settings that make a metric leave out in-progress items.
var exclusions = map[string]string{
	"azure-pipelines": `scaleOnInFlight: "false" with KEDA 2.21`,
	"selenium-grid":   `includeOngoingSessions: "false" with KEDA 2.21`,
	"aws-sqs-queue":   `scaleOnInFlight: "false"`,
	"azure-queue":     "queueLengthStrategy: visibleonly",
	"rabbitmq":        `excludeUnacknowledged: "true", or an amqp:// URL as host`,
}

// mixed reports whether triggers count differently under a release, so that no strategy fits all of them.
func (j *job) mixed(p keda.Profile) bool {
	release := p.Release()
	if _, known := j.mixedIn[release]; !known {
		included, leftOut := false, false
		for i := range j.spec.Triggers {
			included = included || j.counts(i, triggers.Includes)(p)
			leftOut = leftOut || j.counts(i, triggers.LeavesOut)(p)
		}
		j.mixedIn[release] = included && leftOut
	}
	return j.mixedIn[release]
}

// inFlight returns the check for triggers that count so under a strategy. With one Job at most all strategies are alike.
func inFlight(strategy string, how triggers.Counting, text string) func(*job) {
	return eachTrigger(func(j *job, i int, t *manifest.ScaleTrigger) {
		name := j.spec.ScalingStrategy.Strategy
		chosen := name == strategy || (strategy == "default" && name == "")
		// What counts entries that nobody has read becomes another metric by the fix of stream-never-starts.
		if !chosen || j.limit() <= 1 || j.startsNever(i) {
			return
		}
		counts, selects := j.counts(i, how), j.selects()
		affected := func(p keda.Profile) bool {
			return counts(p) && (strategy == "default" || selects(p)) && !j.mixed(p)
		}
		fix := "Use the strategy accurate"
		if n := j.config.Triggers[i].Target; n > 1 {
			fix += fmt.Sprintf(" if a Job takes its %s items at once; if it takes fewer, lower the target to them", strconv.FormatFloat(n, 'f', -1, 64))
		}
		if how == triggers.Includes {
			fix = excluding(t)
		}
		if releases, _ := j.scope.affected(affected); !j.scope.named && !affected(keda.Newest()) {
			fix += ", with KEDA " + strings.TrimPrefix(period(releases), "in ") + " only"
		}
		j.find(j.trigger(i, "type"), fix, effect{affected: affected, text: text})
	})
}

func excluding(t *manifest.ScaleTrigger) string {
	exclusion := exclusions[t.Type]
	if t.Type == "rabbitmq" && t.Metadata["protocol"] == "http" {
		exclusion, _, _ = strings.Cut(exclusion, ",") // the URL alone does not change it
	}
	if exclusion != "" {
		return fmt.Sprintf("Write %s, or use the strategy default", exclusion)
	}
	return "Use the strategy default"
}
