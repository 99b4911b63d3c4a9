package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

func (j *job) trigger(i int, steps ...any) place {
	return j.place(append([]any{"spec", "triggers", i}, steps...)...)
}

func triggerTypeUnknown(j *job, i int, t *manifest.ScaleTrigger) {
	types := triggers.Types()
	if t.Type == "" || slices.Contains(types, t.Type) {
		return
	}
	fix := "Write one of KEDA's types"
	isGitLab := strings.HasPrefix(strings.ToLower(t.Type), "gitlab") // two letters from GitHub
	if near := cmp.Or(nearest(t.Type, types), containing(t.Type, types)); near != "" && !isGitLab {
		fix = "Write " + near
	}
	j.find(j.trigger(i, "type"), fix, effect{text: "KEDA has no scaler of this type and never polls", neverPolls: true})
}

// containing lists the types that contain a word or are part of it: sqs is part of
// aws-sqs-queue.
func containing(word string, types []string) string {
	var found []string
	word = strings.ToLower(word)
	for _, name := range types {
		if (len(word) > 2 && strings.Contains(name, word)) || strings.Contains(word, name) {
			found = append(found, name)
		}
	}
	return strings.Join(found, " or ")
}

func triggerWithoutJobs(j *job, i int, t *manifest.ScaleTrigger) {
	const pods = "it measures running pods, so KEDA never creates a Job for it"
	text := map[string]string{
		"cpu": pods, "memory": pods,
		"splunk-observability": "its target is not an average value, so KEDA reads it as 0 and never creates a Job",
	}[t.Type]
	j.check(text != "", j.trigger(i, "type"), "Use a trigger that measures a queue", text)
}

func triggerPush(j *job, i int, t *manifest.ScaleTrigger) {
	j.check(t.Type == "external-push", j.trigger(i, "type"), "Write external", "its pushes create no Jobs, and KEDA only polls it")
}

func triggerNameDuplicate(j *job) {
	first := map[string]int{}
	for i, t := range j.spec.Triggers {
		if _, repeated := first[t.Name]; repeated && t.Name != "" {
			j.find(j.trigger(i, "name"), "Give each trigger a name of its own", effect{affected: from("2.14.0"), text: "KEDA rejects both triggers and never polls", neverPolls: true})
			continue
		}
		first[t.Name] = i
	}
}

func triggerMetricType(j *job, i int, t *manifest.ScaleTrigger) {
	if t.MetricType != "" {
		j.find(j.trigger(i, "metricType"), "Delete the field; a ScaledJob always uses the target average value",
			effect{affected: from("2.7.0"), text: "KEDA rejects it and never polls", neverPolls: true})
	}
}

func triggerCachedMetrics(j *job, i int, t *manifest.ScaleTrigger) {
	if t.UseCachedMetrics {
		j.find(j.trigger(i, "useCachedMetrics"), "Delete the field", effect{affected: from("2.10.0"), text: "it has no effect on ScaledJobs"})
	}
}

// numberInvalid returns the check of the target, or of the activation threshold, in the metadata, with what follows from
// a number that is too small, and from a text that is no number.
func numberInvalid(activation bool, below, unreadable string) func(*job) {
	return func(j *job) {
		for _, p := range j.problems {
			path := j.path(p.Path)
			if len(path) < 5 || path[1] != "triggers" || path[3] != "metadata" {
				continue
			}
			i, _ := path[2].(int)
			key, _ := path[4].(string)
			text := below
			if _, err := strconv.ParseFloat(j.spec.Triggers[i].Metadata[key], 64); err != nil {
				text = unreadable
			}
			if strings.HasPrefix(key, "activation") == activation {
				j.find(j.place(path...), "Write "+p.Fix, effect{affected: j.accepted(i, key), text: text})
			}
		}
	}
}

