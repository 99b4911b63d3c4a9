package slots_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/slots/slotstest"
)

// A broken loop breaks a rule. A nil hook keeps it.
type broken struct {
	*slotstest.Plain
	polled   func(*broken)                     // before the poll's requests are chosen
	around   func(*slots.Set) (restore func()) // around each choice of requests
	answered func(*broken)                     // after an answer was noted
	observed func(*broken)                     // after a change of the observation
	replaced func(*broken)                     // after a list
	reply    func(slots.Request, slots.Result) slots.Result
	early    bool // the mark of an orderly end does not wait for L
}

func (b *broken) next(now time.Time) []slots.Request {
	if b.around != nil {
		defer b.around(b.Set)()
	}
	return b.Next(now)
}

func (b *broken) Poll(total int64, now time.Time) []slots.Request {
	b.Begin(b.Demand(total), now)
	if b.polled != nil {
		b.polled(b)
	}
	return b.next(now)
}

func (b *broken) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	if b.reply != nil {
		r = b.reply(q, r)
	}
	b.Set.Answer(q, r, uid, now)
	if b.answered != nil {
		b.answered(b)
	}
	return b.next(now)
}

func (b *broken) Observe(o slots.Object) {
	b.Plain.Observe(o)
	if b.observed != nil {
		b.observed(b)
	}
}

func (b *broken) Replace(objects []slots.Object, began time.Time) {
	repeated := b.HasRead()
	b.Plain.Replace(objects, began)
	if repeated && b.replaced != nil {
		b.replaced(b)
	}
}

func (b *broken) Settled(now time.Time) bool {
	if b.early {
		now = now.Add(time.Hour)
	}
	return b.Plain.Settled(now)
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
		Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 16, Deaf: true, Initial: [][]slotstest.Held{nil, {slotstest.Finished}},
		Budget: B{Finish: 2, Fault: 2, Restart: 2, Relist: 1},
	}
	with := func(c slotstest.Config, change func(*slotstest.Config)) slotstest.Config { change(&c); return c }
	budget := func(b B) slotstest.Config { return with(one, func(c *slotstest.Config) { c.Budget = b }) }
	strict := func(b B) slotstest.Config {
		return with(one, func(c *slotstest.Config) { c.Strict, c.Budget = true, b })
	}
	served := with(one, func(c *slotstest.Config) { c.Deaf = false })
	halves := with(one, func(c *slotstest.Config) { c.Ticks = 2 })
	skip := with(budget(B{Finish: 1, Fault: 2, Restart: 2}), func(c *slotstest.Config) { c.Initial, c.Demands = nil, []uint8{1} })
	return []rule{
		{name: "1: numbers above the highest", config: with(halves, func(c *slotstest.Config) {
			c.Max, c.Demands, c.Initial, c.Budget = []int64{2}, []uint8{2}, nil, B{Fault: 1, Restart: 1}
		}), loop: broken{around: (*slots.Set).UseHigherNumbers}},
		{name: "2: an answered create is over", config: one, loop: broken{answered: func(b *broken) {
			b.EndCreates(func(answered, _ bool) bool { return answered })
		}}},
		{name: "2: a create ends by name", config: budget(B{Finish: 2, Fault: 1, Restart: 2}), loop: broken{observed: func(b *broken) {
			b.EndCreates(func(_, shown bool) bool { return shown })
		}}},
		{name: "2: a list forgets creates", config: budget(B{Finish: 1, Fault: 1, Restart: 1, Relist: 2}), loop: broken{replaced: func(b *broken) { b.ForgetCreates() }}},
		{name: "3: a create that was not answered is over", config: one, loop: broken{reply: func(q slots.Request, r slots.Result) slots.Result {
			if q.Verb == slots.Create && r == slots.Unanswered {
				r = slots.NoEffect
			}
			return r
		}}},
		{name: "3: a create that was not answered is never read", config: served, loop: broken{polled: func(b *broken) { b.DropReads(false) }}},
		{name: "3: L is too short", config: halves, options: func(o *slots.Options) {
			o.RequestLifetime, o.ObservationLag = o.RequestLifetime/2, o.ObservationLag/2
		}},
		{name: "3: L counts from the return of a call", config: with(halves, func(c *slotstest.Config) { c.Lifetime = 3 })},
		{name: "4: deletes beside a create that was not answered", config: one, loop: broken{around: func(s *slots.Set) func() { return s.PretendAnswered(false) }}},
		{name: "4: deletes beside a create under way", config: budget(B{Finish: 2, Restart: 1, Overlap: 1}), loop: broken{around: func(s *slots.Set) func() { return s.PretendAnswered(true) }}},
		{name: "4: deletes within L of the start", config: one, started: (*slots.Set).StartEarlier},
		{name: "5: creates while a deleted object is shown", config: one, loop: broken{polled: func(b *broken) { b.ForgetDeletes() }}},
		{name: "5: a list forgets deletes", config: one, loop: broken{replaced: func(b *broken) { b.ForgetDeletes() }}},
		{name: "5: a delete that was not answered is never read", config: served, loop: broken{polled: func(b *broken) { b.DropReads(true) }}},
		{name: "6: the cache of a standby", config: budget(B{Finish: 2, Fault: 1, Restart: 1, Warm: 1}), loop: broken{polled: func(b *broken) { b.ReadLater() }}},
		{name: "7: a number is skipped freely", config: skip, started: (*slots.Set).SkipFreely},
		{name: "7: a number is skipped without a read after L", config: skip, loop: broken{polled: func(b *broken) { b.ReadLater() }}},
		{name: "7: a number is skipped without the mark", config: skip, loop: broken{polled: func(b *broken) { b.PretendMarked() }}},
		{name: "7: a term with the mark creates at once", config: skip, options: func(o *slots.Options) { o.Marked = false }},
		{name: "7: the mark goes within L of the start", config: with(skip, func(c *slotstest.Config) { c.Budget = B{Fault: 2, Restart: 1, End: 1} }), loop: broken{early: true}},
		{name: "a finished object is deleted by others", config: strict(B{Finish: 2, Fault: 1, Restart: 1, External: 1})},
		{name: "a delete of an earlier process arrives", config: strict(B{Finish: 2, Fault: 2, Restart: 2})},
	}
}

