package slots_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// The cost of an item does not depend on Retries, and neither attempts nor their sum overflow.
func TestManyRetries(t *testing.T) {
	for _, test := range []struct {
		name           string
		item, retries  int64
		attempts, next []int64 // that have failed; the next one, if there is one
	}{
		{"no object", 0, math.MaxInt64, nil, []int64{0}},
		{"one failed", 1, math.MaxInt64, []int64{1}, []int64{2}},
		{"the newest counts", 3, math.MaxInt64, []int64{5, 4}, []int64{6}},
		{"before the item's attempt", 3, math.MaxInt64, []int64{2}, []int64{3}},
		{"none is left", 3, 2, []int64{5}, nil},
		{"after the last", 3, 2, []int64{7}, nil},
		{"the highest", math.MaxInt64 - 1, math.MaxInt64, []int64{math.MaxInt64}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			s := slots.New(slots.Options{Keyed: true, Clean: true, Start: now})
			var shown []slots.Object
			for _, n := range test.attempts {
				shown = append(shown, slots.Object{Slot: slots.Slot{Key: "a", Number: n}, UID: string(rune('a' + len(shown))), Finished: true, Failed: true})
			}
			s.Replace(shown, now)
			w := s.Ask()
			w.Create, w.Max, w.Items, w.Retries = 1, 1, []slots.Slot{{Key: "a", Number: test.item}}, test.retries
			require.EqualValues(t, len(test.next), s.Waiting(w))
			s.Want(w, now)
			var next []int64
			for _, q := range s.Next(now) {
				next = append(next, q.Slot.Number)
			}
			require.Equal(t, test.next, next)
			held := ""
			for _, h := range s.Holds(w, now) {
				held += h.Rule
			}
			require.Equal(t, len(test.next) == 0, held == "stillThere", held)
		})
	}
}

// An item whose attempt is raised while its object is unfinished waits for the object's end.
func TestAttemptIsRaised(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := slots.New(slots.Options{Keyed: true, Clean: true, Start: now})
	first := slots.Object{Slot: slots.Slot{Key: "a", Number: 1}, UID: "1"}
	s.Replace([]slots.Object{first}, now)
	for _, finished := range []bool{false, true} {
		first.Finished = finished
		s.Show(first)
		w := s.Ask()
		w.Create, w.Max, w.Items = 5, 5, []slots.Slot{{Key: "a", Number: 2}}
		s.Want(w, now)
		require.Equal(t, finished, len(s.Next(now)) == 1)
	}
}