// activationHidesItems finds a threshold at which the items of a whole Job do not activate the
// trigger: it is active above the threshold.
func activationHidesItems(j *job) {
	for i, t := range j.config.Triggers {
		for key := range j.spec.Triggers[i].Metadata {
			j.check(strings.HasPrefix(key, "activation") && t.Target > 0 && t.ActivationThreshold >= t.Target, j.trigger(i, "metadata", key),
				"Write a number below the target, such as 0", fmt.Sprintf("the trigger is active only above %[1]v, so a queue length of %[1]v gets no Job although the target is %[2]v", t.ActivationThreshold, t.Target))
		}
	}
}

// cronRepeatsJobs finds a ScaledJob that stands for a CronJob.
func cronRepeatsJobs(j *job) {
	others := slices.ContainsFunc(j.spec.Triggers, func(t manifest.ScaleTrigger) bool { return t.Type != "cron" })
	j.check(len(j.spec.Triggers) > 0 && !others, j.trigger(0, "type"), "Use a CronJob if the work is due once per window",
		"within the window, KEDA keeps the Jobs at desiredReplicas, so it creates a new Job for each one that ends")
}

// streamNeverStarts finds a trigger for the pending entries of a group: those that a consumer has read.
func streamNeverStarts(j *job, i int, t *manifest.ScaleTrigger) {
	j.check(j.startsNever(i), j.trigger(i, "metadata", "consumerGroup"),
		"Write lagCount in place of pendingEntriesCount (Redis 7 or later): it counts the entries that nobody has read", "KEDA counts the entries that a consumer has read but not acknowledged. Without a running Job there are none, so no Job is created")
}

// startsNever reports whether a trigger counts what only a running Job reads, while no other trigger starts one.
func (j *job) startsNever(i int) bool {
	noJob := j.spec.MinReplicaCount == nil || *j.spec.MinReplicaCount < 1
	others := slices.ContainsFunc(j.spec.Triggers, func(t manifest.ScaleTrigger) bool { return !countsPendingEntries(&t) })
	return countsPendingEntries(&j.spec.Triggers[i]) && noJob && !others
}

func countsPendingEntries(t *manifest.ScaleTrigger) bool {
	return strings.HasSuffix(t.Type, "-streams") && t.Metadata["consumerGroup"] != "" && t.Metadata["lagCount"] == ""
}

func pipelinesPlaceholder(j *job, i int, t *manifest.ScaleTrigger) {
	noJob := j.spec.MinReplicaCount == nil || *j.spec.MinReplicaCount < 1
	j.check(t.Type == "azure-pipelines" && noJob && t.Metadata["parent"] == "", j.trigger(i, "type"), "If the pool has no agent, register one and leave it offline",
		"Azure Pipelines queues no job for a pool that never had an agent, so KEDA sees an empty queue")
}

// pipelinesFetchLimit finds a maximum that is never reached, because KEDA does not read so many jobs.
func pipelinesFetchLimit(j *job, i int, t *manifest.ScaleTrigger) {
	fetched, err := strconv.ParseInt(cmp.Or(t.Metadata["jobsToFetch"], "250"), 10, 64)
	isLimited := t.Type == "azure-pipelines" && t.Metadata["parent"] == "" && t.Metadata["fetchUnfinishedJobsOnly"] == "" && keda.Newest().Strategy(j.model).Name() == "default"
	wanted := keda.Newest().Replicas(j.model).QueueMax
	if err == nil && isLimited && len(j.spec.Triggers) == 1 && wanted > fetched {
		j.find(j.place("spec", "maxReplicaCount"), fmt.Sprintf(`Add jobsToFetch: "%d" to the trigger`, wanted),
			effect{affected: from("2.10.0"), text: fmt.Sprintf("KEDA reads at most %d jobs of the pool, its jobsToFetch, so the maximum is never reached", fetched)})
	}
}

// manyPartitions is more than most topics have.
const manyPartitions = 50

