package why

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// Query is the expression of Prometheus for the metrics of a ScaledJob, or of all without a namespace or
// a name. A server that keeps the namespace in another label gives the values of all namespaces.
func Query(namespace, name string, span time.Duration) string {
	selector := `__name__=~"keda_scaler_(metrics_value|active|errors|detail_errors_total)"`
	if name != "" {
		selector += ",scaledObject=" + strconv.Quote(name)
	}
	if namespace != "" {
		selector += ",exported_namespace=~" + strconv.Quote(regexp.QuoteMeta(namespace)+"|")
	}
	return fmt.Sprintf("{%s}[%ds]", selector, max(1, int(span.Seconds())))
}

// Metrics are samples of the operator's metrics about triggers, from its endpoint or Prometheus, in
// the order of time.
type Metrics []sample

type sample struct {
	name, namespace string // of the ScaledJob
	metric          string // metrics_value, active, errors or detail_errors_total
	trigger         int
	series          string // name of the trigger's metric
	labels          string // all of them
	time            time.Time
	value           float64
}

var (
	metricLine  = regexp.MustCompile(`(?m)^(keda_scaler_(?:metrics_value|active|errors|detail_errors_total))\{(.*)\} (\S+)$`)
	metricLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// ReadMetrics reads the text of the operator's endpoint at a time.
func ReadMetrics(text string, instant time.Time) (samples Metrics) {
	for _, m := range metricLine.FindAllStringSubmatch(text, -1) {
		labels := map[string]string{"__name__": m[1]}
		for _, l := range metricLabel.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[2]
		}
		samples = samples.add(labels, instant, m[3])
	}
	return samples
}

// ReadPrometheus reads an answer of Prometheus to Query.
func ReadPrometheus(data []byte) (samples Metrics, err error) {
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, errors.New("the answer is not that of Prometheus")
	}
	if answer.Status != "success" {
		return nil, errors.New(quote(answer.Error))
	}
	for _, r := range answer.Data.Result {
		for _, v := range r.Values {
			seconds, _ := v[0].(float64)
			text, _ := v[1].(string)
			samples = samples.add(r.Metric, time.UnixMilli(int64(seconds*1000)).UTC(), text)
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return a.time.Compare(b.time) })
	return samples, nil
}

// add adds a sample of a ScaledJob. Prometheus may have moved the label namespace.
func (samples Metrics) add(labels map[string]string, instant time.Time, text string) Metrics {
	s := sample{name: labels["scaledObject"], namespace: cmp.Or(labels["exported_namespace"], labels["namespace"]), series: labels["metric"], labels: fmt.Sprint(labels), time: instant}
	index := cmp.Or(labels["triggerIndex"], labels["scalerIndex"]) // the latter before 2.14
	var err, unread error
	s.metric = strings.TrimPrefix(labels["__name__"], "keda_scaler_")
	s.trigger, err = strconv.Atoi(index)
	s.value, unread = strconv.ParseFloat(text, 64)
	if kind := labels["type"]; err != nil || unread != nil || (kind != "" && kind != "scaledjob") {
		return samples
	}
	return append(samples, s)
}

// ForScaledJob returns the samples of a ScaledJob.
func (samples Metrics) ForScaledJob(namespace, name string) (matching Metrics) {
	for _, s := range samples {
		if s.name == name && (namespace == "" || s.namespace == namespace) {
			matching = append(matching, s)
		}
	}
	return matching
}

// Values returns the last values of the triggers from a time until another, and reports whether
// each of the triggers has one.
func (samples Metrics) Values(triggers int, from, last time.Time) (values []Trigger, complete bool) {
	values = make([]Trigger, triggers)
	found, activity := make([]bool, triggers), make([]bool, triggers)
	start, _ := slices.BinarySearchFunc(samples, from, func(s sample, instant time.Time) int { return s.time.Compare(instant) })
	for _, s := range samples[start:] {
		if s.time.After(last) {
			break
		}
		if s.trigger < 0 || s.trigger >= triggers {
			continue
		}
		t := &values[s.trigger]
		switch s.metric {
		case "metrics_value":
			found[s.trigger], t.Name, t.Value = true, s.series, s.value
			t.Active = (t.Active && activity[s.trigger]) || (!activity[s.trigger] && s.value > 0)
		case "active":
			activity[s.trigger], t.Active = true, s.value > 0
		}
	}
	return values, triggers > 0 && !slices.Contains(found, false)
}

