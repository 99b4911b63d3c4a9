//go:build kubernetes1.35

package horizontal

// scaleToZero and tolerances report whether the gates HPAScaleToZero and
// HPAConfigurableTolerance are on by default in the release of this build.
const (
	scaleToZero = false
	tolerances  = true
)

// pollsAtOnce reports whether the first poll comes at once, and not after an interval.
const pollsAtOnce = false
