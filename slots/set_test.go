package slots_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// A fixture is a set whose requests a test answers. L is a minute.
type fixture struct {
	*testing.T
	set *slots.Set
	now time.Time
}

func newFixture(t *testing.T, objects ...slots.Object) *fixture {
	f := &fixture{t, slots.New(slots.Options{RequestLifetime: time.Minute, Start: noon}), noon}
	f.set.Replace(objects, noon)
	return f
}

func (f *fixture) wait(d time.Duration) { f.now = f.now.Add(d) }

// poll begins a poll and returns its first requests.
func (f *fixture) poll(d slots.Demand) []slots.Request {
	f.set.Begin(d, f.now)
	return f.set.Next(f.now)
}

// expect polls, and answers the single request, which has the verb.
func (f *fixture) expect(d slots.Demand, verb slots.Verb, r slots.Result, uid string) slots.Request {
	f.Helper()
	batch := f.poll(d)
	require.Len(f, batch, 1)
	require.Equal(f, verb, batch[0].Verb)
	f.set.Answer(batch[0], r, uid, f.now)
	return batch[0]
}

// finish answers all requests of the poll with Done, and returns their UIDs or numbers.
func (f *fixture) finish(batch []slots.Request) (all []string) {
	for ; len(batch) > 0; batch = f.set.Next(f.now) {
		for _, q := range batch {
			name := q.UID
			if name == "" {
				name = fmt.Sprint(q.Number)
			}
			all = append(all, name)
			f.set.Answer(q, slots.Done, "new "+name, f.now)
		}
	}
	return all
}

func ended(number int64, uid string) slots.Object {
	return slots.Object{Number: number, UID: uid, Finished: true}
}

// A poll at NextCheck does what the poll before could not: the wait of a term, a create that was not
// answered, a create that failed, and finished objects. NextCheck is later than now.
func TestNextCheck(t *testing.T) {
	f := newFixture(t)
	waits := func(d time.Duration) {
		t.Helper()
		require.Equal(t, f.now.Add(d), f.set.NextCheck(f.now))
		f.wait(d)
	}
	require.Zero(t, f.set.NextCheck(f.now))
	f.set.Replace([]slots.Object{ended(1, "a")}, f.now)
	prune := slots.Demand{Max: 1, Delete: []string{"a"}}
	require.Empty(t, f.poll(prune))
	waits(time.Minute)
	f.expect(prune, slots.Delete, slots.Done, "")
	f.set.Replace(nil, f.now)
	one := slots.Demand{Create: 1, Max: 1}
	f.expect(one, slots.Create, slots.NoEffect, "")
	waits(time.Second)
	f.expect(one, slots.Create, slots.Unanswered, "")
	waits(2 * time.Second) // the failures are two in a row
	require.Empty(t, f.poll(one), "the create that was not answered takes capacity")
	waits(58 * time.Second)
	f.expect(one, slots.Read, slots.Absent, "")
	require.Equal(t, slots.Create, f.set.Next(f.now)[0].Verb)
}

// The pauses of deletes and of unfinished history are checked at their end.
func TestNextCheckOfHistory(t *testing.T) {
	f := newFixture(t, ended(1, "a"))
	f.wait(time.Minute)
	prune := slots.Demand{Delete: []string{"a"}}
	f.expect(prune, slots.Delete, slots.Unanswered, "")
	f.wait(time.Minute)
	f.expect(slots.Demand{}, slots.Read, slots.Done, "a")
	require.Empty(t, f.poll(prune))
	require.Equal(t, 20*time.Minute, f.set.NextCheck(f.now).Sub(f.now), "twenty times the minute that was lost")
}

// A delete without an answer lets others wait for 20 L, doubling; a delete that is done ends that.
func TestDeletePause(t *testing.T) {
	f := newFixture(t, ended(1, "a"), ended(2, "b"))
	f.wait(time.Minute)
	prune := slots.Demand{Delete: []string{"a"}}
	for _, pause := range []time.Duration{20 * time.Minute, 40 * time.Minute, 80 * time.Minute} {
		f.expect(prune, slots.Delete, slots.Unanswered, "")
		sent := f.now
		f.wait(time.Minute)
		f.expect(slots.Demand{}, slots.Read, slots.Done, "a")
		f.now = sent.Add(pause - time.Second)
		require.Empty(t, f.poll(prune), pause)
		f.now = sent.Add(max(pause, 21*time.Minute))
	}
	f.expect(prune, slots.Delete, slots.Done, "")
	f.set.Observe(slots.Object{UID: "a", Gone: true})
	f.expect(slots.Demand{Delete: []string{"b"}}, slots.Delete, slots.Unanswered, "")
	f.wait(time.Minute)
	f.expect(slots.Demand{}, slots.Read, slots.Done, "b")
	f.wait(21 * time.Minute)
	require.Len(t, f.poll(slots.Demand{Delete: []string{"b"}}), 1)
}

