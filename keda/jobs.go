package keda

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const paused = "autoscaling.keda.sh/paused"

// Paused reports whether the paused annotation stops polling, by the behavior pause.
// From 2.13 on, any value pauses unless strconv.ParseBool reads it as false.
func (p Profile) Paused(j *ScaledJob) bool {
	value, found := j.Annotations[paused]
	switch {
	case !found || p.forms[behaviorPause] == pause20:
		return false
	case p.forms[behaviorPause] == pause211:
		return true
	}
	on, err := strconv.ParseBool(value)
	return on || err != nil
}

// JobCounts holds the numbers of Jobs that [State] needs. The zero value has none.
type JobCounts struct {
	Running int64 // R: unfinished Jobs, pending Jobs included
	Pending int64 // P: part of R that is pending
}

// Count counts the Jobs by the behavior pending. Terminating and suspended Jobs count
// like other Jobs. Pending is 0 in 2.0, which does not count pending Jobs
// ([PendingCount]).
func (p Profile) Count(j *ScaledJob, jobs []Job) JobCounts {
	var c JobCounts
	for i := range jobs {
		if jobs[i].outcome() != "" {
			continue
		}
		c.Running++
		if p.pending(j.Spec.ScalingStrategy.PendingPodConditions, jobs[i].Pods) {
			c.Pending++
		}
	}
	return c
}

// pending reports whether an unfinished Job with these pods is pending.
func (p Profile) pending(conditions []string, pods []Pod) bool {
	form := p.forms[behaviorPending]
	switch {
	case form == pending20:
		return false
	case form == pending21 || len(conditions) == 0:
		return !slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Phase == "Running" || pod.Phase == "Succeeded" })
	case form == pending24:
		return matches(conditions, pods) != len(conditions)
	}
	return !slices.ContainsFunc(pods, func(pod Pod) bool { return distinct(conditions, pod.Conditions) == len(conditions) })
}

// matches counts the pairs of a listed condition and a true condition of a pod.
func matches(conditions []string, pods []Pod) int {
	n := 0
	for _, name := range conditions {
		for i := range pods {
			for k := range pods[i].Conditions {
				if c := &pods[i].Conditions[k]; c.Type == name && c.holds() {
					n++
				}
			}
		}
	}
	return n
}

// distinct counts the listed names, each once, that are true conditions of one pod.
func distinct(conditions []string, of []Condition) int {
	n := 0
	for i, name := range conditions {
		if !slices.Contains(conditions[:i], name) &&
			slices.ContainsFunc(of, func(c Condition) bool { return c.Type == name && c.holds() }) {
			n++
		}
	}
	return n
}

// A Pruning lists the finished Jobs that KEDA deletes.
type Pruning struct {
	Deleted []int // indexes in the order of deletion, succeeded Jobs first; nil if there are none
	Fault   Fault // NoFault, or a negative limit; Deleted then lists the deletions before it
}

// History returns the finished Jobs that KEDA deletes at the end of a poll. jobs is in
// the order of the API server's list. A limit that is not set is 100. Terminating Jobs
// count and are deleted again. A paused ScaledJob deletes none.
//
// KEDA sorts the Jobs of each outcome by completion time. A Job without a time, as
// every failed Job is, equals all others, so that failed Jobs keep the order of the
// list. If only some of more than 12 Jobs have a time, the order depends on the
// algorithm of package sort, which History uses too.
func (p Profile) History(j *ScaledJob, jobs []Job) Pruning {
	if p.Paused(j) {
		return Pruning{}
	}
	var chosen []int
	for _, o := range []struct {
		outcome string
		limit   *int32
	}{
		{"Complete", j.Spec.SuccessfulJobsHistoryLimit},
		{"Failed", j.Spec.FailedJobsHistoryLimit},
	} {
		of := finished(jobs, o.outcome)
		limit := 100
		if o.limit != nil {
			limit = int(*o.limit)
		}
		if limit < 0 {
			return Pruning{chosen, negativeLimit}
		}
		sort.Sort(byCompletion{jobs, of})
		chosen = append(chosen, of[:max(0, len(of)-limit)]...)
	}
	return Pruning{Deleted: chosen}
}

func finished(jobs []Job, outcome string) []int {
	var of []int
	for i := range jobs {
		if jobs[i].outcome() == outcome {
			of = append(of, i)
		}
	}
	return of
}

// byCompletion sorts indexes of Jobs. If only some Jobs have a time, the order is not
// transitive, and the algorithm determines the result.
type byCompletion struct {
	jobs []Job
	of   []int
}

func (b byCompletion) Len() int      { return len(b.of) }
func (b byCompletion) Swap(i, k int) { b.of[i], b.of[k] = b.of[k], b.of[i] }
func (b byCompletion) Less(i, k int) bool {
	return before(b.jobs[b.of[i]].CompletionTime, b.jobs[b.of[k]].CompletionTime)
}

func before(a, b *time.Time) bool { return a != nil && b != nil && a.Before(*b) }

// generation is the annotation of a Job with the generation of the ScaledJob that
// created it.
const generation = "scaledjob.keda.sh/generation"

