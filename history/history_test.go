package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
)

func at(minute int) time.Time {
	return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
}

func names(jobs []history.Job, chosen []int) []string {
	var s []string
	for _, i := range chosen {
		s = append(s, jobs[i].Name)
	}
	return s
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

// A Job expires at its age and not before. The next time is that of the next Job.
func TestExpired(t *testing.T) {
	jobs := []history.Job{
		{Name: "a", Outcome: history.Succeeded, Finished: at(10)},
		{Name: "b", Outcome: history.Failed, Finished: at(5)},
		{Name: "c"},
		{Name: "d", Outcome: history.Succeeded, Finished: at(1), Deleting: true},
	}
	minute := at(1).Sub(at(0))
	for _, c := range []struct {
		age  history.Age
		now  int
		want []int
		next time.Time
	}{
		{history.Age{}, 100, nil, time.Time{}},
		{history.After(3 * minute), 7, nil, at(8)},
		{history.After(3 * minute), 8, []int{1}, at(13)},
		{history.After(3 * minute), 13, []int{0, 1}, time.Time{}},
		{history.After(-1), 5, []int{1}, at(10)},
	} {
		got, next := history.Expired(c.age, jobs, at(c.now))
		require.Equal(t, c.want, got, "%+v", c)
		require.True(t, next.Equal(c.next), "%v", next)
	}
	require.Equal(t, "all succeeded, 1 failed, for 9s", history.Limits{Failed: history.Keep(1), Age: history.After(9 * time.Second)}.String())
	after, ok := history.After(time.Second).Value()
	require.True(t, ok)
	require.Equal(t, time.Second, after)
}