// Without L, nothing waits: not after a delete without an answer either.
func TestNoLifetime(t *testing.T) {
	s := slots.New(slots.Options{Start: noon})
	s.Replace([]slots.Object{ended(1, "a")}, noon)
	f := &fixture{t, s, noon}
	prune := slots.Demand{Delete: []string{"a"}}
	f.expect(prune, slots.Delete, slots.Unanswered, "")
	f.expect(slots.Demand{}, slots.Read, slots.Done, "a")
	f.expect(prune, slots.Delete, slots.Done, "")
}

// A delete that is refused is tried again later, and holds nothing up.
func TestRefusedDelete(t *testing.T) {
	f := newFixture(t, ended(1, "a"), ended(2, "b"))
	f.wait(time.Minute)
	f.expect(slots.Demand{Delete: []string{"a"}}, slots.Delete, slots.Refused, "")
	require.Empty(t, f.poll(slots.Demand{Delete: []string{"a"}}))
	require.Equal(t, []slots.Hold{{Reason: slots.DeletesRefused, Text: "1 delete is refused", Count: 1}}, f.set.Holds(f.now))
	require.Equal(t, []string{"b"}, f.finish(f.poll(slots.Demand{Delete: []string{"a", "b"}})))
	f.wait(time.Second)
	f.set.Observe(slots.Object{UID: "b", Gone: true})
	require.Equal(t, []string{"2", "a"}, f.finish(f.poll(slots.Demand{Create: 1, Max: 1, Delete: []string{"a"}})))
}

// An object that is not shown is not deleted: neither one in flight nor one that is gone.
func TestDeletesWhatIsShown(t *testing.T) {
	f := newFixture(t, ended(1, "a"))
	f.expect(slots.Demand{Create: 1, Max: 1}, slots.Create, slots.Done, "b")
	require.Empty(t, f.poll(slots.Demand{Delete: []string{"b", "c"}}))
	f.set.Observe(slots.Object{Number: 2, UID: "b"})
	f.set.Observe(slots.Object{UID: "a", Gone: true})
	batch := f.poll(slots.Demand{Delete: []string{"a", "b"}})
	require.Len(t, batch, 1)
	require.Equal(t, "b", batch[0].UID)
	require.False(t, batch[0].Finished)
}

// A request that waits is not sent once its object is gone, or an unfinished one has finished.
func TestDeletesWhatIsStillShown(t *testing.T) {
	for finished, expected := range map[bool][]string{true: {"0", "2", "3"}, false: {"0", "3"}} {
		f := newFixture(t)
		f.wait(2 * time.Minute)
		var objects []slots.Object
		d := slots.Demand{}
		for i := range 4 {
			objects = append(objects, slots.Object{Number: int64(i + 1), UID: fmt.Sprint(i), Finished: finished})
			d.Delete = append(d.Delete, fmt.Sprint(i))
		}
		f.set.Replace(objects, f.now)
		batch := f.poll(d)
		require.Len(t, batch, 1)
		f.set.Observe(slots.Object{UID: "1", Gone: true})
		objects[2].Finished = true
		f.set.Observe(objects[2])
		require.Equal(t, expected, f.finish(batch))
	}
}

// After three polls in which the lowest number failed it is to be skipped, and the term lists the objects first.
func TestSkipAfterThreePolls(t *testing.T) {
	f, one := newFixture(t), slots.Demand{Create: 1, Max: 1}
	for range 3 {
		f.wait(time.Minute)
		f.expect(one, slots.Create, slots.NoEffect, "")
	}
	f.wait(time.Minute)
	require.Equal(t, slots.List, f.poll(one)[0].Verb)
}

// Requests of a set of another term are ignored.
func TestAnotherTerm(t *testing.T) {
	one := slots.Demand{Create: 1, Max: 1}
	before, f := newFixture(t).poll(one)[0], newFixture(t)
	q := f.poll(one)[0]
	f.set.Answer(before, slots.NoEffect, "", f.now)
	require.EqualValues(t, 1, f.set.Unfinished(), "the create of this term is under way")
	f.set.Answer(q, slots.NoEffect, "", f.now)
	require.Zero(t, f.set.Unfinished())
}

