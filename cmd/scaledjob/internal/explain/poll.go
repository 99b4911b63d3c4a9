// Package explain decides one poll of a ScaledJob and explains it: by the rules of a release of
// KEDA (keda.go), or by the written specification (spec.go).
package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Poll holds all decisions of a poll of a ScaledJob.
type Poll struct {
	Name      string        `json:"name"`
	Namespace string        `json:"namespace,omitempty"`
	Release   input.Release `json:"release"`
	Create    *creation     `json:"create,omitempty"`  // nil without a queue length
	Rollout   *removal      `json:"rollout,omitempty"` // nil without Jobs
	Prune     *removal      `json:"prune,omitempty"`   // nil without Jobs
	Edits     string        `json:"edits"`             // which edits of the spec delete Jobs
	Notes     []string      `json:"notes,omitempty"`
	// Blocked is the reason of the ScaledJob's status if the queue lengths do not count: KEDA rejects the
	// ScaledJob, or can read no trigger. Create is then what KEDA creates all the same, the Jobs below the
	// minimum, and Corrected what it creates with these queue lengths after the correction.
	Blocked   string    `json:"blocked,omitempty"`
	Summary   string    `json:"summary,omitempty"`     // what is created and why, a sentence
	Never     string    `json:"neverPolled,omitempty"` // why KEDA never polls the manifest, by lint
	Corrected *creation `json:"corrected,omitempty"`
}

// A creation is the number of Jobs to create, and why.
type creation struct {
	Jobs     int64  `json:"jobs"`
	Rule     string `json:"rule"`
	Panic    bool   `json:"panic,omitempty"`
	Decision any    `json:"decision"`
	Trace    string `json:"-"`
}

// A removal is the Jobs that a part of a poll deletes, in this order.
type removal struct {
	Jobs  []deletion `json:"jobs"`
	Rule  string     `json:"rule,omitempty"`    // the reason, if it is the same for all
	Idle  string     `json:"nothing,omitempty"` // the reason why no Job is deleted
	Panic bool       `json:"panic,omitempty"`
	Fault string     `json:"fault,omitempty"` // at which KEDA stops after these Jobs
}

// A deletion is a Job that is deleted.
type deletion struct {
	Name   string `json:"name"`
	Reason string `json:"why"`
	Detail string `json:"detail,omitempty"`
}

// A situation holds the inputs of a poll.
type situation struct {
	triggers []manifest.Trigger
	targets  map[string]float64
	lengths  []float64          // of the queues; nil if they are not given
	counts   *scaling.JobCounts // of Jobs, if there is no dump
}

// Decide returns the decisions of a poll by the rules of a release, with these queue lengths. The
// counts matter if the subject has no dump, and files may be nil.
func Decide(f cluster.Subject, r input.Release, q *input.QueueFlags, counts *scaling.JobCounts, files *Files) (*Poll, error) {
	p, err := decide(f, r, q, counts, files)
	if err != nil || r.Profile == nil {
		return p, err
	}
	text, polled := blocked(f.ScaledJob)
	if text == "" {
		return p, nil
	}
	p.Blocked, p.Corrected, p.Create, p.Summary = text, p.Create, &creation{Rule: "blocked"}, ""
	if f.Spec.DeletionTimestamp != nil {
		p.Corrected, p.Rollout, p.Prune, p.Edits = nil, nil, nil, "KEDA acts on no edit of a ScaledJob that is being deleted"
	}
	if triggers := len(f.Spec.Spec.Triggers); polled && triggers > 0 {
		unread := *q
		unread.Queue = "unread" + strings.Repeat(",unread", triggers-1)
		if now, err := decide(f, r, &unread, counts, files); err == nil {
			p.Create = now.Create
		}
	}
	return p, nil
}

