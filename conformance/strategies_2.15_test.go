//go:build !keda2.13 && !keda2.8

package conformance

import (
	"github.com/kedacore/keda/v2/pkg/scaling/executor"

	"github.com/scaledjob/scaledjob/strategy"
)

func effectiveMaxScale(s executor.ScalingStrategy, l strategy.Load, scaleTo int64) (int64, int64) {
	return s.GetEffectiveMaxScale(l.Target, l.Running, l.Pending, l.Max, scaleTo)
}
