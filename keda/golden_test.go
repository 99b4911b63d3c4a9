package keda_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/testdata"
)

// A vector is a case of testdata/keda.json.
type vector struct {
	ID, Kind string
	KEDA     string // the releases it holds for, as in ">=2.1.0 <2.19.0"
	Input    input
	Expect   json.RawMessage
}

type input struct {
	Name, Namespace            string
	Generation                 int64
	Labels, Annotations        map[string]string
	RestartPolicy              string
	Annotation                 *string
	MinReplicaCount            *int32
	MaxReplicaCount            *int32
	MultipleScalersCalculation string
	Strategy                   string
	MaxScale, ScaleTo          int64
	Running, Pending           int64
	Deduction                  *int32 `json:"customScalingQueueLengthDeduction"`
	Percentage                 text   `json:"customScalingRunningJobPercentage"`
	PendingPodConditions       []string
	JobFinished                bool
	Pods                       []pod
	SuccessfulJobsHistoryLimit *int32
	FailedJobsHistoryLimit     *int32
	Jobs                       []job
	RolloutStrategy            string
	Rollout                    keda.RolloutSpec
	AverageValues              []float64
	Scalers                    []struct {
		QueueLength, Target float64
		Active              bool
	}
}

type pod struct {
	Phase          string
	TrueConditions []string
}

type job struct {
	Name                 string
	CompletionTime       *time.Time
	Condition            string
	GenerationAnnotation *string
	Finished             bool
}

// A text is a decimal that a case gives as a number or as a string.
type text string

func (s *text) UnmarshalJSON(data []byte) error {
	*s = text(bytes.Trim(data, `"`))
	return nil
}

func (in *input) scaledJob() *keda.ScaledJob {
	j := &keda.ScaledJob{
		Name: in.Name, Namespace: in.Namespace, Generation: in.Generation,
		Labels: in.Labels, Annotations: in.Annotations, RestartPolicy: in.RestartPolicy,
		Spec: keda.Spec{
			MinReplicaCount: in.MinReplicaCount, MaxReplicaCount: in.MaxReplicaCount,
			SuccessfulJobsHistoryLimit: in.SuccessfulJobsHistoryLimit, FailedJobsHistoryLimit: in.FailedJobsHistoryLimit,
			RolloutStrategy: in.RolloutStrategy, Rollout: in.Rollout,
			ScalingStrategy: keda.ScalingStrategy{
				Strategy: in.Strategy, MultipleScalersCalculation: in.MultipleScalersCalculation,
				CustomScalingQueueLengthDeduction: in.Deduction, CustomScalingRunningJobPercentage: string(in.Percentage),
				PendingPodConditions: in.PendingPodConditions,
			},
		},
	}
	if in.Annotation != nil {
		j.Annotations = map[string]string{"autoscaling.keda.sh/paused": *in.Annotation}
	}
	return j
}

func (in *input) scalers() []keda.Scaler {
	var scalers []keda.Scaler
	for _, s := range in.Scalers {
		scalers = append(scalers, keda.Scaler{QueueLength: s.QueueLength, Target: s.Target, Activity: activity(s.Active)})
	}
	return scalers
}

func (in *input) jobs() []keda.Job {
	var jobs []keda.Job
	for _, j := range in.Jobs {
		k := keda.Job{Name: j.Name, CompletionTime: j.CompletionTime}
		if j.Condition != "" {
			k.Conditions = []keda.Condition{{Type: j.Condition, Status: "True"}}
		}
		if j.GenerationAnnotation != nil {
			k.Annotations = map[string]string{"scaledjob.keda.sh/generation": *j.GenerationAnnotation}
		}
		jobs = append(jobs, k)
	}
	return jobs
}

// pending is the one Job of a case of kind pending.
func (in *input) pending() []keda.Job {
	var j keda.Job
	if in.JobFinished {
		j.Conditions = []keda.Condition{{Type: "Complete", Status: "True"}}
	}
	for _, p := range in.Pods {
		k := keda.Pod{Phase: p.Phase}
		for _, name := range p.TrueConditions {
			k.Conditions = append(k.Conditions, keda.Condition{Type: name, Status: "True"})
		}
		j.Pods = append(j.Pods, k)
	}
	return []keda.Job{j}
}

func names(jobs []keda.Job, chosen []int) []string {
	s := []string{}
	for _, i := range chosen {
		s = append(s, jobs[i].Name)
	}
	return s
}

