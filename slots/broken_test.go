package slots_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/slots/slotstest"
)

// A broken loop breaks a rule. A nil hook keeps it.
type broken struct {
	*slotstest.Plain
	polled   func(*broken, slotstest.Poll, time.Time) // before the poll's requests are chosen
	around   func(*broken) (restore func())           // around each choice of requests
	answered func(*broken, time.Time)                 // after an answer was noted
	shown    func(*broken, time.Time)                 // after a change of the observation
	replaced func(*broken)                            // after a list
	reply    func(slots.Request, slots.Result) slots.Result
	settled  bool
	early    bool // the mark of an orderly end does not wait for L

	now time.Time
}

func (b *broken) next(now time.Time) []slots.Request {
	b.now = now
	if b.around != nil {
		defer b.around(b)()
	}
	return b.Next(now)
}

func (b *broken) Poll(p slotstest.Poll, now time.Time) []slots.Request {
	b.now = now
	b.Want(b.Wanted(p), now)
	if b.polled != nil {
		b.polled(b, p, now)
	}
	return b.next(now)
}

func (b *broken) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	if b.reply != nil {
		r = b.reply(q, r)
	}
	b.Set.Answer(q, r, uid, now)
	if b.answered != nil {
		b.answered(b, now)
	}
	return b.next(now)
}

func (b *broken) Show(o slots.Object) {
	b.Plain.Show(o)
	if b.shown != nil {
		b.shown(b, b.now)
	}
}

func (b *broken) Replace(objects []slots.Object, began time.Time) {
	again := b.HasRead()
	b.Plain.Replace(objects, began)
	if again && b.replaced != nil {
		b.replaced(b)
	}
}

func (b *broken) Settled(now time.Time) bool {
	if b.early {
		now = now.Add(time.Hour)
	}
	return b.settled || b.Plain.Settled(now)
}

func (b *broken) Clone() slotstest.Loop {
	c := *b
	c.Plain = b.Plain.Clone().(*slotstest.Plain)
	return &c
}

// A rule is broken by changing the options, the loop or what surrounds it.
type rule struct {
	name    string
	config  slotstest.Config
	options func(*slots.Options)
	started func(*slots.Set)
	loop    broken
}

