package history_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
)

func at(minute int) time.Time {
	return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
}

func succeeded(name string, minute int) history.Job {
	return history.Job{Name: name, Outcome: history.Succeeded, Finished: at(minute)}
}

func failed(name string, minute int) history.Job {
	return history.Job{Name: name, Outcome: history.Failed, Finished: at(minute)}
}

func deleting(j history.Job) history.Job {
	j.Deleting = true
	return j
}

func names(jobs []history.Job, chosen []int) []string {
	var s []string
	for _, i := range chosen {
		s = append(s, jobs[i].Name)
	}
	return s
}

func TestToDelete(t *testing.T) {
	one := history.Limits{Succeeded: history.Keep(1), Failed: history.Keep(1)}
	none := history.Limits{Succeeded: history.Keep(0), Failed: history.Keep(0)}
	for _, tt := range []struct {
		name   string
		limits history.Limits
		jobs   []history.Job
		want   []string
	}{
		{"no Jobs", none, nil, nil},
		{"no limits keep all", history.Limits{}, []history.Job{succeeded("a", 1), failed("b", 2)}, nil},
		{"as many as the limit", history.Limits{Succeeded: history.Keep(2)}, []history.Job{succeeded("a", 1), succeeded("b", 2)}, nil},
		{"the oldest goes", history.Limits{Succeeded: history.Keep(2)},
			[]history.Job{succeeded("a", 37), succeeded("b", 36), succeeded("c", 38)}, []string{"b"}},
		{"outcomes apart, succeeded first", one,
			[]history.Job{failed("f1", 1), succeeded("s2", 2), failed("f0", 0), succeeded("s1", 1), failed("f9", 9)},
			[]string{"s1", "f0", "f1"}},
		{"many successes displace no failure", one,
			[]history.Job{failed("f", 0), succeeded("s1", 1), succeeded("s2", 2)}, []string{"s1"}},
		{"ties by name", one, []history.Job{failed("b", 1), failed("c", 1), failed("a", 1)}, []string{"a", "b"}},
		{"ties in another time zone", one,
			[]history.Job{{Name: "b", Outcome: history.Failed, Finished: at(1).In(time.FixedZone("east", 3600))}, failed("a", 1)},
			[]string{"a"}},
		{"fractions of a second count", one,
			[]history.Job{{Name: "a", Outcome: history.Failed, Finished: at(1).Add(1)}, failed("b", 1)}, []string{"b"}},
		{"no time at all is the oldest", one, []history.Job{succeeded("a", 1), {Name: "b", Outcome: history.Succeeded}}, []string{"b"}},
		{"0 keeps none", none, []history.Job{succeeded("a", 1), failed("b", 2)}, []string{"a", "b"}},
		{"0 of one outcome", history.Limits{Failed: history.Keep(0)}, []history.Job{succeeded("a", 1), failed("b", 2)}, []string{"b"}},
		{"negative is 0", history.Limits{Failed: history.Keep(-3)}, []history.Job{failed("b", 2)}, []string{"b"}},
		{"deleting is not chosen again", none, []history.Job{deleting(succeeded("a", 1))}, nil},
		{"deleting is not kept", one, []history.Job{deleting(succeeded("new", 9)), succeeded("a", 1)}, nil},
		{"unfinished is never chosen", none, []history.Job{{}, {Name: "runs", Finished: at(1)}}, nil},
		{"nor what is no outcome", none, []history.Job{{Name: "odd", Outcome: 3}, {Name: "odder", Outcome: 255}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chosen := history.ToDelete(tt.limits, tt.jobs)
			require.Equal(t, tt.want, names(tt.jobs, chosen))
			require.Equal(t, tt.want == nil, chosen == nil)
		})
	}
}

func TestFinished(t *testing.T) {
	require.Equal(t, at(1), history.Times{Completion: at(1), Failure: at(2), Creation: at(3)}.Finished())
	require.Equal(t, at(1), history.Times{Completion: at(1), Creation: at(3)}.Finished())
	require.Equal(t, at(2), history.Times{Failure: at(2), Creation: at(3)}.Finished())
	require.Equal(t, at(3), history.Times{Creation: at(3)}.Finished())
	require.True(t, history.Times{}.Finished().IsZero())
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		limit history.Limit
		n     int
		ok    bool
		text  string
	}{
		{history.Limit{}, 0, false, "all"},
		{history.Keep(0), 0, true, "0"},
		{history.Keep(-1), 0, true, "0"},
		{history.Keep(100), 100, true, "100"},
	} {
		n, ok := tt.limit.Value()
		require.Equal(t, tt.n, n)
		require.Equal(t, tt.ok, ok)
		require.Equal(t, tt.text, tt.limit.String())
	}
	require.NotEqual(t, history.Limit{}, history.Keep(0))
	require.Equal(t, "3 succeeded, all failed", history.Limits{Succeeded: history.Keep(3)}.String())
	require.Equal(t, "100 succeeded, 100 failed", history.DefaultLimits().String())
}