// partitionsLimit finds a maximum that is never reached, because partitions limit the Jobs.
func partitionsLimit(j *job, i int, t *manifest.ScaleTrigger) {
	limit := triggers.LimitOf(t.Type, keda.Newest().Release(), t.Metadata)
	position := j.place("spec", "maxReplicaCount")
	if position.found == noValue {
		position = j.trigger(i, "type")
	}
	strategy := keda.Newest().Strategy(j.model).Name()          // custom without its parameters is default
	limitsAll := strategy != "accurate" && strategy != "custom" // which add that many Jobs in each poll
	switch {
	case limit == nil || !limitsAll:
	case j.partitions > 0 && j.limit() > j.partitions+1:
		j.find(position, fmt.Sprintf("Write %d, or add partitions", j.partitions),
			effect{text: fmt.Sprintf("%s asks for at most one Job for each of the %d %s, so the maximum of %d is never reached", t.Type, j.partitions, limit.Noun(), j.limit())})
	case j.partitions == 0 && j.limit() >= manyPartitions:
		j.note(position, "Run lint with --partitions NUMBER to check it",
			effect{text: fmt.Sprintf("%s asks for at most one Job for each of the %s, so with fewer than %d the maximum is never reached", t.Type, limit.Noun(), j.limit())})
	}
}

const longWindow = 24 * time.Hour

// cronWindowLong finds windows that last for days, or for ever: the ends are compared with the starts over a year.
func cronWindowLong(j *job, i int, t *manifest.ScaleTrigger) {
	if t.Type != "cron" || t.Metadata["start"] == t.Metadata["end"] { // which another rule finds
		return
	}
	w, err := triggers.LongestWindow(t.Metadata["timezone"], t.Metadata["start"], t.Metadata["end"])
	const form = "Monday 2 January 2006 15:04 MST"
	switch position := j.trigger(i, "metadata", "end"); {
	case err != nil:
	case w.Begin.IsZero():
		j.find(j.trigger(i, "metadata", "start"), "Write a start that occurs", effect{text: "no such day comes within a year, so the window does not begin and KEDA creates no Job for it"})
	case w.End.IsZero():
		j.find(position, "Write an end that occurs", effect{text: "the window that begins on " + w.Begin.Format(form) + " never ends, so KEDA keeps the Jobs"})
	case w.End.Sub(w.Begin) > longWindow:
		j.find(position, "If the window is not meant to last so long, write an end on the same day",
			effect{text: fmt.Sprintf("the window that begins on %s ends on %s, %d hours later", w.Begin.Format(form), w.End.Format(form), int(w.End.Sub(w.Begin).Hours()))})
	}
}

// targetKey returns the key of the metadata without which the target is
// another.
func (j *job) targetKey(i int) (string, bool) {
	trimmed := j.spec.Triggers[i]
	metadata := trimmed.Metadata
	trimmed.Metadata = maps.Clone(metadata)
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if x, err := strconv.ParseFloat(metadata[key], 64); err != nil || x != j.config.Triggers[i].Target {
			continue
		}
		delete(trimmed.Metadata, key)
		config, _ := configOf(&manifest.ScaledJob{Spec: manifest.Spec{Triggers: []manifest.ScaleTrigger{trimmed}}})
		trimmed.Metadata[key] = metadata[key]
		if config.Triggers[0].Target != j.config.Triggers[i].Target {
			return key, true
		}
	}
	return "", false
}

func targetBelowOne(j *job) {
	for i, t := range j.config.Triggers {
		key, ok := "", t.Target > 0 && t.Target < 1
		if ok {
			key, ok = j.targetKey(i)
		}
		if !ok {
			continue
		}
		fraction := keda.Scaler{Target: t.Target}
		j.find(j.trigger(i, "metadata", key), "Write 1 or more; for several pods per item, set the Job's parallelism",
			effect{affected: func(p keda.Profile) bool { return p.TargetAverage(&fraction) == 0 },
				text: "KEDA reads targets as whole numbers, so this one is 0 and asks for no Job"},
			effect{affected: func(p keda.Profile) bool {
				return j.limit() > 1 && p.TargetAverage(&fraction) > 0 && p.Strategy(j.model).Name() != "eager"
			}, text: "a poll never creates more Jobs than the queue length"})
	}
}

// hostIsName is met by a host that is neither an address nor a URL.
func hostIsName(host string) bool {
	return host != "" && !strings.ContainsAny(host, "./:@")
}

