package adapter

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/internal/premise"
	"github.com/scaledjob/scaledjob/rollout"
)

// The promises hold on random walks far beyond the depth of TestModel.
func propModel(t *rapid.T, c *premise.Counts) {
	m := newModel(drawConfig(t), &broken{})
	w := rapid.SampledFrom(m.initial).Draw(t, "initial")(m)
	trace, noted := &trace{}, map[string]bool{}
	for range rapid.SampledFrom([]int{15, 30, 60}).Draw(t, "steps") {
		e, do := m.drawEvent(t, &w)
		next, ok := m.after(&w, do)
		if !ok {
			continue
		}
		trace.events = append(trace.events, e)
		if trace.problem = m.problem; trace.problem != "" {
			t.Fatalf("maxima %v: %s", maxima(m.targets), trace)
		}
		w = next
		m.observe(&w, func(what string) { noted[what] = true })
	}
	for _, what := range premises {
		c.Note(what, noted[what] || m.notes[what] > 0)
	}
	trace.events = append(trace.events, m.live(w, func(*world) bool { return false })...)
	if trace.problem = m.problem; trace.problem != "" {
		t.Fatalf("maxima %v: %s", maxima(m.targets), trace)
	}
}

// What a walk must often reach.
var premises = []string{
	"create arrives late", "prune arrives late", "create finds that the number is taken", "create finds an unfinished Job", "get finds nothing", "get finds that the number is taken",
	"state: a create is unanswered", "state: the cache shows a pruned Job", "state: an edit during a batch", "state: others have deleted a finished Job",
	"state: the cache shows another Job than the created",
}

func drawConfig(t *rapid.T) *config {
	keep := history.Keep(rapid.IntRange(0, 1).Draw(t, "history"))
	strategy := rapid.SampledFrom([]rollout.Strategy{rollout.Immediate, rollout.Gradual}).Draw(t, "rollout")
	n := rapid.IntRange(1, 4)
	var changes []func(*Target)
	for range rapid.IntRange(1, 4).Draw(t, "versions") {
		most := int64(n.Draw(t, "maximum"))
		changes = append(changes, func(t *Target) {
			t.Policy.Bounds.Max, t.History.Succeeded, t.Rollout.Strategy = most, keep, strategy
		})
	}
	left := func(what string) int8 { return rapid.SampledFrom([]int8{8, 4, 2, 1}).Draw(t, what) }
	return &config{
		targets: versions(changes...), demands: []uint8{uint8(n.Draw(t, "demand")), 0}, ticks: rapid.IntRange(1, 2).Draw(t, "ticks in L"),
		writers: rapid.IntRange(1, 2).Draw(t, "writers"), plans: rapid.IntRange(1, 2).Draw(t, "plans at once"), initial: worlds{holding(), holding(foreign, done)},
		left: budget{
			finish: left("finish"), fault: left("fault"), restart: left("restart"), stop: left("stop") / 4, external: left("external") / 2,
			finalizer: left("finalizer") / 2, relist: left("relist"), retrack: left("retrack") / 4, edit: left("edit"), skew: left("skew") / 4,
		},
	}
}

// drawEvent draws a kind of event, then one of the kind: rare kinds happen, too.
func (m *model) drawEvent(t *rapid.T, w *world) (event, func(*world) bool) {
	type choice struct {
		event
		do func(*world) bool
	}
	var kinds []eventKind
	choices := map[eventKind][]choice{}
	m.each(w, func(e event, do func(*world) bool) {
		if choices[e.kind] == nil {
			kinds = append(kinds, e.kind)
		}
		choices[e.kind] = append(choices[e.kind], choice{e, do})
	})
	of := choices[kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]]
	c := of[rapid.IntRange(0, len(of)-1).Draw(t, "event")]
	return c.event, c.do
}

func maxima(targets []Target) (all []int64) {
	for _, t := range targets {
		all = append(all, t.Policy.Bounds.Max)
	}
	return all
}

func TestModelWalks(t *testing.T) {
	least := premise.Least{}
	for _, what := range premises {
		least[what] = 0.01
	}
	premise.Check(t, propModel, least)
}

func FuzzModel(f *testing.F) { premise.Fuzz(f, propModel) }

// A life that the model keeps once stands for all that are told apart by nothing: a
// life that lives through the same inputs, without being kept, has the same key.
func TestModelKeepsLives(t *testing.T) {
	c := configs()[0]
	m := newModel(c, &broken{})
	s := newSearch(m)
	for range 8 {
		require.Nil(t, s.deepen())
	}
	random, kept := rand.New(rand.NewPCG(1, 2)), len(m.lives.all)
	for range 3000 {
		w := m.initial[random.IntN(len(m.initial))](m)
		shadow := m.life(&w, 0).clone()
		for range 12 {
			var choices []func(*world) bool
			m.each(&w, func(_ event, do func(*world) bool) { choices = append(choices, do) })
			w, _ = m.after(&w, choices[random.IntN(len(choices))])
			for _, fed := range m.fed {
				if shadow = shadow.clone(); fed.input.kind == start {
					shadow = m.lives.start(fed.input)
				}
				m.lives.run(shadow, fed.input)
			}
			require.Equal(t, m.life(&w, 0).key(c), shadow.key(c))
		}
	}
	t.Logf("%d lives before the walks, %d after", kept, len(m.lives.all))
}
