package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A liveReader reads the state of ScaledJobs of a namespace. They share the Jobs, the pods and the events.
type liveReader struct {
	*cluster.Client
	profile keda.Profile
	dump    *cluster.Dump // nil if it could not be read
	events  map[string][]why.Notice
	missing []string // problems with reading all but the ScaledJobs
}

func newLiveReader(ctx context.Context, client *cluster.Client, release string) *liveReader {
	r := &liveReader{Client: client, profile: keda.Newest(), events: map[string][]why.Notice{}}
	if p, err := keda.Release(release); err == nil {
		r.profile = p
	}
	var err error
	if r.dump, err = client.Dump(ctx); err != nil {
		r.dump = nil
		r.missing = append(r.missing, fmt.Sprintf("Jobs and pods: %v", err))
	}
	type event struct {
		Reason, Message, LastTimestamp, EventTime string
		Series                                    struct{ LastObservedTime string }
		InvolvedObject                            struct{ Name string }
	}
	events, err := cluster.List[event](ctx, client, "/api/v1/namespaces/"+client.Namespace+"/events", "fieldSelector", "involvedObject.kind=ScaledJob")
	if err != nil {
		r.missing = append(r.missing, fmt.Sprintf("events of namespace %s: %v", client.Namespace, err))
	}
	for _, e := range events {
		name, age := e.InvolvedObject.Name, time.Duration(0)
		if t, err := time.Parse(time.RFC3339, cmp.Or(e.Series.LastObservedTime, e.LastTimestamp, e.EventTime)); err == nil {
			age = time.Since(t)
		}
		r.events[name] = append(r.events[name], why.Notice{Reason: e.Reason, Message: e.Message, Age: age})
	}
	return r
}

func (r *liveReader) live(ctx context.Context, s input.Source) (m *input.ScaledJob, live *why.Live, err error) {
	if m, err = cluster.SingleScaledJob(s); err != nil {
		return nil, nil, err
	}
	live = &why.Live{Events: r.events[m.Name()]}
	files := []lint.File{{Name: m.Name(), Data: s.Data}}
	for _, t := range m.Spec.Spec.Triggers {
		if ref := t.AuthenticationRef; ref != nil {
			f, absent, err := authentication(ctx, r.Client, ref.Kind, ref.Name)
			switch {
			case err != nil:
				r.missing = append(r.missing, err.Error())
			case absent != "":
				live.Absent = append(live.Absent, absent)
			case !slices.ContainsFunc(files, func(present lint.File) bool { return present.Name == f.Name }):
				files = append(files, f)
			}
		}
	}
	live.Lint = linted(files, r.profile)
	var status struct{ Conditions []why.Condition }
	if json.Unmarshal(m.Spec.Status, &status) == nil {
		live.Conditions = status.Conditions
	}
	if r.dump != nil {
		if err := r.count(m, live); err != nil {
			r.missing = append(r.missing, err.Error())
		}
	}
	return m, live, nil
}

// authentication reads a TriggerAuthentication, or describes the one that does not exist.
func authentication(ctx context.Context, client *cluster.Client, kind, name string) (f lint.File, absent string, err error) {
	path, title := "/apis/keda.sh/v1alpha1/namespaces/"+client.Namespace+"/triggerauthentications/", "TriggerAuthentication "+name+" in namespace "+client.Namespace
	if kind == "ClusterTriggerAuthentication" {
		path, title = "/apis/keda.sh/v1alpha1/clustertriggerauthentications/", kind+" "+name
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // no object has the name, and it could lead to another path
		return f, fmt.Sprintf("%s %q", cmp.Or(kind, "TriggerAuthentication"), name), nil
	}
	data, err := client.Read(ctx, path+name)
	if apierrors.IsNotFound(err) {
		return f, title, nil
	}
	if err != nil {
		return f, "", fmt.Errorf("%s: %w", title, err)
	}
	return lint.File{Name: title, Data: data}, "", nil
}

// prometheus reads the past of a ScaledJob, or of all without a namespace or a name: of the log, or until a moment.
func prometheus(ctx context.Context, address, namespace, name string, span time.Duration, l *why.Log, instant time.Time) (why.Metrics, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("use a URL such as http://localhost:9090")
	}
	end := instant
	if end.IsZero() && dated(l.End) && l.End.Before(time.Now().Add(-span)) {
		end = l.End
	}
	if end.IsZero() {
		end = time.Now()
	} else {
		end = end.Add(time.Minute)
	}
	if dated(l.From) {
		span = max(span, end.Sub(l.From))
	}
	query := url.Values{"query": {why.Query(namespace, name, span)}, "time": {end.UTC().Format(time.RFC3339)}}
	u = u.JoinPath("api/v1/query")
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if sent := (*url.Error)(nil); errors.As(err, &sent) {
		return nil, fmt.Errorf("%s is unreachable: %w", u.Host, sent.Err)
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, input.MaxDump))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 != 2 && !json.Valid(data) {
		return nil, fmt.Errorf("%s answers %s", u.Host, answer.Status)
	}
	return why.ReadPrometheus(data)
}

// dated reports whether a time of a log has a year, which klog leaves out.
func dated(t time.Time) bool { return t.Year() >= 2000 }

// linted returns the errors and warnings of lint about the ScaledJob with its TriggerAuthentications.
func linted(files []lint.File, profile keda.Profile) (texts []string) {
	for _, f := range lint.Check(files, profile).Findings {
		if f.Severity >= lint.Warning {
			texts = append(texts, fmt.Sprintf("%s: %s [%s]", f.Severity, f.Message(), f.Rule))
		}
	}
	return texts
}

// count counts the Jobs as KEDA does, and the reasons of pods that do not run.
func (r *liveReader) count(m *input.ScaledJob, live *why.Live) error {
	owned, err := r.dump.OwnedBy(m, input.Release{Profile: &r.profile})
	if err != nil {
		return err
	}
	jobs := owned.KedaJobs()
	counts := r.profile.Count(m.KEDA, jobs)
	live.Running, live.Pending, live.Counted = counts.Running, counts.Pending, true
	for _, s := range owned.States() {
		live.States = append(live.States, why.Cause{ID: s.ID, Basis: why.Observed, Text: s.Text, Fix: s.Fix})
	}
	for i := range jobs {
		old := time.Since(owned.Jobs[i].CreationTimestamp.Time) >= why.StuckAfter
		if old && counts.Pending == counts.Running && r.profile.Count(m.KEDA, jobs[i:i+1]).Running > 0 {
			live.Stuck++
		}
	}
	reasons := map[string]int{}
	for _, p := range r.dump.Pods {
		reason := waiting(p)
		if reason != "" && p.Labels[r.profile.TrackingLabel()] == m.Name() && time.Since(p.CreationTimestamp.Time) >= why.StuckAfter {
			reasons[reason]++
		}
	}
	for reason, n := range reasons {
		live.Waiting = append(live.Waiting, fmt.Sprintf("%s: %s", field.Plural(n, "pod"), reason))
	}
	slices.Sort(live.Waiting)
	return nil
}

func waiting(p *cluster.Pod) string {
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
			return report.Clean(redact.Text(c.Reason + ": " + c.Message))
		}
	}
	return "no node and no reason yet"
}
