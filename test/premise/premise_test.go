package premise

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A record is a reporter that keeps what it is told.
type record struct{ logs, errors []string }

func (*record) Helper() {}
func (r *record) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *record) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func even(t *rapid.T, c *Counts) {
	n := rapid.IntRange(0, 9).Draw(t, "n")
	c.Note("even", n%2 == 0)
	c.Note("above 9", n > 9)
}

func TestCheck(t *testing.T) {
	calls, draws := 0, Draws
	if testing.Short() {
		draws = Draws / 10
	}
	Check(t, func(t *rapid.T, c *Counts) { calls++; even(t, c) }, Least{"even": 0.2})
	require.GreaterOrEqual(t, calls, draws)
}

func TestJudge(t *testing.T) {
	c := Counts{draws: 200, held: map[string]int{"even": 99, "never": 0, "prime": 10}}
	var r record
	c.judge(&r, Least{"even": 0.5, "prime": 0.05, "absent": 0.05})
	require.Equal(t, []string{" 49.5 % of 200 draws: even", "  0.0 % of 200 draws: never", "  5.0 % of 200 draws: prime"}, r.logs)
	require.Equal(t, []string{
		"only 0.0 % of 200 draws: absent; draw it in at least 5.0 %",
		"only 49.5 % of 200 draws: even; draw it in at least 50.0 %",
	}, r.errors)
}

func TestNote(t *testing.T) {
	var c Counts
	require.Zero(t, c.Share("even"))
	rapid.Check(t, c.count(even))
	require.Positive(t, c.Share("even"))
	require.Zero(t, c.Share("above 9"))
	require.Contains(t, c.held, "above 9", "a premise that never holds is logged")
}

// With and without a seed, each round draws anew, and the seed stays as it is.
func TestRounds(t *testing.T) {
	seed := flag.Lookup("rapid.seed").Value
	given := seed.String()
	defer func() { require.NoError(t, seed.Set(given)) }()
	draw := func() [][]uint64 {
		rounds := [][]uint64{nil}
		Rounds(t, func(t *rapid.T) {
			last := len(rounds) - 1
			rounds[last] = append(rounds[last], rapid.Uint64().Draw(t, "number"))
		}, func() bool {
			rounds = append(rounds, nil)
			return len(rounds) > 3
		})
		return rounds[:3]
	}
	for _, start := range []string{"0", "7", "18446744073709551615"} {
		require.NoError(t, seed.Set(start))
		rounds := draw()
		require.NotEmpty(t, rounds[0])
		require.NotEqual(t, rounds[0], rounds[1])
		require.NotEqual(t, rounds[1], rounds[2])
		require.Equal(t, start, seed.String())
		require.Equal(t, start != "0", slices.EqualFunc(rounds, draw(), slices.Equal))
	}
}

func FuzzEven(f *testing.F) { Fuzz(f, even) }

// No property runs out of random bits.
func TestSeeds(t *testing.T) {
	done := 0
	for i, data := range seeds() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			rapid.MakeFuzz(func(t *rapid.T) {
				rapid.SliceOfN(rapid.Int(), 300, 300).Draw(t, "numbers")
				done++
			})(t, data)
		})
	}
	require.Equal(t, len(seeds()), done)
}