// The lease's mark stays while a request is under way or has no answer.
func TestSettled(t *testing.T) {
	for _, r := range []slots.Result{slots.Done, slots.Refused, slots.Unanswered} {
		for verb, d := range map[slots.Verb]slots.Demand{slots.Create: {Create: 1, Max: 1}, slots.Delete: {Delete: []string{"x"}}} {
			f := newFixture(t, ended(9, "x"))
			require.False(t, f.set.Settled(f.now), "a create of an earlier term may still arrive")
			f.wait(time.Minute)
			require.True(t, f.set.Settled(f.now))
			batch := f.poll(d)
			require.Len(t, batch, 1)
			require.False(t, f.set.Settled(f.now))
			f.set.Answer(batch[0], r, "", f.now)
			require.Equal(t, r != slots.Unanswered, f.set.Settled(f.now), "%s: %d", verb, r)
		}
	}
}

// A read that fails says nothing about the create that was not answered.
func TestReads(t *testing.T) {
	f := newFixture(t)
	f.expect(slots.Demand{Create: 1, Max: 1}, slots.Create, slots.Unanswered, "")
	f.wait(time.Minute)
	for _, r := range []slots.Result{slots.Unanswered, slots.Refused} {
		f.expect(slots.Demand{}, slots.Read, r, "")
		require.EqualValues(t, 1, f.set.Unfinished(), "the create may still have its effect")
	}
	f.expect(slots.Demand{}, slots.Read, slots.Absent, "")
	require.Zero(t, f.set.Unfinished())
}

// A create that was answered is read again if no observation shows it for 4 L, and a number that somebody
// else's object occupies after each L: until then the number is not used.
func TestReadsOfHiddenObjects(t *testing.T) {
	for r, wait := range map[slots.Result]time.Duration{slots.Done: 4 * time.Minute, slots.Occupied: time.Minute} {
		f := newFixture(t)
		d := slots.Demand{Create: 1, Max: 1}
		f.expect(d, slots.Create, r, "x")
		f.set.Stop()
		f.wait(wait - time.Second)
		batch := f.poll(d)
		require.Equal(t, r == slots.Occupied, len(batch) == 1 && batch[0].Number == 2, "number 1 is not free")
		f.set.Stop()
		for _, q := range batch {
			f.set.Answer(q, slots.NoEffect, "", f.now)
		}
		f.wait(time.Second)
		f.expect(slots.Demand{}, slots.Read, slots.Absent, "")
		f.wait(time.Minute)
		batch = f.poll(d)
		require.Len(t, batch, 1)
		require.EqualValues(t, 1, batch[0].Number, "the number is free again")
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
		{slots.Absent, "", true}, {slots.Done, "y", true}, {slots.Occupied, "y", true}, {slots.Occupied, "x", false}, {slots.Done, "", false},
	} {
		f := newFixture(t, ended(9, "x"))
		f.wait(time.Minute)
		f.expect(slots.Demand{Delete: []string{"x"}}, slots.Delete, slots.Unanswered, "")
		f.wait(time.Minute)
		f.expect(slots.Demand{}, slots.Read, test.result, test.uid)
		holds := f.set.Holds(f.now)
		require.Equal(t, test.gone, len(holds) > 0 && holds[0].Reason == slots.DeletePending, "%+v: if it is gone, it is still shown", test)
	}
}

// While a request of the poll before has no answer, nothing finished is deleted; and after L no create
// is sent until the history is.
func TestHistoryWaits(t *testing.T) {
	f := newFixture(t, ended(1, "a"))
	f.wait(time.Minute)
	both := slots.Demand{Create: 1, Max: 9, Delete: []string{"a"}}
	first := f.poll(slots.Demand{Create: 1, Max: 9})[0]
	prune := slots.Demand{Delete: []string{"a"}}
	require.Empty(t, f.poll(prune), "a create is under way")
	f.wait(time.Minute)
	require.Empty(t, f.poll(both))
	require.Equal(t, slots.HistoryWaiting, f.set.Holds(f.now)[0].Reason)
	f.set.Answer(first, slots.Done, "b", f.now)
	require.Equal(t, []string{"a"}, f.finish(f.poll(both)))
}

// A create without an answer takes capacity, unless its number is shown: while an object has the name, it creates none.
func TestCreateBesideItsNumber(t *testing.T) {
	f := newFixture(t)
	f.expect(slots.Demand{Create: 1, Max: 9}, slots.Create, slots.Unanswered, "")
	for _, step := range []struct {
		object     slots.Object
		unfinished int64
	}{
		{slots.Object{Number: 1, UID: "a"}, 1}, {ended(1, "a"), 0}, {slots.Object{UID: "a", Gone: true}, 1},
	} {
		f.set.Observe(step.object)
		require.Equal(t, step.unfinished, f.set.Unfinished(), "%+v", step.object)
	}
}