// answers gives, for each kind, the fields of the expectation.
var answers = map[string]func(keda.Profile, *input) map[string]any{
	"create": func(p keda.Profile, in *input) map[string]any {
		d := p.Decide(in.scaledJob(), keda.State{Scalers: in.scalers(), Running: in.Running, Pending: in.Pending})
		return map[string]any{"create": d.Create, "total": in.Running + d.Create}
	},
	"aggregate": func(p keda.Profile, in *input) map[string]any {
		d := p.Aggregate(in.scaledJob(), in.scalers())
		return map[string]any{"active": d.Active, "queueLength": d.QueueLength, "maxScale": d.MaxScale}
	},
	"strategy": func(p keda.Profile, in *input) map[string]any {
		l := strategy.Load{Target: in.MaxScale, Running: in.Running, Pending: in.Pending, Max: int64(*in.MaxReplicaCount)}
		a := p.Strategy(in.scaledJob()).Scale(l, in.ScaleTo)
		return map[string]any{"effectiveMaxScale": a.EffectiveMaxScale, "scaleTo": a.ScaleTo}
	},
	"strategy-select": func(p keda.Profile, in *input) map[string]any {
		return map[string]any{"selected": p.Strategy(in.scaledJob()).Name()}
	},
	"replicas": func(p keda.Profile, in *input) map[string]any {
		r := p.Replicas(in.scaledJob())
		return map[string]any{"queueMax": r.QueueMax, "min": r.Min}
	},
	"target-average": func(p keda.Profile, in *input) map[string]any {
		var s keda.Scaler
		for _, v := range in.AverageValues {
			s.Metrics = append(s.Metrics, keda.Metric{AverageValue: v})
		}
		return map[string]any{"target": p.TargetAverage(&s)}
	},
	"pending": func(p keda.Profile, in *input) map[string]any {
		return map[string]any{"pending": p.Count(in.scaledJob(), in.pending()).Pending}
	},
	"history": func(p keda.Profile, in *input) map[string]any {
		jobs := in.jobs()
		deleted := names(jobs, p.History(in.scaledJob(), jobs).Deleted)
		a := map[string]any{"deleted": deleted}
		if slices.Equal(deleted, []string{in.Jobs[0].Name}) {
			a["keda"] = "list order (arbitrary)"
		}
		return a
	},
	"rollout": func(p keda.Profile, in *input) map[string]any {
		j, jobs := in.scaledJob(), in.jobs()
		j.Spec.Rollout.Strategy = in.Strategy
		if p.Supports(keda.RolloutFields) != nil {
			j.Spec.RolloutStrategy = in.Strategy
		}
		return map[string]any{"deleted": names(jobs, p.Rollout(j, jobs).Deleted)}
	},
	"rollout-precedence": func(p keda.Profile, in *input) map[string]any {
		return map[string]any{"effective": p.RolloutStrategy(in.scaledJob())}
	},
	"paused": func(p keda.Profile, in *input) map[string]any {
		return map[string]any{"paused": p.Paused(in.scaledJob())}
	},
	"generate": func(p keda.Profile, in *input) map[string]any {
		g := p.Generate(in.scaledJob(), "main")
		const tracking = "scaledjob.keda.sh/name"
		return map[string]any{
			"generateName": g.GenerateName, "annotations": g.Annotations, "labels": g.Labels, "restartPolicy": g.RestartPolicy,
			"jobLabel": map[string]string{tracking: g.Labels[tracking]}, "countedAsRunning": g.Tracked,
		}
	},
}

// Every case of testdata/keda.json, at every release that it holds for.
func TestVectors(t *testing.T) {
	data, err := testdata.Files.ReadFile("keda.json")
	require.NoError(t, err)
	var file struct{ Vectors []vector }
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Vectors, 112)
	for _, v := range file.Vectors {
		releases := within(t, v.KEDA)
		require.NotEmpty(t, releases, v.ID)
		for _, release := range releases {
			t.Run(fmt.Sprintf("%s/%s@%s", v.Kind, v.ID, release), func(t *testing.T) {
				p, err := keda.Release(release)
				require.NoError(t, err)
				answer, known := answers[v.Kind]
				require.True(t, known, "kind %s", v.Kind)
				checked := compare(t, v.Expect, answer(p, &v.Input))
				require.Positive(t, checked)
			})
		}
	}
}

// compare compares the fields of an expectation, but for what it says of other
// programs, and returns how many there were.
func compare(t *testing.T, expect json.RawMessage, answer map[string]any) int {
	var want map[string]any
	require.NoError(t, json.Unmarshal(expect, &want))
	delete(want, "libraryShouldDelete")
	for field, value := range want {
		got, known := answer[field]
		require.True(t, known, "field %s", field)
		data, err := json.Marshal(got)
		require.NoError(t, err)
		wanted, err := json.Marshal(value)
		require.NoError(t, err)
		require.JSONEq(t, string(wanted), string(data), "field %s", field)
	}
	return len(want)
}

// within lists the releases that a range of versions holds.
func within(t *testing.T, bounds string) []string {
	var in []string
	for _, release := range keda.Releases() {
		inside := true
		for _, bound := range strings.Fields(bounds) {
			from, isFrom := strings.CutPrefix(bound, ">=")
			to, isTo := strings.CutPrefix(bound, "<")
			require.True(t, isFrom || isTo, bound)
			inside = inside && (!isFrom || ordinal(t, release) >= ordinal(t, from)) && (!isTo || ordinal(t, release) < ordinal(t, to))
		}
		if inside {
			in = append(in, release)
		}
	}
	return in
}

func ordinal(t *testing.T, release string) int {
	var minor, patch int
	_, err := fmt.Sscanf(release, "2.%d.%d", &minor, &patch)
	require.NoError(t, err)
	return minor*100 + patch
}