// A list that breaks the contract of a source is not taken, or its items are skipped. The
// decision has the rule.
func TestSourceContract(t *testing.T) {
	for _, test := range []struct {
		rule  string
		first []slots.Slot // a list that is taken
		then  []slots.Slot // the next one
		list  func(before, now slots.Want) slots.Want
		made  []slots.Slot // from the second list
		ended bool         // the first list's object is deleted
	}{
		{rule: "", first: []slots.Slot{{Key: "a"}}, then: []slots.Slot{{Key: "a"}, {Key: "b"}}, made: []slots.Slot{{Key: "b"}}},
		{rule: "", first: []slots.Slot{{Key: "a"}}, ended: true},
		{rule: "noList", first: []slots.Slot{{Key: "a"}}, then: []slots.Slot{{Key: "b"}}, list: func(_, _ slots.Want) slots.Want { return slots.Want{} }},
		{rule: "staleList", first: []slots.Slot{{Key: "a"}}, then: []slots.Slot{{Key: "b"}}, list: func(before, _ slots.Want) slots.Want { return before }},
		{rule: "staleList", first: []slots.Slot{{Key: "a"}}, list: func(_, now slots.Want) slots.Want { now.Revision = 6; return now }},
		{rule: "", first: []slots.Slot{{Key: "a"}}, ended: true, list: func(_, now slots.Want) slots.Want { now.Revision = 7; return now }},
		{rule: "staleList", first: []slots.Slot{{Key: "a"}}, list: func(_, _ slots.Want) slots.Want {
			return slots.New(slots.Options{Keyed: true}).Ask() // of another term
		}},
		{rule: "repeated", first: []slots.Slot{{Key: "a"}}, then: []slots.Slot{{Key: "b"}, {Key: "b", Number: 5}, {}}, made: []slots.Slot{{Key: "b"}}},
		{rule: "wentBack", first: []slots.Slot{{Key: "a"}, {Key: "b", Number: 3}}, then: []slots.Slot{{Key: "b", Number: 2}}},
	} {
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		s := slots.New(slots.Options{Keyed: true, Clean: true, Start: now})
		ended := slots.Object{Slot: slots.Slot{Key: "a"}, UID: "x", Finished: true}
		s.Replace([]slots.Object{ended}, now)
		before, first := s.Ask(), s.Ask()
		first.Revision, first.Items = 7, test.first
		s.Want(first, now)
		require.Empty(t, s.Next(now))
		w := s.Ask()
		if test.list != nil {
			w = test.list(before, w)
		}
		w.Create, w.Max, w.Items, w.Delete = 9, 9, test.then, []string{"x"}
		var rules []string
		for _, h := range s.Holds(w, now) {
			if h.Rule != "stillThere" {
				rules = append(rules, h.Rule)
			}
		}
		require.Equal(t, test.rule, strings.Join(rules, " "))
		waiting := s.Waiting(w)
		s.Want(w, now)
		var made []slots.Slot
		deleted := false
		for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
			for _, q := range batch {
				if deleted = deleted || q.Verb == "delete"; q.Verb == "create" {
					made = append(made, q.Slot)
				}
				s.Answer(q, slots.Done, "new "+q.Slot.Key, now)
			}
		}
		require.Equal(t, test.made, made, test.rule)
		require.Equal(t, test.ended || test.rule == "repeated" || test.rule == "wentBack", deleted, test.rule)
		if test.rule != "noList" && test.rule != "staleList" {
			require.EqualValues(t, len(made), waiting, test.rule)
		}
		if test.rule == "wentBack" { // the list comes again
			w = s.Ask()
			w.Create, w.Max, w.Items = 9, 9, test.then
			s.Want(w, now)
			for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
				for _, q := range batch {
					require.Equal(t, "read", q.Verb)
					s.Answer(q, slots.None, "", now)
				}
			}
		}
	}
}

// An object that is not shown is not deleted: neither one in flight nor one that is gone.
func TestDeletesWhatIsShown(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := slots.New(slots.Options{Late: time.Minute, Start: now})
	s.Replace([]slots.Object{{Slot: slots.Slot{Number: 1}, UID: "a", Finished: true}}, now)
	s.Want(slots.Want{Create: 1, Max: 1}, now)
	s.Answer(s.Next(now)[0], slots.Done, "b", now)
	s.Want(slots.Want{Delete: []string{"b", "c"}}, now)
	require.Empty(t, s.Next(now))
	s.Show(slots.Object{Slot: slots.Slot{Number: 2}, UID: "b"})
	s.Show(slots.Object{UID: "a", Gone: true})
	s.Want(slots.Want{Delete: []string{"a", "b"}}, now)
	sent := s.Next(now)
	require.Len(t, sent, 1)
	require.Equal(t, "b", sent[0].UID)
	require.False(t, sent[0].Finished)
}

// A request that waits is not sent once its object is gone, or an unfinished one has finished.
func TestDeletesWhatIsStillShown(t *testing.T) {
	for _, finished := range []bool{false, true} {
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		s := slots.New(slots.Options{Late: time.Minute, Start: now})
		var all []slots.Object
		w := slots.Want{}
		for i := range 4 {
			all = append(all, slots.Object{Slot: slots.Slot{Number: int64(i + 1)}, UID: fmt.Sprint(i), Finished: finished})
			w.Delete = append(w.Delete, fmt.Sprint(i))
		}
		now = now.Add(2 * time.Minute)
		s.Replace(all, now)
		s.Want(w, now)
		first := s.Next(now)
		require.Len(t, first, 1)
		s.Show(slots.Object{UID: "1", Gone: true})
		all[2].Finished = true
		s.Show(all[2])
		s.Answer(first[0], slots.Done, "", now)
		var sent []string
		for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
			for _, q := range batch {
				sent = append(sent, q.UID)
				s.Answer(q, slots.Done, "", now)
			}
		}
		if finished {
			require.Equal(t, []string{"2", "3"}, sent)
		} else {
			require.Equal(t, []string{"3"}, sent)
		}
	}
}