// The answer to a read of a create is ignored if the object was shown meanwhile, also if its number has another create.
func TestReadOfShown(t *testing.T) {
	for _, again := range []bool{false, true} {
		f := newFixture(t)
		one := slots.Demand{Create: 1, Max: 1}
		f.expect(one, slots.Create, slots.Done, "a")
		f.wait(4 * time.Minute)
		read := f.poll(slots.Demand{})
		require.Len(t, read, 1)
		f.set.Observe(slots.Object{Number: 1, UID: "a"})
		if again {
			f.set.Observe(slots.Object{UID: "a", Gone: true})
			require.EqualValues(t, 1, f.poll(one)[0].Number)
		}
		f.set.Answer(read[0], slots.Absent, "", f.now)
		require.EqualValues(t, 1, f.set.Unfinished())
	}
}

// Stop tells whether it dropped anything. A create that was then not sent is no failure of its number.
func TestStop(t *testing.T) {
	f := newFixture(t, slots.Object{Number: 9, UID: "x"})
	require.False(t, f.set.Stop())
	f.poll(slots.Demand{})
	require.False(t, f.set.Stop())
	for name, d := range map[string]slots.Demand{"creates": {Create: 2, Max: 9}, "deletes": {Delete: []string{"x", "x"}}} {
		batch := f.poll(d)
		require.Len(t, batch, 1)
		require.True(t, f.set.Stop(), name)
		require.Empty(t, f.set.Next(f.now))
		f.set.Answer(batch[0], slots.NoEffect, "", f.now)
		require.Empty(t, f.set.Holds(f.now))
	}
}

// A set may be dropped when nothing is left, and no create may still make an object.
func TestEmpty(t *testing.T) {
	f := newFixture(t)
	require.True(t, f.set.Empty(f.now))
	q := f.poll(slots.Demand{Create: 1, Max: 1})[0]
	require.False(t, f.set.Empty(f.now))
	f.set.Answer(q, slots.Unanswered, "", f.now)
	f.wait(4*time.Minute - 1)
	require.False(t, f.set.Empty(f.now))
	f.wait(1)
	require.True(t, f.set.Empty(f.now))
	f.set.Observe(ended(1, "a"))
	require.False(t, f.set.Empty(f.now))
}

// A create that fails once beside others that succeed is sent again in this poll, and its number is not skipped.
func TestRepeat(t *testing.T) {
	f := newFixture(t)
	four := slots.Demand{Create: 4, Max: 4}
	f.expect(four, slots.Create, slots.Done, "1")
	batch := f.set.Next(f.now)
	require.Len(t, batch, 2)
	f.set.Answer(batch[1], slots.Done, "3", f.now)
	f.set.Answer(batch[0], slots.NoEffect, "", f.now)
	require.Equal(t, []string{"2", "4"}, f.finish(f.set.Next(f.now)))
	require.Empty(t, f.set.Holds(f.now))
}

// Each reason has its text, and those that stop all creates say so.
func TestHolds(t *testing.T) {
	f := newFixture(t)
	f.set.Synced(time.Time{})
	require.Equal(t, []slots.Hold{{Reason: slots.NotListed, Text: "the objects have not been read in this term", Count: 1, StopsCreates: true}}, f.set.Holds(f.now))
	f = newFixture(t)
	f.expect(slots.Demand{Create: 1, Max: 2}, slots.Create, slots.Refused, "")
	require.Equal(t, []slots.Hold{{Reason: slots.NumberFailed, Text: "the create of the lowest free number failed", Count: 1, StopsCreates: true}}, f.set.Holds(f.now))
	f.wait(time.Second)
	require.False(t, f.set.Holds(f.now)[0].StopsCreates, "it may be tried again")
	f.expect(slots.Demand{Create: 1, Max: 2}, slots.Create, slots.Unanswered, "")
	holds := f.set.Holds(f.now)
	require.Equal(t, slots.Hold{Reason: slots.BackingOff, Text: "the last creates failed", Count: 1, StopsCreates: true}, holds[0])
	require.Equal(t, slots.Hold{Reason: slots.CreatesUnanswered, Text: "1 create was not answered and takes capacity", Count: 1}, holds[1])

	f = &fixture{t, slots.New(slots.Options{RequestLifetime: time.Minute, Start: noon.Add(-time.Minute), Marked: true}), noon}
	f.set.Replace(nil, noon)
	for range 2 {
		batch := f.poll(slots.Demand{Create: 1, Max: 2})
		f.set.Answer(batch[0], slots.Refused, "", f.now)
		f.finish(f.set.Next(f.now))
		f.wait(time.Second)
	}
	require.Equal(t, []slots.Hold{{Reason: slots.NumbersSkipped, Text: "1 number whose create fails is skipped", Count: 1}}, f.set.Holds(f.now))
	f.wait(time.Minute)
	require.Equal(t, []string{"4", "5", "6", "1"}, f.finish(f.poll(slots.Demand{Create: 4, Max: 9})), "the skipped number is the last")
}
