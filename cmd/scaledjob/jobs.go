package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
)

// dumpFlags name what kubectl has printed.
type dumpFlags struct {
	manifestFlags
	jobs, pods string
	as         engine
	output     format
}

func (f *dumpFlags) add(c *cobra.Command) {
	f.manifestFlags.add(c)
	c.Flags().StringVar(&f.jobs, "jobs", "-", "`file` that kubectl get jobs -o json has written; - is standard input")
	f.as.add(c, "as", "whose rules")
	f.output.add(c, "text", "name", "json")
}

// A fleet is a ScaledJob with its Jobs.
type fleet struct {
	*manifest
	jobs   []batchv1.Job
	pods   []corev1.Pod
	uid    types.UID // of the owner; "" where KEDA is asked, which does not look at it
	listed int       // Jobs in the dump, those of others too
}

func (f *dumpFlags) fleet(stdin io.Reader) (*fleet, error) {
	if f.jobs == "-" && slices.Contains(f.files, "-") {
		return nil, usagef("both the manifest and the Jobs are to come from standard input: want --jobs jobs.json")
	}
	manifests, err := f.read(stdin)
	if err != nil {
		return nil, err
	}
	if len(manifests) > 1 {
		return nil, usagef("%d ScaledJobs: want --name to choose one", len(manifests))
	}
	m := &fleet{manifest: manifests[0]}
	if m.jobs, err = readList[batchv1.Job](f.jobs, stdin, "Job"); err != nil {
		return nil, err
	}
	if f.pods != "" {
		if m.pods, err = readList[corev1.Pod](f.pods, stdin, "Pod"); err != nil {
			return nil, err
		}
	}
	return m, m.own(f.as)
}

