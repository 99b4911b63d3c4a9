package replicas_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestReplay(t *testing.T) { premise.Check(t, propReplay, replayLeast) }
func FuzzReplay(f *testing.F) { premise.Fuzz(f, propReplay) }

var replayLeast = premise.Least{
	"a member is excluded": 0.2, "a write fails": 0.07, "a member makes no progress": 0.02, "a former member": 0.1,
	"a healthy member shrinks": 0.3, "above max": 0.1, "polls are missed": 0.3, "all are excluded": 0.1, "calm before the end": 0.3,
}

const interval = 30 * time.Second

// A site is a cluster as it really is.
type site struct {
	unregistered, away, missing, readOnly, limited, busy bool

	failed         bool // the last write
	spec, existing int32

	seen int32     // existing, as last read
	grew time.Time // when it was more than before
}

// able reports whether the cluster can take any share.
func (s *site) able() bool {
	return !s.unregistered && !s.away && !s.missing && !s.readOnly && !s.limited && !s.busy
}

func (s *site) read() bool { return !s.unregistered && !s.away && !s.missing && !s.busy }

// A fleet is a number of members over time.
type fleet struct {
	*rapid.T
	policy     replicas.Policy
	total      int32
	sites      map[string]*site
	checkpoint replicas.Checkpoint
	now        time.Time
	calm       time.Time // since then nothing has happened
	seen       map[string]bool
}

var siteNames = []string{"a", "b", "c", "d"}

// bound is the time after which the total exists, if nothing happens: a member that
// fails is excluded after the grace period, and one without progress after the deadline;
// what moves goes a quarter at a time at least; and pods start within two polls.
const bound = time.Minute + 5*time.Minute + 14*interval

// event changes something. Each site fails and recovers in several ways.
func (w *fleet) event() {
	w.calm = w.now
	s := w.sites[rapid.SampledFrom(siteNames).Draw(w.T, "site")]
	switch rapid.IntRange(0, 9).Draw(w.T, "event") {
	case 0:
		s.away = !s.away
	case 1:
		s.missing, s.spec, s.existing = !s.missing, 0, 0
	case 2:
		s.readOnly = !s.readOnly
	case 3, 4:
		s.limited = !s.limited
	case 5:
		s.unregistered = !s.unregistered
	case 6:
		w.policy.Members = nil
		for _, name := range siteNames[:rapid.IntRange(0, 3).Draw(w.T, "members")] {
			w.policy.Members = append(w.policy.Members, replicas.Member{Name: name, Weight: rapid.Int32Range(1, 5).Draw(w.T, "weight")})
		}
	case 7:
		w.total = rapid.Int32Range(0, w.policy.Max).Draw(w.T, "total")
	case 8:
		s.busy = !s.busy
	case 9:
		w.see("polls are missed", true)
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(w.T, "polls missed")) * interval)
		w.calm = w.now
		w.start()
		w.restart()
	}
}

func (w *fleet) see(premise string, is bool) { w.seen[premise] = w.seen[premise] || is }

// restart takes the checkpoint through JSON.
func (w *fleet) restart() {
	data, err := json.Marshal(w.checkpoint)
	w.checkpoint = replicas.Checkpoint{}
	if err != nil || json.Unmarshal(data, &w.checkpoint) != nil {
		w.Fatalf("checkpoint: %s", data)
	}
}

// start starts and stops pods: up to half of the missing ones, rounded up, in a poll,
// and on a limited site none above two.
func (w *fleet) start() {
	for _, s := range w.sites {
		goal := s.spec
		if s.limited {
			goal = min(goal, max(2, s.existing))
		}
		s.existing = min(s.existing+(max(0, goal-s.existing)+1)/2, s.spec)
	}
}

// poll observes, plans and writes.
func (w *fleet) poll() replicas.Decision {
	w.now = w.now.Add(interval)
	w.start()
	s := replicas.Observation{Replicas: &w.total, Now: w.now}
	for _, name := range siteNames {
		if at := w.sites[name]; !at.unregistered {
			s.Clusters = append(s.Clusters, at.observed(name))
			if at.read() && at.existing > at.seen {
				at.grew = w.now
			}
			if !at.away && !at.busy {
				at.seen = at.existing
			}
		}
	}
	plan := replicas.Decide(w.policy, s, w.checkpoint)
	w.checkpoint = plan.Checkpoint
	existing, ordered := w.sums()
	for _, share := range plan.Shares {
		at := w.sites[share.Name]
		healthy := share.Reason == "" && share.Desired > 0
		w.see("a healthy member shrinks", healthy && share.Next < share.Current)
		w.see("a member is excluded", share.Excluded && share.Reason == replicas.ReasonUnreachable)
		w.see("a member makes no progress", share.Reason == replicas.ReasonNoProgress)
		w.see("a former member", share.Reason == replicas.ReasonNotListed)
		w.see("a write fails", share.Reason == replicas.ReasonWriteFailed)
		if share.Reason == replicas.ReasonNoProgress && w.now.Sub(at.grew) < w.policy.ProgressDeadline {
			w.Fatalf("%s makes progress\n%s", share.Name, plan)
		}
		if share.Write && !at.read() {
			w.Fatalf("%s is written to\n%s", share.Name, plan)
		}
		at.failed = share.Write && at.readOnly
		if share.Write && !at.readOnly {
			at.spec, at.existing = share.Next, min(at.existing, share.Next)
		}
	}
	w.see("all are excluded", plan.Reason == replicas.ReasonAllExcluded)
	w.check(plan, existing, ordered)
	return plan
}