// A Rollout lists the Jobs that KEDA deletes when it reconciles a ScaledJob.
type Rollout struct {
	Strategy          string // strategy in the manifest: see [Profile.RolloutStrategy]
	Deleted           []int  // indexes, in the order of the Jobs; nil if there are none
	PropagationPolicy string // "background" or "foreground"
}

// Rollout returns the Jobs that KEDA deletes after a change of the ScaledJob, by the
// behavior rollout. Finished Jobs are deleted too. Before 2.14.1, Jobs of the current
// generation are deleted as well, and each restart of the operator deletes Jobs. A
// paused ScaledJob deletes none.
func (p Profile) Rollout(j *ScaledJob, jobs []Job) Rollout {
	form := p.forms[behaviorRollout]
	r := Rollout{Strategy: p.RolloutStrategy(j), PropagationPolicy: "background"}
	if form >= rollout28 && j.Spec.Rollout.PropagationPolicy == "foreground" {
		r.PropagationPolicy = "foreground"
	}
	if form == rollout20 || r.Strategy == "gradual" || p.Paused(j) {
		return r
	}
	current := strconv.FormatInt(j.Generation, 10)
	for i := range jobs {
		of, known := jobs[i].Annotations[generation]
		if form < rollout2141 || !known || of != current {
			r.Deleted = append(r.Deleted, i)
		}
	}
	return r
}

// RolloutStrategy returns the text of the rollout strategy that the release reads:
// rolloutStrategy if it is set, or else rollout.strategy. "gradual" deletes no Jobs; any
// other text, also "", deletes outdated Jobs.
func (p Profile) RolloutStrategy(j *ScaledJob) string {
	switch form := p.forms[behaviorRollout]; {
	case form >= rollout25 && j.Spec.RolloutStrategy != "":
		return j.Spec.RolloutStrategy
	case form >= rollout28:
		return j.Spec.Rollout.Strategy
	}
	return ""
}

const (
	nameLabel       = "scaledjob.keda.sh/name"
	oldNameLabel    = "scaledjob" // before 2.4
	excludedLabels  = "scaledjob.keda.sh/job-excluded-labels"
	onFailure       = "OnFailure"
	managedByLabel  = "app.kubernetes.io/managed-by"
	partOfLabel     = "app.kubernetes.io/part-of"
	versionLabel    = "app.kubernetes.io/version"
	applicationName = "app.kubernetes.io/name"
)

// A GeneratedJob holds the fields that KEDA sets in each Job that it creates. The
// manifest determines the others.
type GeneratedJob struct {
	GenerateName  string
	Namespace     string
	Labels        map[string]string
	Annotations   map[string]string // nil if there are none
	PodLabels     map[string]string // the template's labels and the tracking label
	RestartPolicy string            // of the pods

	// Tracked reports whether KEDA finds the Job again. It is false if a label of the
	// ScaledJob overwrites the tracking label: the Job is never counted, and each poll
	// creates another.
	Tracked bool
}

// Generate returns the Jobs' metadata by the behaviors labels and annotations. build is
// the version of the operator's binary, which becomes a label: the release in KEDA's
// images, and "main" in a binary that was built without a version.
func (p Profile) Generate(j *ScaledJob, build string) GeneratedJob {
	name, tracking := j.Name, p.TrackingLabel()
	g := GeneratedJob{
		GenerateName:  name + "-",
		Namespace:     j.Namespace,
		Labels:        p.labels(j, build),
		Annotations:   p.annotations(j),
		PodLabels:     map[string]string{},
		RestartPolicy: j.RestartPolicy,
	}
	maps.Copy(g.PodLabels, j.PodLabels)
	g.PodLabels[tracking] = name
	if g.RestartPolicy == "" {
		g.RestartPolicy = onFailure
	}
	g.Tracked = g.Labels[tracking] == name
	return g
}

// TrackingLabel returns the label by which KEDA finds the Jobs of a ScaledJob in its
// namespace, by the behavior labels. Its value is the ScaledJob's name. KEDA does not
// check the Jobs' owner.
func (p Profile) TrackingLabel() string {
	if p.forms[behaviorLabels] < labels24 {
		return oldNameLabel
	}
	return nameLabel
}

// labels returns KEDA's labels, overwritten by the ScaledJob's.
func (p Profile) labels(j *ScaledJob, build string) map[string]string {
	name, form := j.Name, p.forms[behaviorLabels]
	labels := map[string]string{
		applicationName:   name,
		versionLabel:      build,
		partOfLabel:       name,
		managedByLabel:    "keda-operator",
		p.TrackingLabel(): name,
	}
	if form == labels20 {
		return labels
	}
	excluded := map[string]bool{}
	if form >= labels218 {
		for key := range strings.SplitSeq(j.Annotations[excludedLabels], ",") { // spaces are part of a key
			excluded[key] = true
		}
	}
	for key, value := range j.Labels {
		if !excluded[key] {
			labels[key] = value
		}
	}
	return labels
}

// annotations returns the generation, overwritten by the ScaledJob's annotations.
func (p Profile) annotations(j *ScaledJob) map[string]string {
	switch p.forms[behaviorAnnotations] {
	case annotations20:
		return nil
	case annotations213:
		return maps.Clone(j.Annotations)
	}
	annotations := map[string]string{generation: strconv.FormatInt(j.Generation, 10)}
	maps.Copy(annotations, j.Annotations)
	return annotations
}
