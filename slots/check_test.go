package slots_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// A poll at NextCheck does what the poll before could not: the wait of a term, a create that was not
// answered, a create that failed, and finished objects. NextCheck is later than now.
func TestNextCheck(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now, s := start, slots.New(slots.Options{Late: time.Minute, Start: start})
	poll := func(create int64, shown ...slots.Object) []slots.Request {
		s.Replace(shown, now)
		var ended []string
		for _, o := range shown {
			ended = append(ended, o.UID)
		}
		s.Want(slots.Want{Create: create, Max: 1, Delete: ended}, now)
		return s.Next(now)
	}
	waits := func(d time.Duration) {
		t.Helper()
		require.Equal(t, now.Add(d), s.NextCheck(now))
		now = now.Add(d)
	}
	require.Zero(t, s.NextCheck(now))
	require.Empty(t, poll(0, slots.Object{UID: "a", Slot: slots.Slot{Number: 1}, Finished: true}))
	waits(time.Minute)
	sent := poll(0, slots.Object{UID: "a", Slot: slots.Slot{Number: 1}, Finished: true})
	require.Equal(t, "delete", sent[0].Verb)
	s.Answer(sent[0], slots.Done, "", now)
	sent = poll(1)
	s.Answer(sent[0], slots.None, "", now)
	waits(time.Second)
	sent = poll(1)
	require.Equal(t, "create", sent[0].Verb)
	s.Answer(sent[0], slots.Unanswered, "", now)
	waits(2 * time.Second) // the failures are two in a row
	require.Empty(t, poll(1), "the create that was not answered takes capacity")
	waits(58 * time.Second)
	sent = poll(1)
	require.Equal(t, "read", sent[0].Verb)
	s.Answer(sent[0], slots.None, "", now)
	require.Equal(t, "create", s.Next(now)[0].Verb)
}
