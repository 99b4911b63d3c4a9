package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

func after(jobs ...string) []schedule.Dependency {
	var all []schedule.Dependency
	for _, j := range jobs {
		all = append(all, schedule.Dependency{Job: j, Outcome: schedule.Any})
	}
	return all
}

func TestValidate(t *testing.T) {
	s := schedule.DefaultPolicy()
	s.UID = "2f6a"
	s.After = after("a", "b")
	require.NoError(t, s.Validate())
	s.After = append(s.After, schedule.Dependency{Job: "a", Outcome: schedule.Failed})
	require.NoError(t, s.Validate())
	for _, c := range []schedule.Concurrency{"", schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace} {
		s.Concurrency = c
		require.NoError(t, s.Validate())
	}

	err := schedule.Policy{MaxWaiting: -1, StartingDeadline: -1, Concurrency: "allow", After: []schedule.Dependency{{}, {Job: "a", Outcome: "ok"}, after("b")[0], after("b")[0]}}.Validate()
	require.EqualError(t, err, strings.Join([]string{
		`UID: found nothing; use the UID of the job`,
		`Concurrency: found "allow"; use Allow, Wait, Forbid or Replace`,
		`StartingDeadline: found -1ns; use a duration of 0 or more`,
		`MaxWaiting: found -1; use 0 or more`,
		`After[0].Job: found nothing; use the name of another job`,
		`After[0].Outcome: found nothing; use succeeded, failed or any`,
		`After[1].Outcome: found "ok"; use succeeded, failed or any`,
		`After[3]: found "b" any again; use each dependency once`,
	}, "\n"))
	var problem *field.Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, "UID", problem.Path)
}

func TestCycle(t *testing.T) {
	for _, tt := range []struct {
		after map[string][]string
		want  []string // of a
	}{
		{map[string][]string{}, nil},
		{map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d", "unknown"}}, nil},
		{map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, nil}, // a is outside of the cycle
		{map[string][]string{"a": {"a"}}, []string{"a"}},
		{map[string][]string{"a": {"e", "b"}, "b": {"c", "d"}, "d": {"a"}}, []string{"a", "b", "d"}},
	} {
		calls := map[string]int{}
		require.Equal(t, tt.want, schedule.Cycle("a", func(job string) []string {
			require.Equal(t, 0, calls[job], job)
			calls[job]++
			return tt.after[job]
		}))
	}
}
