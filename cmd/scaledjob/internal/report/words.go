package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Article puts "a" or "an" before a noun.
func Article(noun string) string {
	if noun != "" && strings.ContainsRune("AEIOUaeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Count formats a number of items or Jobs, or a mean of such numbers.
func Count(n float64) string {
	if n >= 10 || n == math.Trunc(n) {
		return fmt.Sprintf("%.0f", n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}

// Counted returns a mean with its noun: 1 item, 0.5 items.
func Counted(n float64, noun string) string {
	if text := Count(n); text != "1" {
		return text + " " + noun + "s"
	}
	return "1 " + noun
}

// Span formats a number of seconds.
func Span(seconds float64) string {
	switch {
	case math.IsInf(seconds, 1):
		return "never"
	case seconds < 0:
		return "-" + Span(-seconds)
	}
	d := time.Duration(math.Min(seconds*float64(time.Second), math.MaxInt64))
	switch {
	case d < time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", seconds)
	case d < 100*time.Hour:
		text := d.Round(time.Second).String()
		if d >= 10*time.Hour {
			text = d.Round(time.Minute).String()
		}
		text = strings.TrimSuffix(text, "0s")
		if strings.HasSuffix(text, "h0m") {
			return strings.TrimSuffix(text, "0m")
		}
		if !strings.HasSuffix(text, "m") {
			return d.Round(time.Second).String()
		}
		return text
	}
	return fmt.Sprintf("%.0fh", d.Hours())
}

// Short formats a number to three digits.
func Short(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
