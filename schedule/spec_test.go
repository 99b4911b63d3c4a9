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
	s := schedule.DefaultSpec()
	s.UID = "2f6a"
	s.After = after("a", "b")
	require.NoError(t, schedule.Validate(s))
	s.After = append(s.After, schedule.Dependency{Job: "a", Outcome: schedule.Failed})
	require.NoError(t, schedule.Validate(s))
	for _, c := range []schedule.Concurrency{"", schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace} {
		s.Concurrency = c
		require.NoError(t, schedule.Validate(s))
	}

	err := schedule.Validate(schedule.Spec{MaxWaiting: -1, StartingDeadline: -1, Concurrency: "allow", After: []schedule.Dependency{{}, {Job: "a", Outcome: "ok"}, after("b")[0], after("b")[0]}})
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

func TestValidateDependencies(t *testing.T) {
	require.NoError(t, schedule.ValidateDependencies(nil))
	require.NoError(t, schedule.ValidateDependencies(map[string][]schedule.Dependency{
		"load": after("extract", "clean"), "clean": after("extract"), "report": after("load", "nobody knows")}))
	for want, jobs := range map[string]map[string][]schedule.Dependency{
		"a after a":         {"a": after("a")},
		"b after f after b": {"b": after("f", "e"), "f": after("b")},
		"b after c after b": {"a": after("c"), "c": after("b"), "b": after("c")},
		"a after b after a\njobs come after one another: a after c after a": {"a": after("c", "b"), "b": after("a"), "c": after("a")},
	} {
		require.EqualError(t, schedule.ValidateDependencies(jobs), "jobs come after one another: "+want)
	}
	err := schedule.ValidateDependencies(map[string][]schedule.Dependency{
		"d": after("c"), "c": after("b", "b"), "b": after("d", "a"), "a": nil, "x": after("y", "d"), "y": after("x")})
	require.EqualError(t, err, "jobs come after one another: b after d after c after b\njobs come after one another: x after y after x")
	var cycle *schedule.CycleError
	require.ErrorAs(t, err, &cycle)
	require.Equal(t, []string{"b", "d", "c"}, cycle.Jobs)
}