// A set of another term takes neither a listing nor a reply of the set before.
func TestAnotherTerm(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	old, s := slots.New(slots.Options{Start: now}), slots.New(slots.Options{Start: now})
	for _, is := range []*slots.Set{old, s} {
		is.Replace(nil, now)
		is.Want(slots.Want{Create: 1, Max: 1}, now)
	}
	before, sent := old.Next(now)[0], s.Next(now)[0]
	s.Answer(before, slots.None, "", now)
	require.EqualValues(t, 1, s.Unfinished(), "the create of this term is under way")
	s.Answer(sent, slots.None, "", now)
	require.Zero(t, s.Unfinished())
}

// A refused item does not keep a term from ending in order, but a refused number does.
func TestSettled(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, keyed := range []bool{false, true} {
		s := slots.New(slots.Options{Late: time.Minute, Start: now, Keyed: keyed, Clean: true})
		s.Replace(nil, now)
		w := s.Ask()
		w.Create, w.Max, w.Items = 1, 1, []slots.Slot{{Key: "a"}}
		s.Want(w, now)
		sent := s.Next(now)
		require.Len(t, sent, 1)
		require.False(t, s.Settled(now), "a create is under way")
		s.Answer(sent[0], slots.Refused, "", now)
		require.Equal(t, keyed, s.Settled(now))
	}
}

// A delete that was answered does not keep a term from ending in order before it is shown.
func TestSettledAfterDelete(t *testing.T) {
	for _, r := range []slots.Result{slots.Done, slots.Unanswered} {
		s, poll := polled(t)
		poll(slots.Want{Delete: []string{"x"}}, "delete", r, "")
		require.Equal(t, r == slots.Done, s.Settled(noon.Add(time.Minute)))
		require.False(t, s.Settled(noon), "a create of an earlier term may still arrive")
	}
}

// A read that is refused says nothing about the create that was not answered.
func TestReads(t *testing.T) {
	s, poll := polled(t)
	poll(slots.Want{Create: 1, Max: 1}, "create", slots.Unanswered, "")
	for _, r := range []slots.Result{slots.Unanswered, slots.Refused} {
		poll(slots.Want{}, "read", r, "")
		require.EqualValues(t, 1, s.Unfinished(), "the create may still have its effect")
	}
	poll(slots.Want{}, "read", slots.None, "")
	require.Zero(t, s.Unfinished())
}

// polled returns a set with a finished object, and a function that polls at L after the poll
// before and answers the single request.
func polled(t *testing.T) (*slots.Set, func(slots.Want, string, slots.Result, string)) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := slots.New(slots.Options{Late: time.Minute, Start: now})
	s.Replace([]slots.Object{{Slot: slots.Slot{Number: 9}, UID: "x", Finished: true}}, now)
	return s, func(w slots.Want, verb string, r slots.Result, uid string) {
		now = now.Add(time.Minute)
		s.Want(w, now)
		batch := s.Next(now)
		require.Len(t, batch, 1)
		require.Equal(t, verb, batch[0].Verb)
		s.Answer(batch[0], r, uid, now)
	}
}

// A read of a deleted object tells whether it is still there: under its name is nothing, the object
// itself, or another one.
func TestReadsOfDeleted(t *testing.T) {
	for _, test := range []struct {
		result slots.Result
		uid    string
		gone   bool
	}{
		{slots.None, "", true}, {slots.Done, "y", true}, {slots.Taken, "y", true}, {slots.Taken, "x", false}, {slots.Done, "", false},
	} {
		s, poll := polled(t)
		poll(slots.Want{Delete: []string{"x"}}, "delete", slots.Unanswered, "")
		poll(slots.Want{}, "read", test.result, test.uid)
		holds := s.Holds(slots.Want{}, time.Time{})
		require.Equal(t, test.gone, len(holds) > 0 && holds[0].Rule == "pruned", "%+v: if it is gone, it is still shown", test)
	}
}
