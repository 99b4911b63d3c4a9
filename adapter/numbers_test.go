package adapter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A name is valid, tells owners apart, and gives its number back.
func propName(t *rapid.T) {
	owner := func(label string) Owner {
		return Owner{
			Name: rapid.StringMatching(`[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?`).Draw(t, label+" name"),
			UID:  types.UID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, label+" UID")),
		}
	}
	a, b := owner("a"), owner("b")
	n := rapid.Int64Range(1, 1e10-1).Draw(t, "number")
	target := newTarget()
	target.Owner.Name, target.Owner.UID = a.Name, a.UID
	name := target.NewJob(n).Name
	require.Empty(t, validation.IsDNS1123Label(name), name)
	require.LessOrEqual(t, len(name), 52)
	require.Equal(t, n, target.number(name))
	target.Owner.UID = b.UID
	if a.UID != b.UID {
		require.Zero(t, target.number(name))
	}
	target.Owner.UID, target.place.Home = a.UID, "home"
	require.Zero(t, target.number(name))
}

func TestName(t *testing.T) { rapid.Check(t, propName) }

func FuzzName(f *testing.F) { premise.Seeded(f, propName) }

// A long name is cut to what the suffix leaves of 52 bytes, and keeps no hyphen at its ends.
func TestJobName(t *testing.T) {
	long := strings.Repeat("a", 60)
	require.Equal(t, long[:50]+"-x", JobName(long, "x"))
	require.Equal(t, "a-b-x", JobName("a.b", "x"))
	require.Equal(t, long[:44]+"-x", JobName(long[:44]+"------b", "x"))
	require.Equal(t, long[:51], JobName("b", long[:51]))
}

// Names that the tracker did not make have no number, whatever annotations they have.
func TestNoNumber(t *testing.T) {
	target := newTarget()
	base := strings.TrimSuffix(target.jobName(1), "1")
	for _, suffix := range []string{"", "0", "01", "-1", "+1", "1x", "1-2", "99999999999999999999"} {
		require.Zero(t, target.number(base+suffix), suffix)
	}
	require.Equal(t, int64(1<<53), target.number(base+"9007199254740992"))
}

// Whatever part of each other's Jobs two writers see, whatever the API server's clock
// says and however they are edited, they never exceed the maximum. No finished Job is
// deleted here.
func propTwoWriters(t *rapid.T, c *premise.Counts) {
	s, target := newServer(), newTarget()
	target.Policy.Bounds.Max = 6
	target.Rollout = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	writers := []*writer{newWriter(t, s, target, Options{}), newWriter(t, s, target, Options{})}
	var created, unanswered [2]bool // by a writer
	full, edited := false, false
	any := func() *writer { return writers[rapid.IntRange(0, 1).Draw(t, "writer")] }
	t.Repeat(map[string]func(*rapid.T){
		"poll": func(t *rapid.T) {
			i := rapid.IntRange(0, 1).Draw(t, "writer")
			result, err := writers[i].poll(float64(rapid.IntRange(0, 12).Draw(t, "queue")))
			created[i], unanswered[i] = created[i] || result.Created > 0, unanswered[i] || err != nil
			full = full || s.unfinished(t) == 6
		},
		"show some": func(t *rapid.T) {
			w := any()
			for _, j := range s.all(t) {
				if rapid.Bool().Draw(t, "shown") {
					w.show(&j)
				}
			}
		},
		"finish": func(t *rapid.T) {
			if all := s.all(t); len(all) > 0 {
				if j := rapid.SampledFrom(all).Draw(t, "Job"); end(&j) == Running {
					s.change(t, &j, complete)
				}
			}
		},
		"restart": func(t *rapid.T) {
			i := rapid.IntRange(0, 1).Draw(t, "writer")
			writers[i] = newWriter(t, s, target, Options{})
			if rapid.Bool().Draw(t, "fresh") {
				writers[i].catchUp(t)
			}
		},
		"edit": func(t *rapid.T) {
			target.Revision.Generation++
			target.Job = target.Job.DeepCopy()
			target.Job.Spec.Parallelism = new(rapid.Int32Range(1, 2).Draw(t, "parallelism"))
			require.NoError(t, any().Track(target))
			edited = edited || s.unfinished(t) > 0
		},
		"clock": func(t *rapid.T) {
			s.clock = noon.Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "seconds")) * time.Second)
			any().clock = noon.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "seconds")) * time.Second)
		},
		"fail": func(t *rapid.T) {
			kind, rest := rapid.SampledFrom([]string{"none", "before", "after"}).Draw(t, "failure"), rapid.IntRange(0, 2).Draw(t, "rest")
			failure := func(verb, name string) error {
				if verb == "create" && int(name[len(name)-1])%3 == rest {
					return errors.New("no answer")
				}
				return nil
			}
			s.before, s.after = nil, nil
			switch kind {
			case "before":
				s.before = failure
			case "after":
				s.after = failure
			}
		},
		"": func(t *rapid.T) { require.LessOrEqual(t, s.unfinished(t), int64(6)) },
	})
	c.Note("the maximum is reached", full)
	c.Note("an edit beside Jobs", edited)
	c.Note("both writers create", created[0] && created[1])
	c.Note("a create without an answer", unanswered[0] || unanswered[1])
}

func TestTwoWriters(t *testing.T) {
	premise.CheckN(t, 150, propTwoWriters, premise.Least{"the maximum is reached": 0.1, "an edit beside Jobs": 0.1, "both writers create": 0.05, "a create without an answer": 0.05})
}

func FuzzTwoWriters(f *testing.F) { premise.Fuzz(f, propTwoWriters) }

// catchUpBut shows all Jobs but the one with the number.
func (w *writer) catchUpBut(t require.TestingT, hidden int64) {
	for _, j := range w.server.all(t) {
		if numberOf(j.Name) != hidden {
			w.show(&j)
		}
	}
}
