package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/field"
)

// A place is a namespace of the hub and a member.
type place struct{ namespace, member string }

// orphanage holds the number of orphans, which each poll asks for.
type orphanage struct {
	mu      sync.Mutex
	counted time.Time
	found   map[place]int
}

// orphans returns the Jobs whose DistributedScaledJob does not exist, as they were in the last
// 10 s: a count goes over all owners.
func (c *controller) orphans() map[place]int {
	c.orphaned.mu.Lock()
	defer c.orphaned.mu.Unlock()
	if time.Since(c.orphaned.counted) >= 10*time.Second {
		c.orphaned.counted, c.orphaned.found = time.Now(), c.countOrphans()
	}
	return c.orphaned.found
}

// countOrphans counts the orphans of all namespaces that the controller serves.
func (c *controller) countOrphans() map[place]int {
	exist, served := map[types.UID]bool{}, false
	for _, k := range c.kinds {
		if k.resource == api.Jobs {
			served = k.watched.HasSynced()
			for _, object := range k.watched.GetStore().List() {
				exist[object.(metav1.Object).GetUID()] = true
			}
		}
	}
	found := map[place]int{}
	for name, owners := range c.members.Owners() {
		for _, orphaned := range owners {
			ours := c.Namespace == "" || orphaned.Namespace == c.Namespace
			if served && ours && !exist[orphaned.Owner] {
				found[place{orphaned.Namespace, name}] += orphaned.Jobs
			}
		}
	}
	return found
}

var (
	orphanedJobs = prometheus.NewDesc("scaledjob_member_orphaned_jobs", "Jobs on the member whose DistributedScaledJob does not exist.", []string{"member"}, nil)
	membersUp    = prometheus.NewDesc("scaledjob_member_up", "1 if the member answers.", []string{"member"}, nil)
	kedaAway     = prometheus.NewDesc("scaledjob_keda_unavailable", "1 while KEDA cannot be asked, for a reason.", []string{"reason"}, nil)
	kedaPeriod   = prometheus.NewDesc("scaledjob_keda_poll_seconds", "Time between KEDA's polls, if KEDA polls less often than asked.", []string{"namespace", "scaledjob"}, nil)
)

// Describe and Collect make the controller a collector of metrics.
func (c *controller) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- orphanedJobs
	descriptions <- membersUp
	descriptions <- kedaAway
	descriptions <- kedaPeriod
}

// Collect collects the metrics of the members and of KEDA.
func (c *controller) Collect(metrics chan<- prometheus.Metric) {
	if reason := c.kedaAway(false); reason != "" {
		metrics <- prometheus.MustNewConstMetric(kedaAway, prometheus.GaugeValue, 1, string(reason))
	}
	for _, k := range c.kinds {
		for name, period := range k.slowPolls() {
			metrics <- prometheus.MustNewConstMetric(kedaPeriod, prometheus.GaugeValue, period.Seconds(), name.Namespace, name.Name)
		}
	}
	orphans, problems := map[string]int{}, c.members.Problems()
	for location, n := range c.countOrphans() {
		orphans[location.member] += n
	}
	for _, name := range c.members.Names() {
		up := 1.0
		if problems[name] != nil {
			up = 0
		}
		metrics <- prometheus.MustNewConstMetric(orphanedJobs, prometheus.GaugeValue, float64(orphans[name]), name)
		metrics <- prometheus.MustNewConstMetric(membersUp, prometheus.GaugeValue, up, name)
	}
}

// orphansOf returns the task that lists the orphans of a member, and deletes them if remove
// is set.
func orphansOf(args []string, output streams, remove bool) (task, error) {
	c, name := &command{output: output}, "list-orphans"
	if remove {
		name = "delete-orphans"
	}
	return func(ctx context.Context) error { return c.orphans(ctx, remove) }, c.parse(flag.NewFlagSet(name, flag.ContinueOnError), args, true)
}

func (c *command) orphans(ctx context.Context, remove bool) error {
	config, err := access(c.home)
	if err != nil {
		return fmt.Errorf("home cluster: %w", err)
	}
	hub, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	system, err := hub.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the home cluster's name: %w", err)
	}
	cluster, err := c.dial(ctx, string(system.UID))
	if err != nil {
		return err
	}
	if err := cluster.Probe(ctx); err != nil { // it may be another cluster than at its registration
		return fmt.Errorf("member %s: %w", c.member, err)
	}
	found, err := cluster.Orphans(ctx, func(ctx context.Context) (map[types.UID]bool, error) {
		existing, err := objects.Resource(api.Jobs).List(ctx, metav1.ListOptions{}) // of all namespaces, and consistent
		if err != nil {
			return nil, fmt.Errorf("home cluster: %w", err)
		}
		exist := map[types.UID]bool{}
		for i := range existing.Items {
			exist[existing.Items[i].GetUID()] = true
		}
		return exist, nil
	})
	if err != nil {
		err = fmt.Errorf("member %s: %w", c.member, err)
		if len(found) == 0 {
			return err
		}
	}
	if failed := c.print(found); failed != nil || !remove {
		return errors.Join(err, failed)
	}
	if failed := cluster.Delete(ctx, found); failed != nil {
		return errors.Join(err, fmt.Errorf("member %s: %w", c.member, failed))
	}
	fmt.Fprintf(c.output.out, "deleted %s on member %s\n", field.Plural(len(found), "Job"), c.member)
	return err
}

// dial returns the registered member.
func (c *command) dial(ctx context.Context, home string) (*member.Cluster, error) {
	registry, err := c.registry()
	if err != nil {
		return nil, err
	}
	members, err := registry.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		switch {
		case m.Name != c.member:
		case m.Err != nil:
			return nil, fmt.Errorf("member %s: %w", m.Name, m.Err)
		default:
			return member.Dial(m.Name, m.Config, member.Options{Terms: requests.OneShot(), Home: home, UID: m.UID, Namespaces: m.Namespaces, MaxBytes: m.MaxBytes, Key: m.Proof})
		}
	}
	return nil, fmt.Errorf("there is no member %q", c.member)
}

func (c *command) print(orphans []batchv1.Job) error {
	table := tabwriter.NewWriter(c.output.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tJOB\tOWNER\tOWNER UID\tCREATED")
	for _, j := range orphans {
		for _, text := range []string{j.Namespace, j.Name, j.Labels[member.LabelOwnerNamespace] + "/" + j.Labels[member.LabelSelector], j.Labels[adapter.LabelOwner]} {
			quoted := strconv.QuoteToGraphic(text) // the member is not trusted
			fmt.Fprint(table, quoted[1:len(quoted)-1], "\t")
		}
		fmt.Fprintln(table, j.CreationTimestamp.UTC().Format(time.RFC3339))
	}
	return table.Flush()
}