// readList reads a list, or one object, of a kind.
func readList[T any](name string, stdin io.Reader, kind string) ([]T, error) {
	s, err := readSource(name, stdin)
	if err != nil {
		return nil, err
	}
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	want := fmt.Sprintf("want what kubectl get %ss -o json prints", strings.ToLower(kind))
	if first, _, _ := strings.Cut(string(s.data), " "); first == "NAME" || first == "NAMESPACE" {
		return nil, fmt.Errorf("%s: this is a table: %s", s.name, want)
	}
	if err := yaml.Unmarshal(s.data, &list); err != nil {
		return nil, fmt.Errorf("%s: not JSON: %w", s.name, err)
	}
	if list.Kind == kind {
		one := make([]T, 1)
		return one, yaml.Unmarshal(s.data, &one[0])
	}
	if list.Kind != "List" && list.Kind != kind+"List" {
		return nil, fmt.Errorf("%s: found %s: %s", s.name, nonEmpty(list.Kind, "nothing with a kind"), want)
	}
	for i, item := range list.Items {
		if item.Kind != kind && !(item.Kind == "" && list.Kind != "List") {
			return nil, fmt.Errorf("%s: items[%d]: found %s: %s", s.name, i, article(nonEmpty(item.Kind, "thing without a kind")), want)
		}
	}
	var all struct{ Items []T }
	if err := yaml.Unmarshal(s.data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return all.Items, nil
}

func nonEmpty(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// own keeps the Jobs that are the ScaledJob's: for KEDA those with its name in the
// tracking label, for the core those of its UID, or where the manifest has none, of
// the only ScaledJob of its name that the Jobs know. A namespace that the manifest
// does not say is any.
func (f *fleet) own(as engine) error {
	f.listed = len(f.jobs)
	keep := func(mine func(*batchv1.Job) bool) {
		f.jobs = slices.DeleteFunc(f.jobs, func(j batchv1.Job) bool { return !mine(&j) })
	}
	if namespace := f.core.Namespace; namespace != "" {
		keep(func(j *batchv1.Job) bool { return j.Namespace == namespace })
	}
	if as.profile != nil {
		label := as.profile.TrackingLabel()
		keep(func(j *batchv1.Job) bool { return j.Labels[label] == f.name() })
		return f.oneNamespace()
	}
	f.uid = f.core.UID
	if f.uid == "" {
		uids := map[types.UID]bool{}
		for i := range f.jobs {
			if c := metav1.GetControllerOf(&f.jobs[i]); c != nil && c.Kind == adapter.GroupVersionKind.Kind && c.Name == f.name() {
				uids[c.UID] = true
				f.uid = c.UID
			}
		}
		if len(uids) > 1 {
			return fmt.Errorf("%d ScaledJobs called %s own Jobs here, of which only one can be meant: want the manifest with its UID, as kubectl get scaledjob %[2]s -o yaml prints it", len(uids), f.name())
		}
	}
	keep(func(j *batchv1.Job) bool {
		c := metav1.GetControllerOf(j)
		return c != nil && c.UID == f.uid
	})
	return nil
}

// oneNamespace refuses Jobs of several, of which KEDA sees one at a time.
func (f *fleet) oneNamespace() error {
	namespaces := map[string]bool{}
	for i := range f.jobs {
		namespaces[f.jobs[i].Namespace] = true
	}
	if len(namespaces) > 1 {
		return fmt.Errorf("there are Jobs of ScaledJobs called %s in the namespaces %s: want metadata.namespace in the manifest",
			f.name(), strings.Join(slices.Sorted(maps.Keys(namespaces)), ", "))
	}
	return nil
}

// whose is part of the help of both commands.
const whose = `KEDA takes the Jobs of the namespace that have the ScaledJob's name in its label, whoever owns them; the core
those that the ScaledJob owns.`

// A removal is a Job that would go.
type removal struct {
	Name   string `json:"name"`
	Why    string `json:"why"`
	Detail string `json:"detail,omitempty"`
}

// removals are what prune and rollout print.
type removals struct {
	Name    string    `json:"name"`
	As      string    `json:"as"`
	Jobs    int       `json:"jobs"`
	Deleted []removal `json:"deleted"`
	Rule    string    `json:"rule,omitempty"`    // why they go, where it is the same for all
	Nothing string    `json:"nothing,omitempty"` // why no Job goes
	Panic   bool      `json:"panic,omitempty"`
	Fault   string    `json:"fault,omitempty"` // at which KEDA stops, after those that are deleted
	Notes   []string  `json:"notes,omitempty"`
}

func (f *dumpFlags) print(out, notes io.Writer, r removals) error {
	for _, n := range r.Notes {
		fmt.Fprintf(notes, "note: %s\n", n)
	}
	switch f.output.text {
	case "json":
		return json.NewEncoder(out).Encode(r)
	case "name":
		if r.Panic {
			fmt.Fprintf(notes, "note: %s\n", r.Fault)
		}
		for _, d := range r.Deleted {
			fmt.Fprintf(out, "job.batch/%s\n", d.Name)
		}
		return nil
	}
	fmt.Fprintf(out, "%s would delete %d of the %d Jobs of %s", r.As, len(r.Deleted), r.Jobs, r.Name)
	if len(r.Deleted) == 0 {
		fmt.Fprintf(out, ": %s\n", r.Nothing)
		return nil
	}
	fmt.Fprintln(out, ", in this order:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range r.Deleted {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", d.Name, d.Why, d.Detail)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Rule != "" {
		fmt.Fprintf(out, "by this rule: %s\n", r.Rule)
	}
	if r.Panic {
		fmt.Fprintf(out, "and then %s\n", r.Fault)
	}
	return nil
}

// result is what is said of either command, with the Jobs still to come.
func (m *fleet) result(as engine) removals {
	r := removals{Name: m.name(), As: as.String(), Jobs: len(m.jobs), Deleted: []removal{}}
	if as.profile != nil {
		r.Notes = as.notes(m.manifest, nil)
	}
	return r
}

// none says why there is no Job to look at, or "" where there is one.
func (m *fleet) none() string {
	switch {
	case m.listed == 0:
		return "the dump has no Jobs"
	case len(m.jobs) == 0:
		return fmt.Sprintf("none of the %d Jobs in the dump is its", m.listed)
	}
	return ""
}

func newPrune() *cobra.Command {
	f := &dumpFlags{as: newestKEDA()}
	c := &cobra.Command{
		Use:   "prune -f scaledjob.yaml",
		Short: "Tell which finished Jobs a ScaledJob's history limits delete",
		Long: `Tell which finished Jobs the limits successfulJobsHistoryLimit and failedJobsHistoryLimit delete, from a
dump of the Jobs. Nothing is deleted.

` + whose,
		Example: `  kubectl get jobs -o json | scaledjob prune -f scaledjob.yaml

  # delete what the documented rule would: KEDA deletes failed Jobs in no order
  kubectl get jobs -o json | scaledjob prune -f scaledjob.yaml --as core -o name | xargs kubectl delete`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.prune(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c)
	return c
}

func (f *dumpFlags) prune(stdin io.Reader, out, notes io.Writer) error {
	m, err := f.fleet(stdin)
	if err != nil {
		return err
	}
	r, err := m.pruned(f.as)
	if err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	return f.print(out, notes, r)
}

func (m *fleet) pruned(as engine) (removals, error) {
	r := m.result(as)
	var chosen []int
	if as.profile != nil {
		h := as.profile.History(m.keda, m.kedaJobs())
		chosen = h.Deleted
		if r.Panic = h.Fault.Panics(); r.Panic {
			r.Fault = h.Fault.String()
		}
	} else {
		config, err := m.config()
		if err != nil {
			return r, err
		}
		r.warn(config)
		chosen = m.planned(adapter.Config{History: config.History})
	}
	for _, i := range chosen {
		r.Deleted = append(r.Deleted, finished(&m.jobs[i]))
	}
	switch {
	case len(chosen) > 0:
	case r.Panic:
		r.Nothing = r.Fault
	case as.paused(m.manifest) && as.profile != nil:
		r.Nothing = "it is paused, and KEDA then deletes no finished Jobs"
	default:
		r.Nothing = cmp.Or(m.none(), "no more have finished than are kept")
	}
	return r, nil
}

// finished is a Job that has, with its outcome and the time of it.
func finished(j *batchv1.Job) removal {
	r := removal{Name: j.Name}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		at := c.LastTransitionTime
		if r.Why = "failed"; c.Type == batchv1.JobComplete {
			r.Why = "succeeded"
		}
		if j.Status.CompletionTime != nil {
			at = *j.Status.CompletionTime
		}
		if !at.IsZero() {
			r.Detail = "finished " + at.UTC().Format(time.RFC3339)
		}
		break
	}
	return r
}

// warn notes what the core warns of.
func (r *removals) warn(c adapter.Config) {
	for _, w := range c.Warnings {
		r.Notes = append(r.Notes, w.Error())
	}
}

// config reads the manifest. How many items a Job serves does not matter here.
func (m *fleet) config() (adapter.Config, error) {
	if m.strict != nil {
		return adapter.Config{}, m.strict
	}
	targets := map[string]float64{}
	for _, t := range m.core.Spec.Triggers {
		targets[t.Type] = 1
	}
	return m.core.Config(targets)
}

// planned are the indexes of the Jobs that a poll of the core deletes, in its order.
func (m *fleet) planned(c adapter.Config) []int {
	jobs := m.classified()
	index := map[string]int{}
	for i, j := range jobs {
		index[j.Name] = i
	}
	var chosen []int
	for _, d := range adapter.NewPlan(adapter.Poll{ScaledJob: m.core, Config: c}, adapter.NewFleet(jobs)).Delete {
		chosen = append(chosen, index[d.Name])
	}
	return chosen
}

// classified are the Jobs as the adapter sees them, in their order.
func (m *fleet) classified() []adapter.Job {
	return adapter.Observation{
		Owner: m.uid, PodsKnown: m.pods != nil, PendingPodConditions: m.core.Spec.ScalingStrategy.PendingPodConditions,
	}.Classify(m.jobs, m.pods)
}

// kedaJobs are the Jobs as KEDA reads them.
func (m *fleet) kedaJobs() []keda.Job {
	jobs := make([]keda.Job, len(m.jobs))
	for i, j := range m.jobs {
		jobs[i] = keda.Job{Name: j.Name, Annotations: j.Annotations}
		if t := j.Status.CompletionTime; t != nil {
			jobs[i].CompletionTime = &t.Time
		}
		for _, c := range j.Status.Conditions {
			jobs[i].Conditions = append(jobs[i].Conditions, keda.Condition{Type: string(c.Type), Status: string(c.Status)})
		}
	}
	return jobs
}

func newRollout() *cobra.Command {
	f := &dumpFlags{as: newestKEDA()}
	var generation int64
	c := &cobra.Command{
		Use:   "rollout -f scaledjob.yaml",
		Short: "Tell which Jobs of an older spec a rollout deletes",
		Long: `Tell which Jobs a rollout deletes once the ScaledJob is as the manifest says, from a dump of the Jobs.
Nothing is deleted. A Job is of an older spec if its annotation scaledjob.keda.sh/generation is below the ScaledJob's
metadata.generation; a manifest that is still to be applied has none: then say it with --generation.

` + whose,
		Example: `  kubectl get scaledjob orders -o yaml > orders.yaml
  kubectl get jobs -o json | scaledjob rollout -f orders.yaml

  # with drain, Jobs that have started stay, as far as the pods tell; the core only
  kubectl get pods -o json > pods.json
  kubectl get jobs -o json | scaledjob rollout -f new.yaml --generation 7 --as core --pods pods.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.rollOut(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), generation)
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.pods, "pods", "", "`file` that kubectl get pods -o json has written")
	c.Flags().Int64Var(&generation, "generation", 0, "the ScaledJob's metadata.`generation`, where the manifest has none")
	return c
}

func (f *dumpFlags) rollOut(stdin io.Reader, out, notes io.Writer, generation int64) error {
	m, err := f.fleet(stdin)
	if err != nil {
		return err
	}
	if generation != 0 {
		m.core.Generation, m.keda.Metadata.Generation = generation, generation
	}
	if m.core.Generation == 0 {
		return fmt.Errorf("%s: the manifest has no metadata.generation: want one from the cluster, or --generation 7", m.file)
	}
	r, err := m.rolledOut(f.as)
	if err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	return f.print(out, notes, r)
}

func (m *fleet) rolledOut(as engine) (removals, error) {
	if as.profile != nil {
		return m.rolledOutAs(as), nil
	}
	r := m.result(as)
	config, err := m.config()
	if err != nil {
		return r, err
	}
	r.warn(config)
	config.History, config.Revision = history.Limits{}, m.core.Revision()
	for _, i := range m.planned(config) {
		r.Deleted = append(r.Deleted, removal{m.jobs[i].Name, m.older(i), config.Rollout.Propagation.String()})
	}
	switch {
	case len(r.Deleted) > 0:
	case config.Policy.Paused:
		r.Nothing = "it is paused, and rolls nothing out"
	case m.none() != "":
		r.Nothing = m.none()
	case config.Rollout.Strategy == rollout.Gradual:
		r.Nothing = "the rollout strategy gradual leaves those that there are"
	case config.Rollout.Strategy == rollout.Drain:
		r.Nothing = fmt.Sprintf("none that has not started is of a generation below %d", m.core.Generation)
	default:
		r.Nothing = fmt.Sprintf("none that has not finished is of a generation below %d", m.core.Generation)
	}
	return r, nil
}

func (m *fleet) rolledOutAs(as engine) removals {
	r := m.result(as)
	rule := as.profile.Rule(keda.PartRollout).Text
	done := as.profile.Rollout(m.keda, m.kedaJobs())
	for _, i := range done.Deleted {
		why := m.older(i)
		if rollsOut(as, 0) {
			why, r.Rule = "of whatever generation", rule
		}
		r.Deleted = append(r.Deleted, removal{m.jobs[i].Name, why, done.PropagationPolicy})
	}
	switch {
	case len(r.Deleted) > 0:
	case !rollsOut(as, 1):
		r.Nothing = rule
	case as.paused(m.manifest):
		r.Nothing = "it is paused, and rolls nothing out"
	case m.none() != "":
		r.Nothing = m.none()
	case done.Strategy == "gradual":
		r.Nothing = "the rollout strategy gradual leaves those that there are"
	default:
		r.Nothing = fmt.Sprintf("all are of generation %d", m.core.Generation)
	}
	return r
}

// rollsOut reports whether a release deletes by default a Job whose generation is n
// below that of the ScaledJob.
func rollsOut(as engine, n int64) bool {
	const current = 2
	job := keda.Job{Annotations: map[string]string{adapter.AnnotationGeneration: strconv.FormatInt(current-n, 10)}}
	return as.profile.Rollout(&keda.ScaledJob{Metadata: keda.Metadata{Generation: current}}, []keda.Job{job}).Deleted != nil
}

// older says of which generation a Job is.
func (m *fleet) older(i int) string {
	if g := m.jobs[i].Annotations[adapter.AnnotationGeneration]; g != "" {
		return fmt.Sprintf("of generation %s, and not %d", g, m.core.Generation)
	}
	return "of an unknown generation"
}
