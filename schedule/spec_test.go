package schedule_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/premise"
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
	require.EqualError(t, schedule.ValidateDependencies(map[string][]schedule.Dependency{"a": after("a")}),
		"jobs come after one another: a after a")
	err := schedule.ValidateDependencies(map[string][]schedule.Dependency{
		"d": after("c"), "c": after("b", "b"), "b": after("d", "a"), "a": nil, "x": after("y", "d"), "y": after("x")})
	require.EqualError(t, err, "jobs come after one another: b after d after c after b\njobs come after one another: x after y after x")
	var cycle *schedule.CycleError
	require.ErrorAs(t, err, &cycle)
	require.Equal(t, []string{"b", "d", "c"}, cycle.Jobs)
}

func TestCycles(t *testing.T) {
	premise.CheckN(t, 1000, propCycles, premise.Least{"a cycle": 0.2, "no cycle": 0.2, "a cycle of two jobs or more": 0.1})
}
func FuzzCycles(f *testing.F) { premise.Fuzz(f, propCycles) }

// There is an error if and only if a job comes after itself, and each cycle is one.
func propCycles(t *rapid.T, c *premise.Counts) {
	jobs := map[string][]schedule.Dependency{}
	edges := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 2, 2), 0, 9).Draw(t, "edges")
	reach := map[[2]string]bool{}
	for _, e := range edges {
		jobs[e[0]] = append(jobs[e[0]], after(e[1])...)
		reach[[2]string{e[0], e[1]}] = true
	}
	direct := fmt.Sprint(reach)
	for range 6 {
		for a := range reach {
			for b := range reach {
				if a[1] == b[0] {
					reach[[2]string{a[0], b[1]}] = true
				}
			}
		}
	}
	cyclic, longer := false, false
	for pair := range reach {
		cyclic = cyclic || pair[0] == pair[1]
		longer = longer || pair[0] != pair[1] && reach[[2]string{pair[1], pair[0]}]
	}
	err := schedule.ValidateDependencies(jobs)
	c.Note("a cycle", cyclic)
	c.Note("no cycle", !cyclic)
	c.Note("a cycle of two jobs or more", longer)
	require.Equal(t, cyclic, err != nil, "%s: %v", direct, err)
	if err == nil {
		return
	}
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var cycle *schedule.CycleError
		require.True(t, errors.As(e, &cycle))
		for i, job := range cycle.Jobs {
			next := cycle.Jobs[(i+1)%len(cycle.Jobs)]
			require.True(t, slices.ContainsFunc(jobs[job], func(d schedule.Dependency) bool { return d.Job == next }), "%s after %s", job, next)
		}
		require.Equal(t, slices.Min(cycle.Jobs), cycle.Jobs[0])
	}
}
