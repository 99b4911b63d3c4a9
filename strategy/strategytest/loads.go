package strategytest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
)

// Loads generates loads that are normalized and have T at most M: small,
// realistic and extreme ones.
func Loads() *rapid.Generator[strategy.Load] {
	return rapid.OneOf(Small(), Realistic(), Extreme())
}

// Small generates loads with numbers up to 8.
func Small() *rapid.Generator[strategy.Load] { return loads(rapid.Int64Range(0, small)) }

// Realistic generates loads with numbers up to 10,000.
func Realistic() *rapid.Generator[strategy.Load] { return loads(rapid.Int64Range(0, 10_000)) }

// Extreme generates loads with numbers up to MaxInt64, many of them close to it.
func Extreme() *rapid.Generator[strategy.Load] {
	return loads(rapid.OneOf(
		rapid.Int64Range(0, math.MaxInt64),
		rapid.Int64Range(math.MaxInt64-small, math.MaxInt64),
		rapid.SampledFrom([]int64{0, 1, 1 << 31, 1 << 53, 1 << 62}),
	))
}

// Wild generates loads of any numbers, negative ones and MinInt64 included, in
// any relation: what a caller may pass by mistake.
func Wild() *rapid.Generator[strategy.Load] {
	return rapid.Custom(func(t *rapid.T) strategy.Load {
		n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{
			math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
		return strategy.Load{
			Target: n.Draw(t, "T"), Running: n.Draw(t, "R"), Pending: n.Draw(t, "P"),
			Stuck: n.Draw(t, "S"), Max: n.Draw(t, "M"),
		}
	})
}

func loads(n *rapid.Generator[int64]) *rapid.Generator[strategy.Load] {
	return rapid.Custom(func(t *rapid.T) strategy.Load {
		l := strategy.Load{
			Target: n.Draw(t, "T"), Running: n.Draw(t, "R"), Pending: n.Draw(t, "P"),
			Stuck: n.Draw(t, "S"), Max: n.Draw(t, "M"),
		}.Normalize()
		l.Target = min(l.Target, l.Max)
		return l
	})
}
