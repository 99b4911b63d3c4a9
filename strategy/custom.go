package strategy

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Custom proposes min(M, T - deduction - trunc(R * percentage)). A negative
// deduction adds Jobs. The zero value deducts nothing: it proposes min(M, T) in
// every poll, even if T Jobs run already.
type Custom struct {
	deduction  int64
	percentage Percentage
}

// NewCustom returns the strategy with the parameters that KEDA calls
// customScalingQueueLengthDeduction, in Jobs, and
// customScalingRunningJobPercentage.
func NewCustom(deduction int64, percentage Percentage) *Custom {
	return &Custom{deduction, percentage}
}

// Propose returns min(M, T - deduction - trunc(R * percentage)).
func (c *Custom) Propose(l Load) int64 {
	// The deduction comes last, since it alone can make the difference overflow.
	remaining := sub(l.Target, c.percentage.Of(l.Running))
	return min(l.Max, sub(remaining, c.deduction))
}

// String returns the name and the formula with its parameters.
func (c *Custom) String() string {
	sign := "-"
	if c.deduction < 0 {
		sign = "+"
	}
	digits := strings.TrimPrefix(strconv.FormatInt(c.deduction, 10), "-")
	return fmt.Sprintf("custom: min(M, T %s %s - trunc(R * %s))", sign, digits, c.percentage)
}

// parseCustom reads the text of String, or returns nil.
func parseCustom(text string) *Custom {
	var sign, digits, remaining string
	if n, _ := fmt.Sscanf(text, "custom: min(M, T %1s %s - trunc(R * %s", &sign, &digits, &remaining); n != 3 {
		return nil
	}
	if sign == "+" {
		digits = "-" + digits
	}
	deduction, wrong := strconv.ParseInt(digits, 10, 64)
	percentage, err := ParsePercentage(strings.TrimSuffix(remaining, "))"))
	if c := NewCustom(deduction, percentage); wrong == nil && err == nil && c.String() == text {
		return c
	}
	return nil
}

// A Percentage is an exact decimal of at least 0: 1 is all, 0.5 is half. The zero
// value is 0.
type Percentage struct{ x *big.Rat }

// ParsePercentage reads a decimal such as "0.5", ".5", "1" or "5e-1". It returns an
// error for any other text, such as a negative number, infinity, NaN, a hexadecimal
// number, and a number too large for a float64.
func ParsePercentage(s string) (Percentage, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXnN_") || strings.HasPrefix(s, "-") { // n is of Inf and NaN
		return Percentage{}, fmt.Errorf("running job percentage: found %q; use a decimal that is not negative, such as 0.5", s)
	}
	if f == 0 { // or too small to matter
		return Percentage{}, nil
	}
	x, _ := new(big.Rat).SetString(s) // reads what ParseFloat reads
	return Percentage{x}, nil
}

// Of returns trunc(n * p), at most MaxInt64. A negative n counts as 0.
func (p Percentage) Of(n int64) int64 {
	if p.x == nil {
		return 0
	}
	part := new(big.Int).Mul(big.NewInt(max(0, n)), p.x.Num())
	part.Quo(part, p.x.Denom())
	if !part.IsInt64() {
		return math.MaxInt64
	}
	return part.Int64()
}

// String returns the shortest decimal that is p.
func (p Percentage) String() string {
	if p.x == nil {
		return "0"
	}
	digits, _ := p.x.FloatPrec()
	return p.x.FloatString(digits)
}

// MarshalText returns the same as String.
func (p Percentage) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a decimal as [ParsePercentage] does. If the text is none,
// p keeps its value.
func (p *Percentage) UnmarshalText(text []byte) error {
	parsed, err := ParsePercentage(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}
