package strategy

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Custom proposes min(M, T - deduction - trunc(R * percentage)). A negative
// deduction asks for more than the queue does. The zero value deducts nothing,
// so that it proposes min(M, T) on every poll whatever runs.
//
// The minimum is not a bound on what runs: with T = R = M and nothing deducted
// the proposal is M. The caller's bounds are.
type Custom struct {
	deduction  int64
	percentage Percentage
	text       string // made once, so that naming the strategy costs nothing
}

// NewCustom returns the strategy with the parameters that KEDA calls
// customScalingQueueLengthDeduction, in Jobs, and
// customScalingRunningJobPercentage.
func NewCustom(deduction int64, percentage Percentage) *Custom {
	return &Custom{deduction, percentage, customText(deduction, percentage)}
}

// Propose returns min(M, T - deduction - trunc(R * percentage)).
func (c *Custom) Propose(l Load) int64 {
	// The deduction comes last, since it alone can make the difference overflow.
	rest := sub(l.Target, c.percentage.Of(l.Running))
	return min(l.Max, sub(rest, c.deduction))
}

// String returns the name and the formula with its parameters.
func (c *Custom) String() string {
	if c.text == "" {
		return customText(c.deduction, c.percentage)
	}
	return c.text
}

func customText(deduction int64, percentage Percentage) string {
	sign := "-"
	if deduction < 0 {
		sign = "+"
	}
	digits := strings.TrimPrefix(strconv.FormatInt(deduction, 10), "-")
	return fmt.Sprintf("custom: min(M, T %s %s - trunc(R * %s))", sign, digits, percentage)
}

// A Percentage is an exact decimal that is not negative: 1 is all, 0.5 is half.
// The zero value is 0.
//
// It is kept as a whole number and a binary fraction of 128 bits, rounded up
// from the largest fraction p/q that is not above the decimal and has
// q < 2^63. For each n < 2^63 that is exact: floor(n * x) / n is itself such a
// fraction, so nothing lies between n * p/q and n * x, and the rounding is less
// than 1/q. TestPercentageIsExact compares it with rational arithmetic.
type Percentage struct {
	whole  uint64
	hi, lo uint64 // the fraction, in units of 2^-64 and 2^-128
	text   string // canonical; "" is "0"
}

// ParsePercentage reads a decimal such as "0.5", ".5", "1" or "5e-1". What is
// not a decimal is an error that tells what was found: a sign of minus, spaces,
// hexadecimal digits, infinities, NaN, and numbers too large for a float64.
func ParsePercentage(s string) (Percentage, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXnN_") || strings.HasPrefix(s, "-") { // n is of Inf and NaN
		return Percentage{}, fmt.Errorf("running job percentage %q: want a decimal that is not negative, such as 0.5", s)
	}
	x := new(big.Rat)
	if f > 0 { // else it is 0, or so small that Of is 0 for every n
		x.SetString(s)
	}
	return percentageOf(x), nil
}

// PercentageOf takes a number as the shortest decimal that reads back as it, so
// that 0.29 is 29/100. Negative, infinite and NaN values are errors.
func PercentageOf(f float64) (Percentage, error) {
	if f == 0 {
		f = 0 // minus zero has a sign of its own
	}
	return ParsePercentage(strconv.FormatFloat(f, 'g', -1, 64))
}

func percentageOf(x *big.Rat) Percentage {
	whole, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if !whole.IsInt64() { // Of saturates from n = 1 on
		return Percentage{whole: math.MaxInt64, text: decimal(x)}
	}
	num, den := below(rest, x.Denom())
	hi, rem := bits.Div64(num, 0, den)
	lo, rem := bits.Div64(rem, 0, den)
	if rem > 0 {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	return Percentage{whole.Uint64(), hi, lo, decimal(x)}
}

// below returns the largest fraction p/q that is at most num/den, which is less
// than 1, and has q < 2^63: it walks down the Stern-Brocot tree between l <=
// num/den < u, in the strides of the continued fraction.
func below(num, den *big.Int) (p, q uint64) {
	const limit = math.MaxInt64
	lp, lq, up, uq := uint64(0), uint64(1), uint64(1), uint64(1)
	l := new(big.Int).Set(num)      // lq * num - lp * den, at least 0
	u := new(big.Int).Sub(den, num) // up * den - uq * num, above 0
	for l.Sign() > 0 && lq+uq <= limit {
		k := atMost(new(big.Int).Div(l, u), (limit-lq)/uq)
		lp, lq = lp+k*up, lq+k*uq
		subtract(l, k, u)
		if l.Sign() == 0 {
			break
		}
		less := new(big.Int).Sub(u, big.NewInt(1))
		k = atMost(less.Div(less, l), (limit-uq)/lq)
		up, uq = up+k*lp, uq+k*lq
		subtract(u, k, l)
	}
	return lp, lq
}

func atMost(x *big.Int, limit uint64) uint64 {
	if x.IsUint64() {
		return min(x.Uint64(), limit)
	}
	return limit
}

// subtract sets x to x - k * y.
func subtract(x *big.Int, k uint64, y *big.Int) {
	ky := new(big.Int).SetUint64(k)
	x.Sub(x, ky.Mul(ky, y))
}

// decimal prints x, whose denominator is a product of twos and fives.
func decimal(x *big.Rat) string {
	digits, _ := x.FloatPrec()
	return x.FloatString(digits)
}

// Of returns trunc(n * p), at most MaxInt64. A negative n counts as 0.
func (p Percentage) Of(n int64) int64 {
	u := uint64(max(0, n))
	over, whole := bits.Mul64(u, p.whole)
	part, low := bits.Mul64(u, p.hi)
	high, _ := bits.Mul64(u, p.lo)
	_, carry := bits.Add64(low, high, 0)
	sum := whole + part + carry // each below 2^63, unless over
	if over > 0 || whole > math.MaxInt64 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}

// String returns the shortest decimal that is p.
func (p Percentage) String() string {
	if p.text == "" {
		return "0"
	}
	return p.text
}