// blocked returns why queue lengths do not count, by a status that is not ready, and whether KEDA polls the
// ScaledJob. It rejects the ScaledJob, or can read none of its triggers.
func blocked(m *input.ScaledJob) (text string, polled bool) {
	if m.Spec.DeletionTimestamp != nil {
		return "KEDA does not poll this ScaledJob, which is being deleted", false
	}
	var status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
	if json.Unmarshal(m.Spec.Status, &status) != nil {
		return "", false
	}
	for _, c := range status.Conditions {
		if c.Type != "Ready" || c.Status != "False" {
			continue
		}
		switch c.Reason {
		case "ScaledJobCheckFailed":
			return "KEDA does not poll this ScaledJob, whose status is not ready: " + cmp.Or(c.Message, c.Reason), false
		case "TriggerError":
			return "KEDA can read no trigger of this ScaledJob, whose status is not ready: " + cmp.Or(c.Message, c.Reason), true
		}
	}
	return "", false
}

func decide(f cluster.Subject, r input.Release, q *input.QueueFlags, counts *scaling.JobCounts, files *Files) (p *Poll, err error) {
	s := &situation{counts: counts}
	switch {
	case q.Queue != "":
		if s.triggers, s.targets, err = q.Triggers(f.ScaledJob); err == nil {
			s.lengths, err = q.Lengths(s.triggers)
		}
	case f.Dump == nil:
		err = input.Usagef(input.NoQueue)
	default: // targets do not matter
		s.targets = map[string]float64{}
		for _, t := range f.Spec.Spec.Triggers {
			s.targets[t.Type] = 1
		}
	}
	if err != nil {
		return nil, err
	}
	var o *cluster.Owned
	if f.Dump != nil {
		if o, err = f.Dump.OwnedBy(f.ScaledJob, r); err != nil {
			return nil, err
		}
	}
	p = &Poll{Name: f.Name(), Namespace: f.Spec.Namespace, Release: r, Edits: r.Edits(f.ScaledJob)}
	p.noteDump(f.ScaledJob, o)
	if s.lengths != nil {
		p.limitByPartitions(f.ScaledJob, s, q.Partitions)
	}
	if r.Profile == nil {
		err := p.specified(f.ScaledJob, s, o)
		p.summarize(f.ScaledJob, s, o)
		return p, err
	}
	p.Never = files.rejection(f.ScaledJob, *r.Profile)
	(&kedaEngine{r, f.ScaledJob, o}).decide(p, s)
	p.summarize(f.ScaledJob, s, o)
	return p, nil
}

func (p *Poll) summarize(m *input.ScaledJob, s *situation, o *cluster.Owned) {
	if p.Create == nil || s.lengths == nil {
		return
	}
	p.Create.Trace = plainer(p.Create.Trace, s)
	var running, pending int64
	switch {
	case o == nil:
		running, pending = s.counts.Running, s.counts.Pending
	case p.Release.Profile != nil:
		counts := p.Release.Profile.Count(m.KEDA, o.KedaJobs())
		running, pending = counts.Running, counts.Pending
	}
	p.Summary = p.sentence(m, s, running, pending)
}

func (p *Poll) noteDump(m *input.ScaledJob, o *cluster.Owned) {
	if o == nil {
		return
	}
	if !o.Complete && slices.ContainsFunc(o.Jobs, func(j *cluster.Job) bool { return j.Status.Active > 0 }) {
		p.Notes = append(p.Notes, "the dump has no pods; a Job is pending if its status counts no ready or succeeded pod")
		if len(m.Spec.Spec.ScalingStrategy.PendingPodConditions) > 0 {
			p.Notes = append(p.Notes, "the dump has no pods; spec.scalingStrategy.pendingPodConditions is not checked")
		}
	}
	for _, s := range o.States() {
		p.Notes = append(p.Notes, s.Text+". "+s.Fix)
	}
	if m.Spec.Generation == 0 {
		p.Notes = append(p.Notes, "metadata.generation: not known, so no Job is outdated; use the manifest from the cluster, or --generation 7")
	}
}