func (s *site) observed(name string) replicas.Cluster {
	c := replicas.Cluster{Name: name, Replicas: s.spec, Existing: new(s.existing)}
	switch {
	case s.busy:
		c.Problem = replicas.ReasonNotAsked
	case s.away:
		c.Problem = replicas.ReasonUnreachable
	case s.missing:
		c.Problem = replicas.ReasonWorkloadMissing
	case s.failed:
		c.Problem = replicas.ReasonWriteFailed
	}
	return c
}

// sums returns the replicas of the sites that can be read: those that exist, and those
// that are ordered.
func (w *fleet) sums() (existing, ordered int32) {
	for _, s := range w.sites {
		if s.read() {
			existing, ordered = existing+s.existing, ordered+s.spec
		}
	}
	return existing, ordered
}

// check checks the laws after a poll.
func (w *fleet) check(plan replicas.Decision, before, orderedBefore int32) {
	foreign, foreignOrdered := int32(0), int32(0) // on sites that are neither members nor former ones
	for _, name := range siteNames {
		at := w.sites[name]
		if at.read() && !slices.ContainsFunc(plan.Shares, func(s replicas.Share) bool { return s.Name == name }) {
			foreign, foreignOrdered = foreign+at.existing, foreignOrdered+at.spec
		}
	}
	existing, ordered := w.sums()
	for _, share := range plan.Shares {
		at := w.sites[share.Name]
		if share.Excluded && share.Reason == replicas.ReasonWriteFailed || share.Reason == replicas.ReasonNoProgress {
			ordered -= at.spec - at.existing // as the package comment says
		}
	}
	if existing-foreign < min(before-foreign, w.total) {
		w.Fatalf("%d replicas exist, after %d\n%s", existing, before, plan)
	}
	w.see("above max", ordered > w.policy.Max && ordered > orderedBefore)
	if most := w.policy.Max + w.policy.MaxSurge; ordered > max(orderedBefore, most+foreignOrdered) && plan.Reason != replicas.ReasonAllExcluded {
		w.Fatalf("%d replicas are ordered, after %d, at most %d\n%s", ordered, orderedBefore, most, plan)
	}
	able := slices.ContainsFunc(plan.Shares, func(s replicas.Share) bool {
		return s.Reason != replicas.ReasonNotListed && s.Reason != replicas.ReasonNotRegistered && w.sites[s.Name].able()
	})
	calm := w.now.Sub(w.calm) > bound
	w.see("calm before the end", calm && !w.seen["the end"] && w.total > 0)
	if able && calm && existing-foreign < w.total {
		w.Fatalf("%d of %d replicas exist, %v after the last event\n%s", existing, w.total, w.now.Sub(w.calm), plan)
	}
}

// arrived reports whether each member has its share, and no former member is left.
func arrived(plan replicas.Decision) bool {
	return plan.Reason == "" && plan.Remaining == 0 && !slices.ContainsFunc(plan.Shares, func(s replicas.Share) bool {
		return s.Current != s.Desired || s.Existing != s.Desired || s.Reason != ""
	})
}

// Hours of failures, edits, pauses in polling and restarts. No plan
// gives up replicas that do not exist elsewhere, the maximum is kept within the surge, and the
// total exists within the bound, if a member can take it. When the failures end, each member
// has its share and former members have nothing.
func propReplay(t *rapid.T, c *premise.Counts) {
	w := &fleet{
		T: t, policy: replicas.NewPolicy(rapid.Int32Range(1, 30).Draw(t, "max")),
		sites: map[string]*site{}, now: epoch, calm: epoch, seen: map[string]bool{},
	}
	w.total = rapid.Int32Range(0, w.policy.Max).Draw(t, "total")
	for _, name := range siteNames {
		w.sites[name] = &site{unregistered: name == "d"}
	}
	for range rapid.IntRange(3, 12).Draw(t, "phases") {
		for range rapid.SampledFrom([]int{1, 1, 2, 4, 30}).Draw(t, "polls") {
			w.poll()
		}
		w.event()
	}
	w.see("the end", true)
	for _, s := range w.sites {
		*s = site{spec: s.spec, existing: s.existing, seen: s.seen, grew: s.grew}
	}
	w.calm = w.now
	plan := w.poll()
	for polls := 0; polls < 120 && !arrived(plan); polls++ {
		plan = w.poll()
	}
	if !arrived(plan) {
		t.Fatalf("not there\n%s", plan)
	}
	for premise := range replayLeast {
		c.Note(premise, w.seen[premise])
	}
}