func rules() []rule {
	type B = slotstest.Budget
	one := slotstest.Config{
		Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 16, Deaf: true, Initial: [][]slotstest.Held{nil, {slotstest.Ended}},
		Budget: B{Finish: 2, Fault: 2, Restart: 2, Relist: 1},
	}
	with := func(c slotstest.Config, change func(*slotstest.Config)) slotstest.Config { change(&c); return c }
	served := with(one, func(c *slotstest.Config) { c.Deaf = false })
	aside := with(one, func(c *slotstest.Config) {
		c.Budget = B{Finish: 1, Fault: 2, Restart: 2}
		c.Initial = nil
		c.Demands = []uint8{1}
	})
	strict := func(b B) slotstest.Config {
		return with(one, func(c *slotstest.Config) { c.Strict, c.Budget = true, b })
	}
	keyed := slotstest.Config{Keyed: true, Items: 2, Max: []int64{1}, Depth: 24, Deaf: true, Budget: B{Finish: 2, Fault: 2, Restart: 1}}
	return []rule{
		{name: "a flight ends by name", config: with(one, func(c *slotstest.Config) { c.Budget = B{Finish: 2, Fault: 1, Restart: 2} }), loop: broken{shown: func(b *broken, now time.Time) {
			b.EndFlights(func(_, shown bool, _ time.Duration) bool { return shown }, now)
		}}},
		{name: "a create that was not answered is over", config: one, loop: broken{reply: func(q slots.Request, r slots.Result) slots.Result {
			if q.Verb == "create" && r == slots.Unanswered {
				r = slots.None
			}
			return r
		}}},
		{name: "a create that was not answered is never asked for", config: served, loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.DropReads(false) }}},
		{name: "a prune that was not answered is never asked for", config: served, loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.DropReads(true) }}},
		{name: "pruning while a create is unanswered", config: one, loop: broken{around: func(b *broken) func() { return b.PretendAnswered() }}},
		{name: "L is too short", config: with(one, func(c *slotstest.Config) { c.Ticks = 2 }), options: func(o *slots.Options) { o.Late, o.Unshown = o.Late/2, o.Late/2 }},
		{name: "pruning within L of the start", config: one, started: (*slots.Set).NoStart},
		{name: "creating while a pruned object is shown", config: one, loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.ForgetPruned() }}},
		{name: "a list forgets flights", config: with(one, func(c *slotstest.Config) { c.Budget = B{Finish: 1, Fault: 1, Restart: 1, Relist: 2} }), loop: broken{replaced: func(b *broken) { b.ForgetFlights() }}},
		{name: "a list forgets pruned objects", config: one, loop: broken{replaced: func(b *broken) { b.ForgetPruned() }}},
		{name: "a warm standby's cache", config: with(one, func(c *slotstest.Config) { c.Budget = B{Finish: 2, Fault: 1, Restart: 1, Warm: 1} }), loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.AnyRead() }}},
		{name: "requests later than L", config: with(one, func(c *slotstest.Config) { c.AnyAge = true })},
		{name: "a number is set aside freely", config: aside, started: (*slots.Set).AlwaysAside},
		{name: "a number is set aside without a read after L", config: aside, loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.AsideWithoutRead() }}},
		{name: "a number is set aside without the mark", config: aside, loop: broken{polled: func(b *broken, _ slotstest.Poll, _ time.Time) { b.Marked() }}},
		{name: "a marked term creates at once", config: aside, options: func(o *slots.Options) { o.Aside = false }},
		{name: "a finished object is deleted from outside", config: strict(B{Finish: 2, Fault: 1, Restart: 1, External: 1})},
		{name: "a delete of an earlier process arrives", config: strict(B{Finish: 2, Fault: 2, Restart: 2})},
		{name: "the mark of an orderly end within L of the start", config: orderly(), loop: broken{early: true}},
		{name: "keyed: no wait", config: keyed, started: (*slots.Set).NoWait},
		{name: "keyed: one read, before the wait", config: keyed, loop: broken{polled: func(b *broken, p slotstest.Poll, now time.Time) {
			b.AnyRead()
			b.Want(b.Wanted(p), now)
		}}},
		{name: "keyed: a list of the wait", config: with(keyed, func(c *slotstest.Config) { c.Budget = B{Finish: 1, Fault: 1, Restart: 1, External: 1} }), loop: broken{polled: func(b *broken, p slotstest.Poll, now time.Time) {
			b.AnyList()
			b.Want(b.Wanted(p), now)
		}}},
		{name: "keyed: the mark with a create unanswered", config: with(keyed, func(c *slotstest.Config) { c.Budget = B{Finish: 2, Fault: 2, End: 1} }), loop: broken{settled: true}},
		{name: "keyed: a create that was not answered is over", config: keyed, loop: broken{reply: func(q slots.Request, r slots.Result) slots.Result {
			if q.Verb == "create" && r == slots.Unanswered {
				r = slots.None
			}
			return r
		}}},
		{name: "keyed: answered creates are not counted", config: keyed, loop: broken{answered: func(b *broken, now time.Time) {
			b.EndFlights(func(answered, _ bool, _ time.Duration) bool { return answered }, now)
		}}},
		{name: "keyed: deleted at once", config: keyed, loop: broken{polled: func(b *broken, p slotstest.Poll, now time.Time) {
			b.PruneAll(b.Wanted(p).Delete)
		}}},
		{name: "keyed: a list begun before the end was shown", config: with(keyed, func(c *slotstest.Config) { c.Budget.Return = 1 }), loop: broken{polled: func(b *broken, p slotstest.Poll, now time.Time) {
			b.EarlyEnds()
			b.Want(b.Wanted(p), now)
		}}},
		{name: "keyed: a retry from a list begun before the end was shown", config: with(keyed, func(c *slotstest.Config) { c.Retries, c.Budget = 1, B{Finish: 1} }), loop: broken{polled: func(b *broken, p slotstest.Poll, now time.Time) {
			b.EarlyEnds()
			b.Want(b.Wanted(p), now)
		}}},
		{name: "keyed: a key known since the list began", config: with(keyed, func(c *slotstest.Config) { c.Budget.External = 1 }), loop: broken{around: func(b *broken) func() { b.ForgetKnown(); return func() {} }}},
	}
}

// If every term waits, deletes of others and of earlier processes cost nothing, and a number may
// be set aside without a mark.
func TestEveryTermWaits(t *testing.T) {
	waits := 0
	for _, r := range rules() {
		switch r.name {
		case "a number is set aside without the mark", "a finished object is deleted from outside", "a delete of an earlier process arrives":
			waits++
			r.config.Depth = 12
			report := slotstest.Explore(r.config, func(o slots.Options, most int64) slotstest.Loop {
				o.Aside = true
				b := r.loop
				b.Plain = slotstest.NewPlain(o, most).(*slotstest.Plain)
				return &b
			})
			require.Empty(t, report.Broken, r.name)
		}
	}
	require.Equal(t, 3, waits)
}

// The model fails if a rule is broken, and finds the shortest way. With the rule nothing fails on any
// way that is as long, so that a program without it fails here.
func TestBrokenRules(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			report := slotstest.Explore(r.config, func(o slots.Options, most int64) slotstest.Loop {
				if r.options != nil {
					r.options(&o)
				}
				b := r.loop
				b.Plain = slotstest.NewPlain(o, most).(*slotstest.Plain)
				if r.started != nil {
					r.started(b.Set)
				}
				return &b
			})
			if t.Logf("%s", report); report.Broken == "" {
				t.Fail()
			}
			if r.config.AnyAge || r.config.Strict {
				return // what surrounds the program breaks the rule
			}
			if report.Steps > r.config.Depth {
				require.False(t, r.config.Deaf) // nobody is served at the end of all events
				return
			}
			r.config.Depth = report.Steps
			kept := slotstest.Explore(r.config, slotstest.NewPlain)
			t.Logf("with the rule: %s", kept)
			require.Empty(t, kept.Broken)
		})
	}
}