func finished(j *cluster.Job) deletion {
	d := deletion{Name: j.Name}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || (c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed) {
			continue
		}
		end := c.LastTransitionTime
		if d.Reason = "failed"; c.Type == batchv1.JobComplete {
			d.Reason = "succeeded"
		}
		if j.Status.CompletionTime != nil {
			end = *j.Status.CompletionTime
		}
		if !end.IsZero() {
			d.Detail = "finished " + end.UTC().Format(time.RFC3339)
		}
		break
	}
	return d
}

func olderThan(o *cluster.Owned, j *cluster.Job) string {
	if g := j.Annotations[manifest.AnnotationGeneration]; g != "" {
		return fmt.Sprintf("of generation %s, not %d", g, o.Spec.Generation)
	}
	return "of an unknown generation"
}

// Print prints a poll as text, JSON or the names of the deleted Jobs.
func (p *Poll) Print(out io.Writer, format string, blank bool) error {
	switch format {
	case "json":
		return json.NewEncoder(out).Encode(p)
	case "name":
		for _, name := range p.Deleted() {
			fmt.Fprintf(out, "job.batch/%s\n", report.Clean(name))
		}
		return nil
	}
	report.Fit(out, 0)
	if blank {
		fmt.Fprintln(out)
	}
	switch name := input.Titled(p.Name); {
	case p.Never != "" && p.Summary != "":
		fmt.Fprintf(out, "%s: KEDA never polls this manifest. %s If corrected, %s\n", name, report.Clean(p.Never), p.Summary)
	case p.Never != "":
		fmt.Fprintf(out, "%s: KEDA never polls this manifest. %s\n", name, report.Clean(p.Never))
	case p.Blocked == "" && p.Summary != "":
		fmt.Fprintf(out, "%s: %s\n", name, p.Summary)
	default:
		fmt.Fprintf(out, "%s: one poll of %s\n", name, p.Release)
	}
	p.Rollout.print(out, "rollout")
	create := p.Create
	if p.Blocked != "" {
		fmt.Fprintf(out, "create    %s: %s\n", field.Plural(int(p.Create.Jobs), "Job"), report.Clean(p.Blocked))
		if create = p.Corrected; create != nil {
			fmt.Fprintln(out, "after the correction:")
		}
	}
	switch {
	case create != nil:
		fmt.Fprintln(out, create.Trace)
	case p.Blocked == "":
		fmt.Fprintln(out, "create    not known: "+input.NoQueue)
	}
	p.Prune.print(out, "prune")
	fmt.Fprintf(out, "edits     %s\n", p.Edits)
	return nil
}

// Deleted returns the names of the deleted Jobs. A finished Job may be outdated as well.
func (p *Poll) Deleted() (names []string) {
	for _, r := range []*removal{p.Rollout, p.Prune} {
		if r == nil {
			continue
		}
		for _, d := range r.Jobs {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

func (r *removal) print(out io.Writer, part string) {
	if r == nil {
		return
	}
	if len(r.Jobs) == 0 {
		fmt.Fprintf(out, "%-9s 0 Jobs: %s\n", part, strings.TrimSuffix(r.Idle, "."))
		return
	}
	fmt.Fprintf(out, "%-9s %s deleted, in this order:\n", part, field.Plural(len(r.Jobs), "Job"))
	var rows [][]string
	for _, d := range r.Jobs {
		rows = append(rows, []string{report.Clean(d.Name), d.Reason, report.Clean(d.Detail)})
	}
	fmt.Fprint(out, report.Aligned("            ", false, rows))
	if r.Rule != "" {
		fmt.Fprintf(out, "          rule: %s\n", r.Rule)
	}
	if r.Panic {
		fmt.Fprintf(out, "          and then %s\n", report.Clean(r.Fault))
	}
}

// Deletions describes the deleted Jobs.
func (p *Poll) Deletions() string {
	var b strings.Builder
	p.Rollout.print(&b, "rollout")
	p.Prune.print(&b, "prune")
	return strings.TrimSuffix(b.String(), "\n")
}