// If every term waits, deletes of others and of earlier processes cost nothing, and a number may
// be set aside without a mark.
func TestEveryTermWaits(t *testing.T) {
	waits := 0
	for _, r := range rules() {
		switch r.name {
		case "7: a number is skipped without the mark", "a finished object is deleted by others", "a delete of an earlier process arrives":
			waits++
			r.config.Depth = 12
			report := slotstest.Explore(r.config, func(o slots.Options, maximum int64) slotstest.Loop {
				o.Marked = true
				b := r.loop
				b.Plain = slotstest.NewPlain(o, maximum).(*slotstest.Plain)
				return &b
			})
			require.Empty(t, report.Broken, r.name)
		}
	}
	require.Equal(t, 3, waits)
}

// The model fails if a rule is broken, and finds the shortest way, whose length is on the page of slotstest. With the rule nothing
// fails on any way that is as long, so that a program without it fails here.
func TestBrokenRules(t *testing.T) {
	steps := make([]int, len(rules()))
	t.Run("each", func(t *testing.T) {
		for i, r := range rules() {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				steps[i] = r.breaks(t)
			})
		}
	})
	page, err := os.ReadFile("slotstest/doc.go")
	require.NoError(t, err)
	for i, r := range rules() {
		if steps[i] > 0 && steps[i] <= r.config.Depth { // 0 was not chosen by -run
			require.Contains(t, string(page), fmt.Sprintf("\n//\t%2d  %s\n", steps[i], r.name))
		}
	}
}

// breaks returns the length of the shortest way.
func (r *rule) breaks(t *testing.T) int {
	report := slotstest.Explore(r.config, func(o slots.Options, maximum int64) slotstest.Loop {
		if r.options != nil {
			r.options(&o)
		}
		b := r.loop
		b.Plain = slotstest.NewPlain(o, maximum).(*slotstest.Plain)
		if r.started != nil {
			r.started(b.Set)
		}
		return &b
	})
	if t.Logf("%s", report); report.Broken == "" {
		t.Fail()
	}
	surroundings := r.config.Lifetime > 0 || r.config.Strict // break the rule, and not the program
	isUnserved := report.Steps > r.config.Depth              // at the end of all events
	if isUnserved {
		require.False(t, r.config.Deaf)
	}
	if !surroundings && !isUnserved {
		r.config.Depth = report.Steps
		kept := slotstest.Explore(r.config, slotstest.NewPlain)
		t.Logf("with the rule: %s", kept)
		require.Empty(t, kept.Broken)
	}
	return report.Steps
}
