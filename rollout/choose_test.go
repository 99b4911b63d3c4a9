package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/rollout"
)

var (
	immediate = rollout.Policy{Strategy: rollout.Immediate}
	drain     = rollout.Policy{Strategy: rollout.Drain}
)

func templateOnly(p rollout.Policy) rollout.Policy {
	p.TemplateOnly = true
	return p
}

func revision(generation int64, hash string) rollout.Revision {
	return rollout.Revision{Generation: generation, TemplateHash: hash}
}

func TestChoose(t *testing.T) {
	at := func(r rollout.Revision) rollout.Job { return rollout.Job{Revision: r} }
	waiting := rollout.Job{Revision: revision(1, "a"), NeverStarted: true}
	finished := rollout.Job{Revision: revision(1, "a"), Finished: true}
	deleting := rollout.Job{Revision: revision(1, "a"), Deleting: true}
	for _, tt := range []struct {
		name   string
		policy rollout.Policy
		now    rollout.Revision
		jobs   []rollout.Job
		want   []int
	}{
		{"no Jobs", immediate, revision(2, "b"), nil, nil},
		{"a zero policy deletes nothing", rollout.Policy{}, revision(2, "b"), []rollout.Job{at(revision(1, "a")), waiting}, nil},
		{"a zero revision deletes nothing", immediate, rollout.Revision{}, []rollout.Job{at(revision(1, "a")), {}}, nil},
		{"a zero Job stays", immediate, revision(2, "b"), []rollout.Job{{}}, nil},
		{"gradual lets all finish", rollout.Policy{Strategy: rollout.Gradual}, revision(2, "b"), []rollout.Job{at(revision(1, "a")), waiting}, nil},
		{"immediate deletes what is old", immediate, revision(3, "b"),
			[]rollout.Job{at(revision(2, "a")), at(revision(3, "b")), at(revision(1, "a"))}, []int{0, 2}},
		{"drain lets those at work finish", drain, revision(2, "b"), []rollout.Job{at(revision(1, "a")), waiting}, []int{1}},
		{"any change of the spec counts", immediate, revision(2, "a"), []rollout.Job{at(revision(1, "a")), at(revision(1, ""))}, []int{0, 1}},
		{"only a changed template counts", templateOnly(immediate), revision(2, "a"),
			[]rollout.Job{at(revision(1, "a")), at(revision(1, "b"))}, []int{1}},
		{"another template of this generation stays", templateOnly(immediate), revision(2, "a"), []rollout.Job{at(revision(2, "b"))}, nil},
		{"an unknown template stays", templateOnly(immediate), revision(2, "a"), []rollout.Job{at(revision(1, ""))}, nil},
		{"all stay where the current template is unknown", templateOnly(immediate), revision(2, ""),
			[]rollout.Job{at(revision(1, "a")), at(revision(1, ""))}, nil},
		{"newer than was read", immediate, revision(2, "b"), []rollout.Job{at(revision(3, "c"))}, nil},
		{"finished is history's", immediate, revision(2, "b"), []rollout.Job{finished}, nil},
		{"deleting is not chosen again", immediate, revision(2, "b"), []rollout.Job{deleting}, nil},
		{"an unknown strategy deletes nothing", rollout.Policy{Strategy: 3}, revision(2, "b"), []rollout.Job{at(revision(1, "a")), waiting}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, rollout.Choose(tt.policy, tt.now, tt.jobs))
		})
	}
}

// Every combination of a policy, a current revision and a Job.
func TestEveryState(t *testing.T) {
	hashes := []string{"", "a", "b"}
	bools := []bool{false, true}
	states := 0
	for strategy := range rollout.Strategy(5) {
		for _, only := range bools {
			for now := range 15 {
				for of := range 15 {
					for flags := range 8 {
						p := rollout.Policy{Strategy: strategy, TemplateOnly: only}
						current := revision(int64(now/3-1), hashes[now%3])
						j := rollout.Job{
							Revision:     revision(int64(of/3-1), hashes[of%3]),
							NeverStarted: bools[flags%2], Finished: bools[flags/2%2], Deleting: bools[flags/4],
						}
						got := rollout.Choose(p, current, []rollout.Job{j}) != nil
						if got != (whyNot(p, current, j) == "") {
							t.Fatalf("%+v of %+v under %+v: chosen: %v, though %q", j, current, p, got, whyNot(p, current, j))
						}
						states++
					}
				}
			}
		}
	}
	require.Equal(t, 5*2*15*15*8, states)
}

// whyNot is the oracle: the first reason not to touch a Job, or "".
func whyNot(p rollout.Policy, now rollout.Revision, j rollout.Job) string {
	for _, rule := range []struct {
		reason  string
		applies bool
	}{
		{"old Jobs may finish", p.Strategy == rollout.Gradual},
		{"nobody knows this strategy", p.Strategy > rollout.Drain},
		{"it has finished", j.Finished},
		{"it is being deleted", j.Deleting},
		{"nobody knows its generation", j.Revision.Generation < 1},
		{"nobody knows the current generation", now.Generation < 1},
		{"it is current", j.Revision.Generation == now.Generation},
		{"it is newer", j.Revision.Generation > now.Generation},
		{"nobody knows its template", p.TemplateOnly && j.Revision.TemplateHash == ""},
		{"nobody knows the current template", p.TemplateOnly && now.TemplateHash == ""},
		{"its template is current", p.TemplateOnly && j.Revision.TemplateHash == now.TemplateHash},
		{"it may have started", p.Strategy == rollout.Drain && !j.NeverStarted},
	} {
		if rule.applies {
			return rule.reason
		}
	}
	return ""
}

func TestAllocations(t *testing.T) {
	jobs := current(1000)
	for _, tt := range []struct {
		policy rollout.Policy
		now    rollout.Revision
		want   float64
	}{
		{immediate, revision(2, "a"), 0},
		{drain, revision(3, "b"), 0}, // all at work
		{immediate, revision(3, "b"), 1},
	} {
		got := testing.AllocsPerRun(10, func() { rollout.Choose(tt.policy, tt.now, jobs) })
		require.Equal(t, tt.want, got, "%+v at %+v", tt.policy, tt.now)
	}
}
