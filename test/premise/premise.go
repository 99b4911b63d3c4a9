// Package premise checks that a property is not true for want of a premise: it
// counts how often the states that matter are among the random draws.
package premise

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Draws is the least number of draws that [Check] counts. A premise that holds in
// 6.2 % of them on average is below 5 % once in a million runs.
const Draws = 10_000

// Counts counts the draws of a property. The zero value has none.
type Counts struct {
	draws int
	held  map[string]int
}

// Note counts the premise if it holds in this draw. A property notes a premise at
// most once in a draw.
func (c *Counts) Note(premise string, holds bool) {
	if c.held == nil {
		c.held = map[string]int{}
	}
	c.held[premise] += 0 // so that it is logged if it never holds
	if holds {
		c.held[premise]++
	}
}

// Share returns the share of draws that met the premise, from 0 to 1.
func (c *Counts) Share(premise string) float64 {
	return float64(c.held[premise]) / float64(max(1, c.draws))
}

// A Least is the smallest share of draws, from 0 to 1, for each premise.
type Least map[string]float64

// Check checks the property as rapid.Check does, for at least [Draws] draws. It
// logs the share of each premise, and fails if any is below its least share. With
// -short it checks a tenth of the draws, which is too few for shares.
func Check(t *testing.T, prop func(*rapid.T, *Counts), minimum Least) {
	t.Helper()
	CheckN(t, Draws, prop, minimum)
}

// CheckN is like [Check] for n draws, of a property that is slow. Fewer draws need
// lower least shares.
func CheckN(t *testing.T, n int, prop func(*rapid.T, *Counts), minimum Least) {
	t.Helper()
	var c Counts
	if testing.Short() {
		n, minimum = n/10, nil
	}
	Rounds(t, c.count(prop), func() bool { return c.draws >= n })
	if !t.Failed() {
		c.judge(t, minimum)
	}
}

// Rounds checks the property as rapid.Check does, and then again with other draws,
// until there are enough or it fails.
func Rounds(t *testing.T, prop func(*rapid.T), enough func() bool) {
	t.Helper()
	seed := flag.Lookup("rapid.seed").Value
	before := seed.String()
	defer func() { _ = seed.Set(before) }() // it was valid before
	first, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for round := uint64(0); ; round++ {
		if first != 0 { // rapid.Check would draw the same each time
			_ = seed.Set(strconv.FormatUint(first+round<<32, 10)) // a number is valid
		}
		rapid.Check(t, prop)
		if t.Failed() || enough() {
			return
		}
	}
}

// Fuzz fuzzes the property. Without -fuzz it runs some seeds.
func Fuzz(f *testing.F, prop func(*rapid.T, *Counts)) { Seeded(f, new(Counts).count(prop)) }

// Seeded fuzzes a property without a premise. Without -fuzz it runs some seeds.
func Seeded(f *testing.F, prop func(*rapid.T)) {
	for _, data := range seeds() {
		f.Add(data)
	}
	f.Fuzz(rapid.MakeFuzz(prop))
}

// seeds are long enough for some hundred numbers each.
func seeds() [][]byte {
	data := make([][]byte, 8)
	for i := range data {
		data[i] = make([]byte, 1<<14)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(data[i]) // never fails
	}
	return data
}

func (c *Counts) count(prop func(*rapid.T, *Counts)) func(*rapid.T) {
	return func(t *rapid.T) {
		c.draws++
		prop(t, c)
	}
}

// A reporter is a *testing.T.
type reporter interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

func (c *Counts) judge(t reporter, minimum Least) {
	t.Helper()
	for _, premise := range slices.Sorted(maps.Keys(c.held)) {
		t.Logf("%5.1f %% of %d draws: %s", 100*c.Share(premise), c.draws, premise)
	}
	for _, premise := range slices.Sorted(maps.Keys(minimum)) {
		if share := c.Share(premise); share < minimum[premise] {
			t.Errorf("only %.1f %% of %d draws: %s; draw it in at least %.1f %%", 100*share, c.draws, premise, 100*minimum[premise])
		}
	}
}