func hostNotAURL(j *job, i int, t *manifest.ScaleTrigger) {
	host := t.Metadata["host"]
	fix := "Write a URL such as amqp://user:password@" + host + ":5672/vhost"
	if name := strings.Trim(host, "$()"); j.variablesOf()[name] != nil || name != host || name != strings.ToLower(name) {
		fix = "Write hostFromEnv: " + name + " for that environment variable, or a URL such as amqp://…"
	}
	j.checkPolls(t.Type == "rabbitmq" && hostIsName(host), j.trigger(i, "metadata", "host"), fix,
		"it is not a URL, so KEDA rejects the trigger and never polls")
}

// compares reports whether several triggers are compared by their queues.
func (j *job) compares(calculations ...string) bool {
	return len(j.spec.Triggers) > 1 && slices.Contains(calculations, j.spec.ScalingStrategy.MultipleScalersCalculation)
}

// calculation is the place of multipleScalersCalculation, or of the triggers.
func (j *job) calculation() place {
	if position := j.scaling("multipleScalersCalculation"); position.found != noValue {
		return position
	}
	position, list := j.scaling("multipleScalersCalculation"), j.key("spec", "triggers")
	position.line, position.column = list.line, list.column
	return position
}

func calculationComparesQueues(j *job) {
	targets := map[float64]bool{}
	for i, t := range j.config.Triggers {
		values := maps.Values(j.spec.Triggers[i].Metadata)
		asksForOne := t.Type == "cron" && j.spec.Triggers[i].Metadata["desiredReplicas"] == "1"
		if slices.Contains(manifest.TriggerTypes(), t.Type) && !asksForOne && !slices.ContainsFunc(slices.Collect(values), triggers.Placeholder.MatchString) {
			targets[t.Target] = true
		}
	}
	if len(targets) < 2 || !j.compares("", "max", "min") {
		return
	}
	longest, more := "longest", "more"
	if j.spec.ScalingStrategy.MultipleScalersCalculation == "min" {
		longest, more = "shortest", "fewer"
	}
	j.find(j.calculation(), "Use sum or avg, or equal targets",
		effect{affected: not(supports(keda.Calculation)), text: "KEDA adds up all queues and divides by the target of the last trigger"},
		effect{affected: supports(keda.Calculation), text: fmt.Sprintf("KEDA takes the trigger with the %s queue. The targets differ, so another trigger may ask for %s Jobs", longest, more)})
}

func calculationCapsFirst(j *job) {
	if j.compares("avg") {
		j.find(j.calculation(), "Use sum, or raise maxReplicaCount",
			effect{affected: supports(keda.Calculation), text: "KEDA limits each trigger to the maximum before it takes the mean, so a long queue beside a short one gets about half of the maximum"})
	}
}

func calculationSkipsEmpty(j *job) {
	if j.compares("min") {
		j.find(j.calculation(), "If a Job needs an item of each queue, no calculation is right; else use max or sum",
			effect{affected: supports(keda.Calculation), text: "KEDA takes the shortest queue that is not empty, so an empty queue does not stop the Jobs of the others"})
	}
}

// typeOfAnotherRelease finds types of triggers that a release in question lacks and
// another has.
func typeOfAnotherRelease(j *job) {
	minors := j.scope.minors()
	if len(minors) == 0 {
		return
	}
	for i, t := range j.spec.Triggers {
		lacks := func(p keda.Profile) bool {
			_, ok := triggers.Lookup(t.Type, minor(p.Release()))
			return triggers.Covers(minor(p.Release())) && !ok
		}
		_, inNewest := triggers.Lookup(t.Type, minors[len(minors)-1])
		if slices.Contains(triggers.Types(), t.Type) && (j.scope.named || !inNewest) {
			j.find(j.trigger(i, "type"), "Use another trigger, or a release that has "+t.Type,
				effect{affected: lacks, text: "KEDA has no scaler of this type and never polls", fatal: true, neverPolls: true})
		}
	}
}
