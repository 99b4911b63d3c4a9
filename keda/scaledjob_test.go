package keda_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

// behavior returns what all releases do with the ScaledJob.
func behavior(j *keda.ScaledJob) string {
	jobs := []keda.Job{
		{Pods: []keda.Pod{{Phase: "Running", Conditions: []keda.Condition{{Type: "Ready", Status: "True"}}}}},
		{Conditions: []keda.Condition{{Type: "Complete", Status: "True"}}, Annotations: map[string]string{"scaledjob.keda.sh/generation": "1"}},
		{Conditions: []keda.Condition{{Type: "Failed", Status: "True"}}},
	}
	scaler := keda.Scaler{QueueLength: 10, Target: 1}
	state := keda.State{Scalers: []keda.Scaler{scaler, scaler}, Running: 4}
	all := ""
	for _, release := range keda.Releases() {
		p, err := keda.Release(release)
		if err != nil {
			panic(err)
		}
		all += fmt.Sprintln(p.Decide(j, state), p.Count(j, jobs), p.History(j, jobs), p.Rollout(j, jobs), p.Generate(j, release), p.Validate(j))
	}
	return all
}

// A ScaledJob has no field that no rule reads.
func TestEveryFieldIsRead(t *testing.T) {
	base := func() *keda.ScaledJob {
		j := &keda.ScaledJob{Name: "orders", Generation: 1}
		j.Spec.ScalingStrategy.Strategy, j.Spec.ScalingStrategy.CustomScalingRunningJobPercentage = "custom", "0.5"
		return j
	}
	n := 0
	var each func(path string, index []int, of reflect.Type)
	each = func(path string, index []int, of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			if f.Anonymous { // with the parameters of strategies that KEDA lacks
				continue
			}
			path, index := path+"."+f.Name, append(index[:len(index):len(index)], i)
			if f.Type.Kind() == reflect.Struct {
				each(path, index, f.Type)
				continue
			}
			j, value := base(), map[reflect.Kind]string{
				reflect.String: `"gradual"`, reflect.Int64: "2", reflect.Pointer: "-1", reflect.Map: `{"autoscaling.keda.sh/paused": "true"}`, reflect.Slice: `["a"]`,
			}[f.Type.Kind()]
			require.NoError(t, json.Unmarshal([]byte(value), reflect.ValueOf(j).Elem().FieldByIndex(index).Addr().Interface()), path)
			require.True(t, behavior(base()) != behavior(j), path)
			n++
		}
	}
	each("", nil, reflect.TypeFor[keda.ScaledJob]())
	require.Equal(t, 18, n)
}