// failing returns the names of the triggers with increasing errors. A lower value is a counter that begins
// anew.
func (samples Metrics) failing() (names []string) {
	last := map[string]float64{} // by the labels
	for _, s := range samples {
		if s.metric != "errors" && s.metric != "detail_errors_total" {
			continue
		}
		before, repeated := last[s.labels]
		last[s.labels] = s.value
		if name := fmt.Sprintf("trigger %d", s.trigger); repeated && s.value > before && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// measure gives polls without values the values of Prometheus: of the samples between a poll and the
// next. Values that contradict the lines of the poll are left out.
func (j *judge) measure(s *Subject, past Metrics) {
	if j.spec == nil || len(past) == 0 {
		return
	}
	interval := j.interval(s)
	for i, p := range s.Polls {
		if p.Time.IsZero() || p.Cut || len(p.Triggers)+len(p.Errors) > 0 {
			continue
		}
		end := p.Time.Add(interval)
		if i+1 < len(s.Polls) && s.Polls[i+1].Time.After(p.Time) {
			end = s.Polls[i+1].Time
		}
		values, complete := j.values(past, p.Time.Add(time.Second), end.Add(-time.Second))
		if !complete {
			continue
		}
		p.Triggers, p.Measured = values, true
		if d := j.profile.Aggregate(j.keda, j.scalers(p)); d.Active != (p.Effective != nil) {
			p.Triggers, p.Measured = nil, false
		} else if d.Active && j.bounds.Min <= value(p.Running) {
			p.MaxValue = &d.Jobs
		}
	}
}

// past returns the values of Prometheus outside of the polls of the log as lines of the timeline.
func (j *judge) past(s *Subject, past Metrics) (groups []Group) {
	from, last := time.Time{}, time.Time{}
	if n := len(s.Polls); n > 0 {
		from, last = s.Polls[0].Time, s.Polls[n-1].Time
	}
	for i, sample := range past {
		instant := sample.time
		if (!instant.Before(from) && !instant.After(last)) || (i > 0 && past[i-1].time.Equal(instant)) {
			continue
		}
		if values, complete := j.values(past, instant, instant); complete {
			text, run := "Prometheus: "+valuesText(values), 0
			for _, p := range s.Polls {
				if !p.Time.After(instant) {
					run = p.Run
				}
			}
			groups = append(groups, Group{From: instant, End: instant, Run: run, Text: text, like: text})
		}
	}
	return groups
}

// values returns the last values of the triggers between two times, with their targets.
func (j *judge) values(samples Metrics, from, last time.Time) ([]Trigger, bool) {
	values, complete := samples.Values(len(j.triggers), from, last)
	for i := range values {
		values[i].Target = j.triggers[i].Target
	}
	return values, complete
}

func valuesText(values []Trigger) string {
	var parts []string
	for _, t := range values {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, ", ")
}

// now judges a poll that has the values of the operator's metrics and the Jobs of the cluster. It
// returns nil if they are not known.
func (j *judge) now(l *Live) *Verdict {
	if j.spec == nil || !l.Counted {
		return nil
	}
	values, complete := j.values(l.Metrics, time.Time{}, time.Now())
	if !complete {
		return nil
	}
	p := &Poll{Triggers: values, Running: &l.Running, Pending: &l.Pending}
	d := j.profile.Decide(j.keda, keda.State{Scalers: j.scalers(p), Running: l.Running, Pending: l.Pending})
	if d.Demand.Active {
		effective := max(0, d.EffectiveMaxScale)
		p.Effective, p.Requested, p.Created = &effective, &d.Create, &d.Create
		if d.Asked {
			p.MaxValue = &d.Demand.Jobs
		}
	}
	return j.verdict(p)
}

// answerNow answers by the operator's metrics if the log has no poll.
func (j *judge) answerNow(a *Account, l *Live) bool {
	v := j.now(l)
	if v == nil || len(v.Causes) == 0 {
		return false
	}
	a.Causes, a.State = v.Causes, v.Causes[0].ID
	does := "A poll with the values of the operator's metrics creates no Job: "
	if value(v.Jobs) > 0 {
		a.State, does = "creating", fmt.Sprintf("A poll with the values of the operator's metrics creates %s: ", field.Plural(int(*v.Jobs), "Job"))
	}
	a.Answer = v.Causes[0].phrase(does)
	return true
}
