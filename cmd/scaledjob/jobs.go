package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	jobs []batchv1.Job
	pods []corev1.Pod
	uid  types.UID
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
	return m, m.own()
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
	if err := yaml.Unmarshal(s.data, &list); err != nil {
		return nil, fmt.Errorf("%s: not JSON: %w", s.name, err)
	}
	want := fmt.Sprintf("want what kubectl get %ss -o json prints", strings.ToLower(kind))
	if list.Kind == kind {
		one := make([]T, 1)
		return one, yaml.Unmarshal(s.data, &one[0])
	}
	if list.Kind != "List" && list.Kind != kind+"List" {
		return nil, fmt.Errorf("%s: found %s: %s", s.name, nonEmpty(list.Kind, "nothing with a kind"), want)
	}
	for i, item := range list.Items {
		if item.Kind != kind && !(item.Kind == "" && list.Kind != "List") {
			return nil, fmt.Errorf("%s: items[%d]: found a %s: %s", s.name, i, nonEmpty(item.Kind, "thing without a kind"), want)
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

// own keeps the Jobs of the ScaledJob: those of its UID, or where the manifest has
// none, of the only ScaledJob of its name that the Jobs know.
func (f *fleet) own() error {
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
			return fmt.Errorf("%d ScaledJobs called %s own Jobs here, of which only one can be there now: want the manifest with its UID, as kubectl get scaledjob %[2]s -o yaml prints it", len(uids), f.name())
		}
	}
	f.jobs = slices.DeleteFunc(f.jobs, func(j batchv1.Job) bool {
		c := metav1.GetControllerOf(&j)
		return c == nil || c.UID != f.uid
	})
	return nil
}

// A removal is a Job that would go.
type removal struct {
	Name   string `json:"name"`
	Why    string `json:"why"`
	Detail string `json:"detail,omitempty"`
}

func (f *dumpFlags) print(out io.Writer, m *fleet, all []removal, nothing string) error {
	switch f.output.text {
	case "json":
		return json.NewEncoder(out).Encode(struct {
			Name    string    `json:"name"`
			As      string    `json:"as"`
			Jobs    int       `json:"jobs"`
			Deleted []removal `json:"deleted"`
		}{m.name(), f.as.String(), len(m.jobs), all})
	case "name":
		for _, r := range all {
			fmt.Fprintf(out, "job.batch/%s\n", r.Name)
		}
		return nil
	}
	fmt.Fprintf(out, "%s would delete %d of the %d Jobs of %s", f.as.String(), len(all), len(m.jobs), m.name())
	if len(all) == 0 {
		fmt.Fprintf(out, ": %s\n", nothing)
		return nil
	}
	fmt.Fprintln(out, ", in this order:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range all {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r.Name, r.Why, r.Detail)
	}
	return w.Flush()
}

func newPrune() *cobra.Command {
	f := &dumpFlags{as: newestKEDA()}
	c := &cobra.Command{
		Use:   "prune -f scaledjob.yaml",
		Short: "Tell which finished Jobs a ScaledJob's history limits delete",
		Long: `Tell which finished Jobs the limits successfulJobsHistoryLimit and failedJobsHistoryLimit delete, from a
dump of the Jobs. Nothing is deleted.`,
		Example: `  kubectl get jobs -o json | scaledjob prune -f scaledjob.yaml

  # delete what the documented rule would: KEDA deletes failed Jobs in no order
  kubectl get jobs -o json | scaledjob prune -f scaledjob.yaml --as core -o name | xargs kubectl delete`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.prune(c.InOrStdin(), c.OutOrStdout()) },
	}
	f.add(c)
	return c
}

func (f *dumpFlags) prune(stdin io.Reader, out io.Writer) error {
	m, err := f.fleet(stdin)
	if err != nil {
		return err
	}
	removals, err := m.pruned(f.as)
	if err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	return f.print(out, m, removals, "no more have finished than are kept")
}

func (m *fleet) pruned(as engine) ([]removal, error) {
	classified := m.classified()
	var chosen []int
	if as.profile != nil {
		h := as.profile.History(m.keda, m.kedaJobs())
		if h.Fault.Panics() {
			return nil, errors.New(h.Fault.String())
		}
		chosen = h.Deleted
	} else {
		config, err := m.config()
		if err != nil {
			return nil, err
		}
		chosen = m.planned(classified, adapter.Config{History: config.History})
	}
	removals := []removal{}
	for _, i := range chosen {
		why := "failed"
		if classified[i].Phase == adapter.Succeeded {
			why = "succeeded"
		}
		removals = append(removals, removal{m.jobs[i].Name, why, "finished " + classified[i].Finished.UTC().Format(time.RFC3339)})
	}
	return removals, nil
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

// planned are the indexes of the Jobs that a poll deletes, in its order.
func (m *fleet) planned(jobs []adapter.Job, c adapter.Config) []int {
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
metadata.generation; a manifest that is still to be applied has none: then say it with --generation.`,
		Example: `  kubectl get scaledjob orders -o yaml > orders.yaml
  kubectl get jobs -o json | scaledjob rollout -f orders.yaml

  # with drain, Jobs that have started stay, as far as the pods tell; the core only
  kubectl get pods -o json > pods.json
  kubectl get jobs -o json | scaledjob rollout -f new.yaml --generation 7 --as core --pods pods.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.rollOut(c.InOrStdin(), c.OutOrStdout(), generation) },
	}
	f.add(c)
	c.Flags().StringVar(&f.pods, "pods", "", "`file` that kubectl get pods -o json has written")
	c.Flags().Int64Var(&generation, "generation", 0, "the ScaledJob's metadata.`generation`, where the manifest has none")
	return c
}

func (f *dumpFlags) rollOut(stdin io.Reader, out io.Writer, generation int64) error {
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
	removals, err := m.rolledOut(f.as)
	if err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	return f.print(out, m, removals, "the rollout strategy leaves those that there are")
}

func (m *fleet) rolledOut(as engine) ([]removal, error) {
	classified := m.classified()
	var chosen []int
	propagation := ""
	if as.profile != nil {
		r := as.profile.Rollout(m.keda, m.kedaJobs())
		chosen, propagation = r.Deleted, r.PropagationPolicy
	} else {
		config, err := m.config()
		if err != nil {
			return nil, err
		}
		config.History, config.Revision = history.Limits{}, m.core.Revision()
		chosen = m.planned(classified, config)
		propagation = config.Rollout.Propagation.String()
	}
	removals := []removal{}
	for _, i := range chosen {
		why := fmt.Sprintf("of generation %d, and not %d", classified[i].Revision.Generation, m.core.Generation)
		if classified[i].Revision.Generation == 0 {
			why = "of an unknown generation"
		}
		removals = append(removals, removal{m.jobs[i].Name, why, propagation})
	}
	return removals, nil
}
