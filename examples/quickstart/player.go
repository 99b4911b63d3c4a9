package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// A player polls: it observes, plans, applies, and prints each step.
type player struct {
	out    io.Writer
	client kubernetes.Interface
	s      *manifest.ScaledJob
	config scaledjob.Config
	queue  queue
	now    func() time.Time
	wait   func(context.Context, time.Duration) error

	total struct {
		polls, rolledOut, pruned, failures int
		created, most                      int64
		longest                            float64
	}
}

func (p *player) play(ctx context.Context) error {
	if err := p.own(ctx); err != nil {
		return err
	}
	p.introduce()
	last := p.queue[len(p.queue)-1].at
	for t := time.Duration(0); t <= last; t += p.config.PollingInterval {
		if t > 0 {
			if err := p.wait(ctx, p.config.PollingInterval); err != nil {
				return err
			}
		}
		p.poll(ctx, t)
	}
	return p.summarize(ctx)
}

// own makes a ConfigMap the owner of the Jobs. It also stands in for the API
// server in counting the generations of the spec.
func (p *player) own(ctx context.Context) error {
	const generation, spec = "generation", "spec"
	maps := p.client.CoreV1().ConfigMaps(p.s.Namespace)
	name := p.s.Name + "-quickstart"
	data, err := json.Marshal(p.s.Spec)
	if err != nil {
		return err
	}
	m, err := maps.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		m, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.s.Namespace},
			Data:       map[string]string{generation: "1", spec: string(data)},
		}, metav1.CreateOptions{})
	case err == nil && m.Data[spec] != string(data):
		n, _ := strconv.Atoi(m.Data[generation])
		m.Data = map[string]string{generation: strconv.Itoa(n + 1), spec: string(data)}
		m, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("the owner of the Jobs: %w", err)
	}
	t := &p.config.Target
	t.Owner = adapter.OwnerOf(m, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	t.Revision.Generation, err = strconv.ParseInt(m.Data[generation], 10, 64)
	delete(t.Job.Labels, manifest.LabelName) // KEDA would count the Jobs by this label
	return err
}

func (p *player) introduce() {
	c := p.config
	fmt.Fprintf(p.out, "ScaledJob %s/%s, generation %d: a poll every %s, history %s, rollout %s\n",
		p.s.Namespace, p.s.Name, c.Target.Revision.Generation, c.PollingInterval, c.Target.History, c.Target.Rollout.Strategy)
	for _, t := range c.Triggers {
		fmt.Fprintf(p.out, "trigger %s: one Job for %g items\n", t.Name, t.Target)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(p.out, "warning: %s\n", w)
	}
}

func (p *player) poll(ctx context.Context, t time.Duration) {
	p.total.polls++
	fmt.Fprintf(p.out, "\npoll %d at %s:", p.total.polls, t)
	var metrics []scaling.Metric
	for i, n := range p.queue.at(t) {
		metrics = append(metrics, p.config.Triggers[i].Metric(n))
		p.total.longest = max(p.total.longest, n)
		fmt.Fprintf(p.out, " %s has %g items;", p.config.Triggers[i].Name, n)
	}
	jobs, err := p.list(ctx)
	if err != nil {
		fmt.Fprintln(p.out, " Jobs: not known")
		p.failed(err)
		return
	}
	fmt.Fprintf(p.out, " %s\n", p.count(jobs))
	plan := jobs.Plan(p.config.Target.Owner.UID, metrics, p.now())
	p.tell(plan.Decision)
	result, err := jobs.Apply(ctx, p.client, plan)
	p.failed(err)
	p.done(jobs, plan, result)
}

func (p *player) list(ctx context.Context) (*adapter.Tracker, error) {
	return adapter.List(ctx, p.client, p.config.Target, adapter.Options{Pods: true})
}

func (p *player) count(jobs *adapter.Tracker) string {
	var n [adapter.InFlight + 1]int
	all, _ := jobs.Jobs(p.config.Target.Owner.UID)
	for _, j := range all {
		n[j.Phase]++
	}
	return fmt.Sprintf("Jobs: %d running, %d pending, %d succeeded, %d failed",
		n[adapter.Running], n[adapter.Pending]+n[adapter.Suspended], n[adapter.Succeeded], n[adapter.Failed])
}

func (p *player) failed(err error) {
	if err != nil {
		p.total.failures++
		fmt.Fprintf(p.out, "  error: %v\n", err)
	}
}

func (p *player) tell(d scaling.Decision) {
	for line := range strings.Lines(d.String()) {
		fmt.Fprintf(p.out, "  %s", line)
	}
	fmt.Fprintln(p.out)
	j := d.Trace.Jobs
	p.total.most = max(p.total.most, j.Running+j.Terminating+d.Create)
}

func (p *player) done(jobs *adapter.Tracker, plan adapter.Plan, r adapter.Result) {
	p.total.created += r.Created
	p.total.rolledOut += r.Outdated
	p.total.pruned += r.Pruned
	names := map[adapter.Reason][]string{}
	for _, d := range plan.Delete {
		names[d.Reason] = append(names[d.Reason], d.Name)
	}
	var created []string
	all, _ := jobs.Jobs(plan.Owner)
	for _, j := range all {
		if j.Phase == adapter.InFlight {
			created = append(created, j.Name)
		}
	}
	p.show("created", created, int(r.Created))
	p.show("rolled", names[adapter.Outdated], r.Outdated)
	p.show("pruned", names[adapter.HistoryLimit], r.Pruned)
}

const shown = 3

// show prints the first of n names.
func (p *player) show(what string, names []string, n int) {
	if n == 0 {
		return
	}
	rest := ""
	if n > shown {
		names, rest = names[:min(shown, len(names))], fmt.Sprintf(" and %d more", n-shown)
	}
	fmt.Fprintf(p.out, "  %-9s %d: %s%s\n", what, n, strings.Join(names, ", "), rest)
}

func (p *player) summarize(ctx context.Context) error {
	jobs, err := p.list(ctx)
	if err != nil {
		return err
	}
	t := p.total
	fmt.Fprintf(p.out, "\n%d polls, longest queue %g: %d Jobs created, %d rolled out, %d pruned; at most %d unfinished at once, of %s allowed\n",
		t.polls, t.longest, t.created, t.rolledOut, t.pruned, t.most, allowed(p.config.Target.Policy.Bounds.Max))
	fmt.Fprintf(p.out, "%s\n", p.count(jobs))
	if t.failures > 0 {
		return errors.New("not every poll went well: see the errors above")
	}
	return nil
}

func allowed(n int64) string {
	if n == scaling.NoMax {
		return "any number"
	}
	return strconv.FormatInt(n, 10)
}
