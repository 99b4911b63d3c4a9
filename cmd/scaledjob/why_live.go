package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// liveOf reads a ScaledJob with its Jobs, pods and events. It returns the problems with reading all
// but the ScaledJob.
func liveOf(ctx context.Context, client *cluster.Client, name, release string) (m *input.ScaledJob, live *why.Live, missing []string, err error) {
	data, err := client.Object(ctx, "keda.sh/v1alpha1", "scaledjobs", name)
	where := fmt.Sprintf("ScaledJob %s in namespace %s", name, client.Namespace)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", where, err)
	}
	found, _, err := input.Source{Name: where, Data: data}.Manifests()
	if err != nil || len(found) != 1 {
		return nil, nil, nil, fmt.Errorf("%s: the API server returned another kind: %w", where, err)
	}
	m, live = found[0], &why.Live{Lint: linted(name, data, release)}
	var status struct{ Conditions []why.Condition }
	if json.Unmarshal(m.Spec.Status, &status) == nil {
		live.Conditions = status.Conditions
	}
	type event struct {
		Reason, Message, LastTimestamp, EventTime string
	}
	events, err := cluster.List[event](ctx, client, "/api/v1/namespaces/"+client.Namespace+"/events",
		"fieldSelector", "involvedObject.kind=ScaledJob,involvedObject.name="+name)
	if err != nil {
		missing = append(missing, fmt.Sprintf("events of %s: %v", name, err))
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Compare(cmp.Or(a.LastTimestamp, a.EventTime), cmp.Or(b.LastTimestamp, b.EventTime))
	})
	for _, e := range events {
		live.Events = append(live.Events, why.Notice{Reason: e.Reason, Message: e.Message})
	}
	if err := countJobs(ctx, client, m, live, release); err != nil {
		missing = append(missing, err.Error())
	}
	return m, live, missing, nil
}

// linted returns the errors and warnings of lint about the object.
func linted(name string, data []byte, release string) (all []string) {
	profile := keda.Newest()
	if p, err := keda.Release(release); err == nil {
		profile = p
	}
	for _, f := range lint.Check([]lint.File{{Name: name, Data: data}}, profile).Findings {
		if f.Severity >= lint.Warning {
			all = append(all, fmt.Sprintf("%s: %s [%s]", f.Severity, f.Message(), f.Rule))
		}
	}
	return all
}

// countJobs counts the Jobs as KEDA does, and the reasons of pods that do not run.
func countJobs(ctx context.Context, client *cluster.Client, m *input.ScaledJob, live *why.Live, release string) error {
	subjects, err := client.Subjects(ctx, []string{m.Spec.Name})
	if err != nil {
		return fmt.Errorf("reading Jobs and pods: %w", err)
	}
	profile := keda.Newest()
	if p, err := keda.Release(release); err == nil {
		profile = p
	}
	owned, err := subjects[0].Dump.Of(m, input.Release{Profile: &profile})
	if err != nil {
		return err
	}
	counts := profile.Count(m.KEDA, owned.KedaJobs())
	live.Running, live.Pending, live.Counted = counts.Running, counts.Pending, true
	pods, err := cluster.List[corev1.Pod](ctx, client, "/api/v1/namespaces/"+client.Namespace+"/pods", "labelSelector", profile.TrackingLabel()+"="+m.Spec.Name)
	if err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	reasons := map[string]int{}
	for _, p := range pods {
		if reason := waiting(&p); reason != "" {
			reasons[reason]++
		}
	}
	for reason, n := range reasons {
		live.Waiting = append(live.Waiting, fmt.Sprintf("%d pods: %s", n, reason))
	}
	slices.Sort(live.Waiting)
	return nil
}

// waiting returns why a pod does not run.
func waiting(p *corev1.Pod) string {
	if p.Status.Phase != corev1.PodPending {
		return ""
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return report.Clean(w.Reason)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return report.Clean(why.Redact(c.Reason + ": " + c.Message))
		}
	}
	return "no node and no reason yet"
}
