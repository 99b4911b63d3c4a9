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

// decide decides without a time.
func decide(p history.Policy, jobs []history.Job) []history.Deletion {
	return history.Decide(p, history.Observation{Jobs: jobs}).Delete
}

func names(jobs []history.Job, chosen []history.Deletion) []string {
	var s []string
	for _, d := range chosen {
		s = append(s, jobs[d.Index].Name)
	}
	return s
}

// A limit of 0 is another one than none, and a negative one counts as 0.
func TestLimits(t *testing.T) {
	jobs := []history.Job{{Outcome: history.Succeeded}, {Outcome: history.Failed}, {Outcome: history.Failed}}
	limited := func(reason history.Reason, indexes ...int) (d []history.Deletion) {
		for _, i := range indexes {
			d = append(d, history.Deletion{Index: i, Reason: reason})
		}
		return d
	}
	require.Nil(t, decide(history.Policy{}, jobs))
	require.Equal(t, limited(history.ReasonSucceededLimit, 0), decide(history.Policy{Succeeded: history.Keep(0)}, jobs))
	require.Equal(t, limited(history.ReasonFailedLimit, 1, 2), decide(history.Policy{Failed: history.Keep(-1)}, jobs))
	require.Equal(t, limited(history.ReasonFailedLimit, 1), decide(history.Policy{Failed: history.Keep(1)}, jobs))
	require.Equal(t, "nothing to delete", history.Decide(history.Policy{}, history.Observation{Jobs: jobs}).String())
	require.Equal(t, "delete [0]: more succeeded Jobs than the history keeps\ndelete [1 2]: finished longer ago than the history keeps Jobs",
		history.Decide(history.Policy{Succeeded: history.Keep(0), Age: history.After(1)}, history.Observation{Now: at(0), Jobs: jobs}).String())
}

func TestValidate(t *testing.T) {
	require.NoError(t, history.Policy{}.Validate())
	require.NoError(t, history.DefaultPolicy().Validate())
	err := history.Policy{Succeeded: history.Keep(-1), Failed: history.Keep(-2), Age: history.After(-time.Second)}.Validate()
	require.EqualError(t, err, "Succeeded: found -1; use 0 or more\nFailed: found -2; use 0 or more\nAge: found -1s; use 0 or more")
}

// A Job reaches its age at that time and not before. The next check is for the next Job. A Job
// above the limit is deleted for that reason, and once.
func TestAge(t *testing.T) {
	jobs := []history.Job{
		{Name: "a", Outcome: history.Succeeded, Finished: at(10)},
		{Name: "b", Outcome: history.Failed, Finished: at(5)},
		{Name: "c"},
		{Name: "d", Outcome: history.Succeeded, Finished: at(1), Deleting: true},
		{Name: "e", Outcome: "lost", Finished: at(1)},
	}
	for _, c := range []struct {
		policy history.Policy
		now    int
		want   string
		next   time.Time
	}{
		{history.Policy{}, 100, "", time.Time{}},
		{history.Policy{Age: history.After(3 * time.Minute)}, 7, "", at(8)},
		{history.Policy{Age: history.After(3 * time.Minute)}, 8, "b Age ", at(13)},
		{history.Policy{Age: history.After(3 * time.Minute)}, 13, "a Age b Age ", time.Time{}},
		{history.Policy{Age: history.After(-1)}, 5, "b Age ", at(10)},
		{history.Policy{Failed: history.Keep(0), Age: history.After(3 * time.Minute)}, 7, "b FailedLimit ", at(13)},
		{history.Policy{Failed: history.Keep(0), Age: history.After(3 * time.Minute)}, 8, "b FailedLimit ", at(13)},
		{history.Policy{Succeeded: history.Keep(0), Age: history.After(3 * time.Minute)}, 13, "a SucceededLimit b Age ", time.Time{}},
	} {
		d := history.Decide(c.policy, history.Observation{Now: at(c.now), Jobs: jobs})
		got := ""
		for _, deletion := range d.Delete {
			got += jobs[deletion.Index].Name + " " + string(deletion.Reason) + " "
		}
		require.Equal(t, c.want, got, "%+v", c)
		require.True(t, d.NextCheck.Equal(c.next), "%v: %v", c, d.NextCheck)
	}
}