func TestExceededAtTheLimits(t *testing.T) {
	limits := history.Limits{Succeeded: history.Keep(2), Failed: history.Keep(1)}
	for _, tt := range []struct {
		succeeded, failed int
		want              bool
	}{{2, 1, false}, {3, 1, true}, {2, 2, true}, {3, 2, true}, {0, 2, true}} {
		require.Equal(t, tt.want, limits.Exceeded(tt.succeeded, tt.failed), "%+v", tt)
	}
	require.False(t, history.Limits{}.Exceeded(1000, 1000))
}

func TestOutcomeText(t *testing.T) {
	require.Equal(t, "unfinished succeeded failed Outcome(3)",
		fmt.Sprint(history.Outcome(0), " ", history.Succeeded, " ", history.Failed, " ", history.Outcome(3)))
}

func TestOutcomeJSON(t *testing.T) {
	all := []history.Outcome{history.Unfinished, history.Succeeded, history.Failed}
	data, err := json.Marshal(all)
	require.NoError(t, err)
	require.JSONEq(t, `["unfinished","succeeded","failed"]`, string(data))
	var back []history.Outcome
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, all, back)
	require.EqualError(t, json.Unmarshal([]byte(`["lost"]`), &back), `unknown Outcome "lost"; use unfinished, succeeded or failed`)
}

// oracle sorts each outcome as a whole and cuts it.
func oracle(limits history.Limits, jobs []history.Job) []int {
	var gone []int
	for _, o := range []struct {
		outcome history.Outcome
		limit   history.Limit
	}{{history.Succeeded, limits.Succeeded}, {history.Failed, limits.Failed}} {
		var of []int
		for i, j := range jobs {
			if j.Outcome == o.outcome && !j.Deleting {
				of = append(of, i)
			}
		}
		sort.SliceStable(of, func(a, b int) bool { return jobs[of[a]].Name < jobs[of[b]].Name })
		sort.SliceStable(of, func(a, b int) bool { return jobs[of[a]].Finished.Before(jobs[of[b]].Finished) })
		if keep, limited := o.limit.Value(); limited && len(of) > keep {
			gone = append(gone, of[:len(of)-keep]...)
		}
	}
	return gone
}

// Every list of up to three Jobs that differ in outcome, name, time and being
// deleted, under every pair of limits that makes a difference.
func TestEverySmallHistory(t *testing.T) {
	var kinds []history.Job
	for i := range 3 * 2 * 2 * 2 {
		kinds = append(kinds, history.Job{
			Outcome: history.Outcome(i % 3), Name: "ab"[i/3%2 : i/3%2+1], Finished: at(i / 6 % 2), Deleting: i/12 == 1,
		})
	}
	limits := []history.Limit{{}, history.Keep(0), history.Keep(1), history.Keep(2)}
	states := 0
	var try func(jobs []history.Job)
	try = func(jobs []history.Job) {
		for _, s := range limits {
			for _, f := range limits {
				l := history.Limits{Succeeded: s, Failed: f}
				if got, want := history.ToDelete(l, jobs), oracle(l, jobs); !slices.Equal(got, want) {
					t.Fatalf("%v of %v: got %v, want %v", l, jobs, got, want)
				}
				states++
			}
		}
		if len(jobs) == 3 {
			return
		}
		for _, k := range kinds {
			try(append(slices.Clone(jobs), k))
		}
	}
	try(nil)
	require.Equal(t, 16*(1+24+24*24+24*24*24), states)
}

// Many Jobs, in random and in sorted order.
func TestManyJobs(t *testing.T) {
	const n = 20_000
	for _, order := range orders {
		jobs := finished(n, order)
		for _, k := range []int{1, 10, n / 2, n - 1, n} {
			limits := history.Limits{Succeeded: history.Keep(n - k)}
			require.Equal(t, oracle(limits, jobs), history.ToDelete(limits, jobs), "%s, %d to go", order, k)
		}
	}
}
